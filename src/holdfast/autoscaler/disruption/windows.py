"""The windows in which nodes may be disrupted by choice: a cron expression, and for how long it lasts.

`0 2 * * mon-fri for 4h`: from two o'clock to six.  The time zone is named beside them.  A start that the
clock skips in spring comes as much later as the clock was put forward; of one that it shows twice in autumn
the first counts.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

from holdfast.autoscaler.disruption.cron import BadCron, Cron, parse

DURATION = re.compile(r"(?a:(?:(?P<h>\d{1,3})h)?(?:(?P<m>\d{1,4})m)?)")
LONGEST_S = 86_400
AHEAD_DAYS = 8 * 366
"""29 February comes within eight years, whichever they are."""
EXAMPLE = "write it as '0 2 * * mon-fri for 4h'"


@dataclass(frozen=True, slots=True)
class Window:
    text: str
    cron: Cron
    lasts_s: int

    def __str__(self) -> str:
        return self.text

    def starts(self, first: datetime, days: int, zone: tzinfo) -> Iterator[float]:
        """All starts from that local date on, for so many days."""
        for n in range(days):
            day = (first + timedelta(days=n)).date()
            if self.cron.is_on(day.month, day.day, day.isoweekday() % 7):
                for hour in self.cron.hours:
                    for minute in self.cron.minutes:
                        yield datetime(day.year, day.month, day.day, hour, minute, tzinfo=zone).timestamp()


def window(text: str) -> Window:
    """Raises BadCron."""
    expression, _, duration = text.partition(" for ")
    lasts = DURATION.fullmatch(duration.strip().lower())
    lasts_s = 3_600 * int(lasts["h"] or 0) + 60 * int(lasts["m"] or 0) if lasts else 0
    if not 0 < lasts_s <= LONGEST_S:
        raise BadCron(f"{text!r} must last from 1m to 24h: {EXAMPLE}")
    return Window(text.strip(), parse(expression), lasts_s)


@lru_cache(maxsize=8)
def zone_named(name: str) -> tzinfo:
    """Raises BadCron where this machine knows no such zone."""
    if name == "UTC":
        return UTC
    from zoneinfo import ZoneInfo  # a function without windows need not load it

    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        fix = "write UTC, or one such as Europe/Berlin"
        raise BadCron(f"no time zone of this name is known here: {fix}") from None


def is_open(windows: Sequence[Window], time_zone: str, now_s: float) -> bool:
    """Whether one of them is open now.  Where there is none, it always is."""
    if not windows:
        return True
    zone = zone_named(time_zone)
    yesterday = datetime.fromtimestamp(now_s, zone) - timedelta(days=1)
    return any(
        start_s <= now_s < start_s + each.lasts_s
        for each in windows
        for start_s in each.starts(yesterday, 2, zone)
    )


def opens_s(windows: Sequence[Window], time_zone: str, now_s: float) -> float | None:
    """When the next one opens, after now; None if none does."""
    zone = zone_named(time_zone)
    today = datetime.fromtimestamp(now_s, zone)
    coming = (
        next((start_s for start_s in each.starts(today, AHEAD_DAYS, zone) if start_s > now_s), None)
        for each in windows
    )
    return min((start_s for start_s in coming if start_s is not None), default=None)
