"""What a pool asks of its machines, where it names no types: families, sizes, disks."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

from holdfast.settings.kinds import Unfit, flag, number, texts, whole
from holdfast.settings.near_misses import KnownNames


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirements:
    families: tuple[str, ...] = ()
    """As `m6i`; or as `m`, which is every family of that letter.  Empty: all."""
    generations: tuple[int, ...] = ()
    """As 6, of m6i and c6g.  Empty: all that EC2 calls current."""
    vcpus_min: int = 1
    vcpus_max: int = 0
    """0: no limit."""
    memory_gib_min: float = 0.0
    memory_gib_max: float = 0.0
    """0: no limit."""
    excluded_types: tuple[str, ...] = ()
    """As `m5.large`; or as `m5.*` and `*.24xlarge`."""
    local_disk: bool | None = None
    """`true`: only types with disks of their own.  `false`: only those without.  Not given: either."""
    burstable: bool = False
    """Types that run at their full speed for a while only, such as t3, are left out unless this is `true`."""


def _numbers(value: object) -> tuple[int, ...]:
    if isinstance(value, list | tuple):
        return tuple(whole(each) for each in value)
    return tuple(whole(each) for each in texts(value)) if isinstance(value, str) else (whole(value),)


PARSERS: Mapping[str, Callable[[object], object]] = {
    "families": texts,
    "generations": _numbers,
    "vcpus_min": whole,
    "vcpus_max": whole,
    "memory_gib_min": number,
    "memory_gib_max": number,
    "excluded_types": texts,
    "local_disk": flag,
    "burstable": flag,
}
FAMILY = re.compile(r"[a-z0-9-]+")
NAMES = tuple(each.name for each in fields(Requirements))


def requirements(value: object) -> Requirements:
    """A table; from the environment as JSON."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            value = None
    if not isinstance(value, Mapping):
        raise Unfit('give a table, such as { families = ["m6i", "m7i"], vcpus_min = 2, vcpus_max = 16 }')
    read: dict[str, object] = {}
    for name, each in value.items():
        if name not in PARSERS:
            near = KnownNames(NAMES).nearest(str(name))
            meant = f" (did you mean {near}?)" if near else ""
            raise Unfit(f"{name} is not known in it{meant}; it has {', '.join(NAMES)}")
        try:
            read[name] = PARSERS[name](each)
        except Unfit as unfit:
            raise Unfit(f"its {name} = {each!r}: {unfit}") from None
    return _sound(Requirements(**read))  # type: ignore[arg-type]


def _sound(asked: Requirements) -> Requirements:
    for family in asked.families:
        if not FAMILY.fullmatch(family):
            raise Unfit(
                f"its families = {family!r}: a family is what stands before the dot, such as m6i, or m"
            )
    for each in asked.excluded_types:
        if not {".", "*"} & {*each}:
            raise Unfit(f"its excluded_types = {each!r} is no type: write {each}.* for all of a family")
    for low, high in (("vcpus_min", "vcpus_max"), ("memory_gib_min", "memory_gib_max")):
        least, most = getattr(asked, low), getattr(asked, high)
        if least < 0 or most < 0:
            name = low if least < 0 else high
            raise Unfit(f"its {name} = {min(least, most):g}: must be at least 0")
        if most and least > most:
            raise Unfit(f"its {low} = {least:g} against {high} = {most:g}: must not be higher")
    return asked
