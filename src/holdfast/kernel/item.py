"""A record as a flat item: named attributes of declared kinds, checked when read.

Each part's codec is a table of these attributes, under the names that people see in the
stored item.  An attribute that the table does not name was written by a newer release:
repositories leave it alone.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Any, Final, Generic, TypeVar

from holdfast.kernel.errors import Corrupt

Record = TypeVar("Record")
Value = str | int | float | bool | list[str] | dict[str, dict[str, str | float]]
Item = Mapping[str, Value]
"""None never stands in an item: an absent attribute is absent."""

FIX: Final = "Nothing was changed: mend or delete it by hand"


class Kind(Enum):
    TEXT = "text"
    COUNT = "a whole number of at least 0"
    EPOCH = "seconds since the epoch"
    FLAG = "true or false"
    TEXTS = "a list of texts"
    ROWS = "a map of maps of texts and numbers"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_row(value: object) -> bool:
    return isinstance(value, dict) and all(
        isinstance(name, str) and (isinstance(cell, str) or _is_number(cell)) for name, cell in value.items()
    )


CHECKS: Mapping[Kind, Callable[[Any], bool]] = {
    Kind.TEXT: lambda value: isinstance(value, str),
    Kind.COUNT: lambda value: _is_number(value) and value >= 0 and value == int(value),
    Kind.EPOCH: lambda value: _is_number(value) and value >= 0,
    Kind.FLAG: lambda value: isinstance(value, bool),
    Kind.TEXTS: lambda value: isinstance(value, list) and all(isinstance(text, str) for text in value),
    Kind.ROWS: lambda value: isinstance(value, dict) and all(map(_is_row, value.values())),
}


@dataclass(frozen=True, slots=True)
class Attribute:
    name: str
    kind: Kind
    required: bool = False
    columns: tuple[str, ...] = ()
    """What every row of a map of maps must have."""

    def refuses(self, value: object) -> bool:
        if not CHECKS[self.kind](value):
            return True
        return isinstance(value, dict) and any(set(self.columns) - set(row) for row in value.values())


@dataclass(frozen=True)
class Codec(Generic[Record]):
    """How one kind of record is stored."""

    attributes: tuple[Attribute, ...]
    first: Record
    """What a missing item means."""
    encode: Callable[[Record], Item]
    decode: Callable[[Item], Record]
    """Takes a checked item.  May raise ValueError for shapes that no single attribute shows."""
    guarded_attributes: tuple[str, ...]
    """Attributes that a commit checks beside the version, so that a writer which knows no
    versions is noticed too."""

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset(attribute.name for attribute in self.attributes)

    def load(self, item: Mapping[str, Any], *, table: str, key: str) -> Record:
        """The record in an item, or Corrupt naming table, key and attribute."""
        known: dict[str, Value] = {}
        for attribute in self.attributes:
            value = item.get(attribute.name)
            if value is None:
                if attribute.required:
                    raise _corrupt(table, key, attribute, "is missing")
                continue
            if attribute.refuses(value):
                raise _corrupt(table, key, attribute, f"is {value!r}")
            known[attribute.name] = value
        try:
            return self.decode(known)
        except ValueError as error:
            problem = f"{error}. {FIX}"
            raise Corrupt(table=table, key=key, attribute="(several)", problem=problem) from error


def _corrupt(table: str, key: str, attribute: Attribute, finding: str) -> Corrupt:
    expected = attribute.kind.value + (f" with {', '.join(attribute.columns)}" if attribute.columns else "")
    problem = f"{finding}; expected {expected}. {FIX}"
    return Corrupt(table=table, key=key, attribute=attribute.name, problem=problem)


def load_version(item: Mapping[str, Any], *, table: str, key: str) -> int:
    """The version of a stored item; 0 for one that was written without versions."""
    version = item.get("version", 0)
    if not CHECKS[Kind.COUNT](version):
        raise _corrupt(table, key, Attribute("version", Kind.COUNT), f"is {version!r}")
    return int(version)
