"""What is wrong with settings that could be read: each alone here, several together by their part.

A fault names the settings that it is about, so that one which could not even be read is not
complained about twice.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from holdfast.settings.table import Table


@dataclass(frozen=True, slots=True)
class Fault:
    about: tuple[str, ...]
    """Settings by their own names: `cpu_up`, `drain.…`, `pools.gpu.min_workers`."""
    text: str


Said = Callable[[str], str]
"""How a person would recognise a setting: its name as it was spelled, and its value."""


def each_alone(table: Table[Any], record: object, said: Said, prefix: str | None = None) -> Iterator[Fault]:
    """Numbers out of their range, then texts of another shape.  `prefix`: of one record among several."""
    before = table.prefix if prefix is None else prefix
    for field in table.fields:
        if field.range is not None and not field.range.holds(getattr(record, field.name)):
            yield Fault((before + field.name,), f"{said(before + field.name)}: must be {field.range}")
    for field in table.fields:
        if field.shape is None:
            continue
        value = getattr(record, field.name)
        for each in (value,) if isinstance(value, str) else value:
            if not field.shape.holds(each):
                yield Fault((before + field.name,), f"{said(before + field.name)}: must be {field.shape}")
    for name, nested in table.nested.items():
        yield from each_alone(nested, getattr(record, name), said)
