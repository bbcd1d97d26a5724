"""Times and durations as people write and read them."""

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from holdfast.cli.session import now_s
from holdfast.cloud.text import lasting

__all__ = [
    "Days",
    "Hours",
    "Seconds",
    "clock",
    "duration_s",
    "gone_by",
    "lasting",
    "moment_s",
    "to_come",
    "zone_of",
]

UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
PART = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])")
EXAMPLES = "30m, 2h, 1d12h, 14:30, 2026-03-01 or 2026-03-01T14:30Z"
FAR_S = 10 * 365 * 86_400
"""No one means a time further ahead than this, and calendars end."""


class Number(click.FloatRange):
    """`nan` lies in every range, if one only compares."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value} is no number of {self.name}", param, ctx)
        return number


class Seconds(Number):
    name = "seconds"


class Hours(Number):
    name = "hours"


class Days(Number):
    name = "days"


def duration_s(text: str) -> float | None:
    """`90s`, `2h`, `1d12h`; None if it is something else."""
    squeezed = text.strip().lower()
    parts = PART.findall(squeezed)
    if not parts or PART.sub("", squeezed).strip():
        return None
    return sum(float(number) * UNITS[unit] for number, unit in parts)


def moment_s(text: str, now: float, *, ahead: bool) -> float | None:
    """A duration from now, ahead or back; the next or the last 14:30; or a date.  Without a zone: ours."""
    passed_s = duration_s(text)
    if passed_s is not None:
        return now + passed_s if ahead else now - passed_s
    # Without the difference to UTC that holds now: summer time may begin or end in between.
    here = datetime.fromtimestamp(now, UTC).astimezone().replace(tzinfo=None)
    try:
        if re.fullmatch(r"\d{1,2}:\d{2}", text.strip()):
            hour, minute = map(int, text.split(":"))
            at = here.replace(hour=hour, minute=minute, second=0, microsecond=0)
            if ahead and at <= here:
                at += timedelta(days=1)
            elif not ahead and at > here:
                at -= timedelta(days=1)
        else:
            at = datetime.fromisoformat(text.strip())
        return at.timestamp()
    except (ValueError, OverflowError):
        return None


def to_come(ctx: click.Context, param: click.Parameter, value: str) -> float:
    """An option that names a time ahead; its value is seconds since the epoch."""
    now = now_s()
    at_s = moment_s(value, now, ahead=True)
    if at_s is None:
        raise click.BadParameter(f"{value!r} is no time: write {EXAMPLES}")
    if at_s <= now:
        raise click.BadParameter(f"{value!r} is over: name a time to come, such as 2h")
    if at_s - now > FAR_S:
        raise click.BadParameter(f"{value!r} is too far ahead: name a time within ten years, such as 30d")
    return at_s


def gone_by(ctx: click.Context, param: click.Parameter, value: str | None) -> float:
    """An option that names a time back; 0 if it is not given."""
    at_s = moment_s(value, now_s(), ahead=False) if value else 0.0
    if at_s is None:
        raise click.BadParameter(f"{value!r} is no time: write {EXAMPLES}")
    return at_s


def clock(at_s: float) -> str:
    """In this machine's zone, which is named: `2026-03-01 14:30:00 CET`."""
    return f"{_here(at_s):%Y-%m-%d %H:%M:%S} {zone_of(at_s)}"


def zone_of(at_s: float) -> str:
    """The name of this machine's zone at that time."""
    return _here(at_s).tzname() or "UTC"


def _here(at_s: float) -> datetime:
    return datetime.fromtimestamp(at_s, UTC).astimezone()
