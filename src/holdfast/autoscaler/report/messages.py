"""Events in a person's words.  A kind that is not listed here is told by its own name."""

from collections.abc import Mapping

from holdfast.kernel import Event

WORDS: Mapping[str, str] = {
    "decision": "decided: {about}",
    "conditionChanged": "noticed meanwhile",
    "beginScaleUp": "scale-up begins",
    "extendScaleUp": "scale-up is extended",
    "joinExtended": "its workers get more time to join",
    "retryScaleUp": "scale-up tries elsewhere",
    "recordScaleUpInstances": "launched",
    "launchRefused": "launch refused",
    "launchAbandoned": "launch given up",
    "joined": "{about} joined",
    "diedBeforeJoining": "{about} died before it joined",
    "completeScaleUp": "scale-up complete",
    "failScaleUp": "scale-up failed",
    "beginScaleDown": "scale down begins",
    "drained": "{about} is drained",
    "drainSkipped": "{about} is kept",
    "terminating": "{about} is condemned",
    "terminated": "{about} is terminated",
    "completeScaleDown": "scale down complete",
    "failScaleDown": "scale down failed",
    "interrupted": "{about} will be taken back",
    "notReplaced": "{about} is not replaced",
    "reclaimed": "{about} was taken back",
    "noticeExpired": "{about} was let go",
    "adopted": "{about} is adopted",
    "missing": "{about} is missing",
    "noLongerMissing": "{about} is back",
    "strayCordonFound": "stray cordon found on {about}",
    "strayCordonLifted": "stray cordon lifted from {about}",
    "paused": "paused by an operator",
    "resumed": "resumed by an operator",
    "lockTaken": "{about} is at work",
    "lockReleased": "{about} has ended its work",
}

GOOD = frozenset(
    {"joined", "completeScaleUp", "completeScaleDown", "resumed", "noticeExpired", "noLongerMissing"}
)
BAD = frozenset({"failScaleUp", "failScaleDown", "launchRefused", "launchAbandoned", "diedBeforeJoining"})
GRAVE = frozenset({"interrupted", "terminating", "terminated", "reclaimed", "missing", "paused"})
QUIET = frozenset({"lockTaken", "lockReleased", "decision", "conditionChanged"})

COST = "usdPerHour"
"""The number, in an event, of what the fleet cost when it was told."""


SAID_ONLY_IF_ANY = frozenset({"unsatisfiable", "pending", "short", "lost"})


def told(event: Event) -> str:
    """What happened, and to whom."""
    words = WORDS.get(event.kind)
    if words is None:
        return f"{event.kind} {event.about}".strip()
    return words.format(about=event.about or "?") if "{about}" in words else words


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
    return f"cpu {value:.0%}" if name == "cpu" else f"{name} {value:g}"
