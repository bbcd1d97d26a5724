"""What a part declares of its settings: one field each, in tables as they stand in the file."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from holdfast.settings.kinds import KINDS
from holdfast.settings.ranges import Range, Shape

T = TypeVar("T")
NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    name: str
    """As in its record and in the file."""
    parse: Callable[[object], object]
    """The value of this kind, or Unfit."""
    environment: tuple[str, ...] = ()
    """What it may be called in the environment."""
    range: Range | None = None
    shape: Shape | None = None
    secret: bool = False
    """Its value is never shown: the operator may have put the secret itself there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table(Generic[T]):
    """The settings that one record holds."""

    record: type[T]
    where: str
    """Where they stand in the file: `[autoscaler.drain]`."""
    prefix: str = ""
    """Before a field's name it is the setting's own: `drain.`."""
    fields: tuple[Field, ...]
    nested: Mapping[str, "Table[Any]"] = field(default_factory=dict)
    """Tables in this one, each a record in this record; none of them has tables in it."""
    more: tuple[str, ...] = ()
    """Keys that the part reads by itself."""

    @property
    def keys(self) -> tuple[str, ...]:
        return (*(each.name for each in self.fields), *self.nested, *self.more)

    def flat(self) -> "Iterator[Table[Any]]":
        """This one, and those in it."""
        yield self
        yield from self.nested.values()

    @property
    def secrets(self) -> frozenset[str]:
        return frozenset(
            table.prefix + each.name for table in self.flat() for each in table.fields if each.secret
        )

    @property
    def environment(self) -> frozenset[str]:
        return frozenset(name for table in self.flat() for each in table.fields for name in each.environment)


def declare(
    record: type[T],
    where: str,
    *,
    prefix: str = "",
    environment: Callable[[str], tuple[str, ...]] = lambda name: (),
    kinds: Mapping[object, Callable[[object], object]] = KINDS,
    ranges: Mapping[str, Range] = NOTHING,
    shapes: Mapping[str, Shape] = NOTHING,
    secrets: Collection[str] = (),
    nested: Mapping[str, Table[Any]] = NOTHING,
    more: tuple[str, ...] = (),
) -> Table[T]:
    """The table of a dataclass, a field each, parsed as its declared type says.

    `environment` gives the names of a setting by its own name, prefix and all.
    """
    own = [each for each in fields(record) if each.name not in (*nested, *more)]  # type: ignore[arg-type]
    unknown = {*ranges, *shapes, *secrets} - {each.name for each in own}
    assert not unknown, f"{record.__name__} has no {', '.join(sorted(unknown))}"
    declared = tuple(
        Field(
            name=each.name,
            parse=kinds[each.type],
            environment=environment(prefix + each.name),
            range=ranges.get(each.name),
            shape=shapes.get(each.name),
            secret=each.name in secrets,
        )
        for each in own
    )
    return Table(record=record, where=where, prefix=prefix, fields=declared, nested=nested, more=more)


def environment_name(name: str, prefix: str = "") -> str:
    """The rule: capitals, `_` for a dot, and seconds in `_SEC` instead of `_s`."""
    spelled = prefix + name.replace(".", "_").upper()
    return f"{spelled}EC" if spelled.endswith("_S") else spelled
