"""Where settings come from: file and environment, and which of them said what."""

from collections.abc import Collection, Mapping
from typing import Any

from holdfast.settings.kinds import Unfit
from holdfast.settings.near_misses import KnownNames
from holdfast.settings.table import Field, Table


class SettingsSource:
    """Settings by their own names: `cpu_up`, `drain.kube_system_stays`, `pools.gpu.min_workers`.

    An empty variable is as good as none.  Problems are gathered, not raised.
    """

    def __init__(
        self, environ: Mapping[str, str], *, secrets: Collection[str] = (), prefixes: tuple[str, ...] = ()
    ) -> None:
        """`secrets`: settings that are never shown.  `prefixes`: written before a name by habit."""
        self.environ = {name: value.strip() for name, value in environ.items() if value.strip()}
        self.problems: list[str] = []
        self.spelled: dict[str, str] = {}
        """What the operator gave, and under which name."""
        self._secrets, self._prefixes = frozenset(secrets), prefixes
        self._unread: set[str] = set()

    def table(self, table: Mapping[str, Any], name: str, where: str) -> Mapping[str, Any]:
        found = table.get(name, {})
        if isinstance(found, Mapping):
            return found
        self.unfit(name, f"{where} {name} = {found!r}: must be a table".strip())
        return {}

    def refuse_unknown(self, table: Mapping[str, Any], known: Collection[str], where: str) -> None:
        for key in table:
            if key not in known:
                meant = KnownNames(known, self._prefixes).nearest(key)
                fix = f"did you mean {meant}?" if meant else "remove it"
                self.problems.append(f"{where} {key}: there is no such setting; {fix}".strip())

    def record(self, table: Table[Any], raw: Mapping[str, Any]) -> dict[str, Any]:
        """All that was given for a record and for the records in it."""
        self.refuse_unknown(raw, table.keys, table.where)
        inner = {name: self.table(raw, name, table.where) for name in table.nested}
        for name, nested in table.nested.items():
            self.refuse_unknown(inner[name], nested.keys, nested.where)
        given = self._values(table, raw)
        for name, nested in table.nested.items():
            given[name] = nested.record(**self._values(nested, inner[name]))
        return given

    def _values(self, table: Table[Any], raw: Mapping[str, Any]) -> dict[str, Any]:
        return given({field.name: self._value(field, table, raw) for field in table.fields})

    def _value(self, field: Field, table: Table[Any], raw: Mapping[str, Any]) -> Any:
        """What the environment says, else the file; None if neither does, or what they say is unfit."""
        name = table.prefix + field.name
        names = [n for n in field.environment if n in self.environ]
        if len({self.environ[n] for n in names}) > 1:
            both = " and ".join(f"{n} = {self._shown(name, self.environ[n])}" for n in names)
            self.unfit(name, f"{both} are the same setting: leave one out")
            return None
        if names:
            return self.read(name, names[0], field, self.environ[names[0]])
        if field.name in raw:
            return self.read(name, f"{table.where} {field.name}", field, raw[field.name])
        return None

    def read(self, name: str, spelled: str, field: Field, value: object) -> Any:
        self.spelled[name] = spelled
        try:
            return field.parse(value)
        except Unfit as unfit:
            self.unfit(name, f"{spelled} = {self._shown(name, value)}: {unfit}")
            return None

    def unfit(self, name: str, problem: str) -> None:
        self._unread.add(name)
        self.problems.append(problem)

    def could_read(self, *names: str) -> bool:
        return self._unread.isdisjoint(names)

    def said(self, name: str, value: object) -> str:
        """A setting as a person would recognise it."""
        if name in self.spelled:
            return f"{self.spelled[name]} = {self._shown(name, value)}"
        return f"{name.rpartition('.')[2]} = {self._shown(name, value)} (the default)"

    def _shown(self, name: str, value: object) -> str:
        return "(not shown)" if name in self._secrets else shown(value)


def given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def shown(value: object) -> str:
    """A value for people; no address with a password."""
    if isinstance(value, str) and "@" in value and "://" in value:
        return "(not shown: it may hold a password)"
    if isinstance(value, tuple | list):
        return repr(",".join(map(str, value)))
    return repr(value) if isinstance(value, str | Mapping) else f"{value}".lower()
