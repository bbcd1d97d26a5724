"""Whether what was watched is known to be current: if in doubt, it is not."""

from collections.abc import Iterable
from dataclasses import dataclass

from holdfast.adapters.kubernetes.watch.course import Pace


@dataclass(frozen=True, slots=True)
class Fed:
    """What is known of one watch.  Times are on a clock that never steps."""

    kind: str
    in_step: bool = False
    """It was listed whole, and nothing has been missed since."""
    heard_s: float = 0.0
    """No later than the last word was sent."""


def doubt(watches: Iterable[Fed], now_s: float, since_s: float, pace: Pace) -> str:
    """Why they must not be used beside what was written at `since_s`; empty: they are current."""
    for each in watches:
        if not each.in_step:
            return f"{each.kind} are not followed now"
        if now_s - each.heard_s > pace.fed_s:
            return f"no word of {each.kind} for {now_s - each.heard_s:.0f} s"
        if each.heard_s < since_s + pace.lag_s:
            return f"no word of {each.kind} since the record changed"
    return ""
