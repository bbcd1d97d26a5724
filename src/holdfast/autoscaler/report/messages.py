"""Events in a person's words.  A kind that this release does not know is told by its own name."""

from typing import Final

from holdfast.autoscaler.events import AutoscalerEvent
from holdfast.cloud import NoticeKind
from holdfast.cloud.text import lasting
from holdfast.kernel import Event, Severity

KINDS: Final = {kind.value: kind for kind in AutoscalerEvent}
COST = "usdPerHour"
"""The number, in an event, of what the fleet cost when it was told."""
SAVES = "savesUsdPerHour"

LESS_CERTAIN: Final = {
    NoticeKind.REBALANCE.value: "may be taken back",
    NoticeKind.GONE.value: "was taken back",
}
"""What a notice says that is no announcement of a certain end."""
SAID_ONLY_IF_ANY = frozenset({"unsatisfiable", "pending", "short", "lost"})


def kind_of(event: Event) -> AutoscalerEvent | None:
    """None: a newer release wrote it."""
    return KINDS.get(event.kind)


def told(event: Event) -> str:
    """What happened, and to whom."""
    kind = kind_of(event)
    if kind is AutoscalerEvent.INTERRUPTED and event.reason in LESS_CERTAIN:
        return f"{event.about} {LESS_CERTAIN[event.reason]}"
    return kind.told(event.about) if kind else f"{event.kind} {event.about}".strip()


def severity(event: Event) -> Severity:
    kind = kind_of(event)
    return kind.severity if kind else Severity.INFO


def kinds_called(words: str) -> frozenset[str]:
    """The stored names of the kinds that a person may mean: by stored name, or by the words of `told`."""
    wanted = _plain(words)
    if wanted in map(_plain, LESS_CERTAIN.values()):
        return frozenset({AutoscalerEvent.INTERRUPTED.value})
    return frozenset(
        kind.value for kind in AutoscalerEvent if wanted in (_plain(kind.value), _plain(kind.sentence))
    )


def _plain(words: str) -> str:
    """Without the subject, case and small words: `i-1 is terminating` and `terminating` are one."""
    kept = [
        word
        for word in words.lower().split()
        if word not in ("{about}", "is", "was", "the") and not word.startswith("i-")
    ]
    return " ".join(kept).removesuffix(":")


def reason(event: Event) -> str:
    """Why, unless that says no more than `told` does."""
    return "" if event.reason == event.about else event.reason


def figures(event: Event) -> str:
    """The numbers of an event, each with its name; times are left to those who know a calendar."""
    same = event.numbers.get("size") == event.numbers.get("workers")
    return ", ".join(
        _figure(name, value)
        for name, value in event.numbers.items()
        if not name.endswith("Epoch")
        and name != "until_s"
        and (value or name not in SAID_ONLY_IF_ANY)
        and not (same and name == "size")
    )


def _figure(name: str, value: float) -> str:
    if name == COST:
        return f"${value:.4g} an hour"
    if name == SAVES:
        return f"saves ${value:.4g} an hour"
    if name == "before_s":
        return f"{lasting(value)} before its time" if value >= 0 else f"{lasting(-value)} after its time"
    return f"cpu {value:.0%}" if name == "cpu" else f"{name} {value:g}"
