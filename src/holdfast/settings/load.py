"""One part's settings, from `holdfast.toml` and the environment, which outranks it.

All problems are named at once, each with the setting as it was spelled, its value and the fix.
An unknown key in the file is an error.  The environment belongs to others too, so a near miss of
a known name there is a warning.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from holdfast.kernel import Invalid
from holdfast.settings.check import Fault, Said, each_alone
from holdfast.settings.near_misses import KnownNames
from holdfast.settings.source import SettingsSource
from holdfast.settings.table import Table

FILE_TABLES = ("autoscaler", "failover", "leases")
"""All that may stand at the top of `holdfast.toml`: one table a part, which alone reads it."""

T = TypeVar("T")


class InvalidSettings(Invalid):
    """Settings that make no sense.  Nothing was begun."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Loaded(Generic[T]):
    settings: T
    warnings: tuple[str, ...] = ()


def by_path(settings: Any, name: str) -> Any:
    for word in name.split("."):
        settings = getattr(settings, word)
    return settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema(Generic[T]):
    """Everything that a part declares of its settings."""

    part: str
    """Its table in the file."""
    title: str
    """The part in a sentence: `the autoscaler`."""
    table: Table[T]
    more_environment: frozenset[str] = frozenset()
    """Names that mean something beside those of the fields."""
    prefixes: tuple[str, ...] = ("HOLDFAST_",)
    """Written before a name by habit, and part of none."""
    read_more: Callable[[SettingsSource, Mapping[str, Any]], Mapping[str, Any]] = lambda source, raw: {}
    """What the table leaves to the part (its `more`), read from the part's own table in the file."""
    faults: Callable[[T, Said], Iterable[Fault]] = lambda settings, said: ()
    """What cannot work together."""
    warnings: Callable[[T, SettingsSource, Said], Iterable[str]] = lambda settings, source, said: ()
    """What works, and yet not as the operator may think."""
    value_of: Callable[[T, str], object] = by_path

    @property
    def environment(self) -> frozenset[str]:
        """Every name that means something in the environment."""
        return self.table.environment | self.more_environment


def load(schema: Schema[T], toml: Mapping[str, Any], environ: Mapping[str, str]) -> Loaded[T]:
    """`toml`: the whole file, parsed.  Raises InvalidSettings with everything that is wrong."""
    source = SettingsSource(environ, secrets=schema.table.secrets, prefixes=schema.prefixes)
    source.refuse_unknown(toml, FILE_TABLES, "")
    raw = source.table(toml, schema.part, "")
    given = source.record(schema.table, raw)
    settings = schema.table.record(**given, **schema.read_more(source, raw))

    def said(name: str) -> str:
        return source.said(name, schema.value_of(settings, name))

    faults = (*each_alone(schema.table, settings, said), *schema.faults(settings, said))
    wrong = [fault.text for fault in faults if source.could_read(*fault.about)]
    if source.problems or wrong:
        raise InvalidSettings((*source.problems, *dict.fromkeys(wrong)))
    return Loaded(settings, (*_near_misses(schema, environ), *schema.warnings(settings, source, said)))


def _near_misses(schema: Schema[T], environ: Mapping[str, str]) -> Iterator[str]:
    known = KnownNames(sorted(schema.environment), schema.prefixes)
    for name in sorted(environ):
        if name not in schema.environment and name.isupper() and (meant := known.slip(name)):
            yield f"{name} is set and means nothing to {schema.title}: did you mean {meant}?"
