"""Cron expressions, as crontab(5) has them: minute, hour, day of the month, month, day of the week.

`*`, lists, ranges, steps, and the first three letters of months and days.  If both days are restricted, a
date matches that suits either of them.  An expression that no date ever suits is refused.
"""

import re
from dataclasses import dataclass

MONTHS = {name: n for n, name in enumerate(re.findall("...", "janfebmaraprmayjunjulaugsepoctnovdec"), 1)}
DAYS = {name: n for n, name in enumerate(re.findall("...", "sunmontuewedthufrisat"))}
LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
"""Days of each month, in the year that has most."""


class BadCron(ValueError):
    """Not a cron expression, or one that never matches: says what is wrong, and what would be right."""


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    low: int
    high: int
    names: dict[str, int]


FIELDS = (
    _Field("minute", 0, 59, {}),
    _Field("hour", 0, 23, {}),
    _Field("day of the month", 1, 31, {}),
    _Field("month", 1, 12, MONTHS),
    _Field("day of the week", 0, 7, DAYS),
)


@dataclass(frozen=True, slots=True)
class Cron:
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """Sunday is 0."""
    any_day: bool
    any_weekday: bool

    def is_on(self, month: int, day: int, weekday: int) -> bool:
        """Whether it matches at any time of such a date."""
        if month not in self.months:
            return False
        of_month, of_week = day in self.days, weekday in self.weekdays
        if self.any_day or self.any_weekday:
            return of_month and of_week
        return of_month or of_week


def parse(text: str) -> Cron:
    """Raises BadCron."""
    words = text.lower().split()
    if len(words) != len(FIELDS):
        names = ", ".join(field.name for field in FIELDS)
        raise BadCron(f"{text!r} has {len(words)} fields: write five, {names}")
    minutes, hours, days, months, weekdays = (
        _values(word, field) for word, field in zip(words, FIELDS, strict=True)
    )
    cron = Cron(
        minutes=tuple(sorted(minutes)),
        hours=tuple(sorted(hours)),
        days=frozenset(days),
        months=frozenset(months),
        weekdays=frozenset(day % 7 for day in weekdays),
        any_day=words[2].startswith("*"),
        any_weekday=words[4].startswith("*"),
    )
    # A restricted day of the week matches in every month, beside any day of the month or instead of it.
    if cron.any_weekday and all(min(cron.days) > LONGEST[month - 1] for month in cron.months):
        raise BadCron(
            f"{text!r} never matches: month {words[3]} has no day {words[2]}; name a day that it has"
        )
    return cron


def _values(word: str, field: _Field) -> set[int]:
    found: set[int] = set()
    for part in word.split(","):
        span, slash, step = part.partition("/")
        every = _number(step, part, field, low=1, high=field.high) if slash else 1
        if span == "*":
            first, last = field.low, field.high
        else:
            begin, dash, end = span.partition("-")
            first = _number(begin, part, field)
            last = _number(end, part, field) if dash else field.high if slash else first
        if first > last:
            raise BadCron(f"{field.name} {part!r}: {first} comes after {last}; write the lower one first")
        found.update(range(first, last + 1, every))
    return found


def _number(word: str, part: str, field: _Field, low: int | None = None, high: int | None = None) -> int:
    low, high = field.low if low is None else low, field.high if high is None else high
    number = field.names.get(word, -1) if not (word.isascii() and word.isdecimal()) else int(word[:9])
    if not low <= number <= high:
        names = f", or {'/'.join(list(field.names)[:3])}/…" if field.names else ""
        raise BadCron(
            f"{field.name} {part!r}: write numbers from {low} to {high}{names}, such as {low}-{high}"
        )
    return number
