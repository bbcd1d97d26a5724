"""Headroom of a pool: room for so many pods that are not there yet."""

import re
from dataclasses import dataclass

from holdfast.cloud.quantity import cpu_m, whole
from holdfast.settings.kinds import Unfit

FORM = re.compile(r"(?P<count>\d{1,5}) pods? of (?P<cpu>[0-9.]+m?) cpus?(?: (?P<memory>[0-9.]+[KMGT]i?))?")
EXAMPLE = 'write it as "2 pods of 1 cpu" or "2 pods of 500m cpu 2Gi"'


@dataclass(frozen=True, slots=True)
class Spare:
    count: int
    cpu_m: int
    memory: int = 0

    def __str__(self) -> str:
        memory = f" {self.memory / (1 << 20):.0f}Mi" if self.memory else ""
        return f"{self.count} pod{'s' if self.count != 1 else ''} of {self.cpu_m}m cpu{memory}"


def spare(value: object) -> Spare | None:
    """An empty text: none."""
    if not isinstance(value, str):
        raise Unfit(EXAMPLE)
    text = " ".join(value.split())
    if not text:
        return None
    found = FORM.fullmatch(text)
    if found is None:
        raise Unfit(EXAMPLE)
    try:
        read = Spare(int(found["count"]), cpu_m(found["cpu"]), whole(found["memory"] or 0))
    except ValueError:
        raise Unfit(EXAMPLE) from None
    if not read.count or not (read.cpu_m or read.memory):
        raise Unfit(f"it must be at least one pod, of more than nothing; {EXAMPLE}")
    return read
