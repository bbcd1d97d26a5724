"""Taking values out of file and environment, remembering who said what, and what was wrong."""

from collections.abc import Collection, Mapping
from typing import Any

from holdfast.autoscaler.settings import Settings, environment_names
from holdfast.autoscaler.settings.near import Known
from holdfast.autoscaler.settings.parse import Unfit, parse

NEVER_SHOWN = frozenset({"k8s_api_token_param", "k3s_cluster_token_param", "k8s_ca"})
"""Somebody may have put the secret itself there."""


class Reading:
    """Settings by their own names: `cpu_up`, `drain.kube_system_stays`, `pools.gpu.min_workers`."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = {name: value.strip() for name, value in environ.items() if value.strip()}
        self.problems: list[str] = []
        self.spelled: dict[str, str] = {}
        """What somebody gave, and under which name."""
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
                meant = Known(known).nearest(key)
                fix = f"did you mean {meant}?" if meant else "remove it"
                self.problems.append(f"{where} {key}: there is no such setting; {fix}".strip())

    def value(self, name: str, kind: object, table: Mapping[str, Any], where: str) -> Any:
        """What the environment says, else the file; None if neither does, or what they say is unfit."""
        given = [n for n in environment_names(name) if n in self.environ]
        if len({self.environ[n] for n in given}) > 1:
            both = " and ".join(f"{n} = {self.environ[n]!r}" for n in given)
            self.unfit(name, f"{both} are the same setting: leave one out")
            return None
        if given:
            return self.read(name, given[0], kind, self.environ[given[0]])
        key = name.rpartition(".")[2]
        return self.read(name, f"{where} {key}", kind, table[key]) if key in table else None

    def read(self, name: str, spelled: str, kind: object, value: object) -> Any:
        self.spelled[name] = spelled
        try:
            return parse(kind, value)
        except Unfit as unfit:
            self.unfit(name, f"{spelled} = {shown(name, value)}: {unfit}")
            return None

    def unfit(self, name: str, problem: str) -> None:
        self._unread.add(name)
        self.problems.append(problem)

    def could_read(self, *names: str) -> bool:
        return self._unread.isdisjoint(names)

    def said(self, settings: Settings, name: str) -> str:
        """A setting as a person would recognise it."""
        value = shown(name, _value(settings, name))
        if name in self.spelled:
            return f"{self.spelled[name]} = {value}"
        return f"{name.rpartition('.')[2]} = {value} (the default)"


def shown(name: str, value: object) -> str:
    """A value for people; nothing that may be a secret."""
    if name in NEVER_SHOWN:
        return "(not shown)"
    if isinstance(value, str) and "@" in value and "://" in value:
        return "(not shown: it may hold a password)"
    if isinstance(value, tuple | list):
        return repr(",".join(map(str, value)))
    return repr(value) if isinstance(value, str | Mapping) else f"{value}".lower()


def _value(settings: Settings, name: str) -> Any:
    group, _, own = name.rpartition(".")
    if group.startswith("pools."):
        return getattr(settings.pool(group.removeprefix("pools.")), own)
    return getattr(settings.drain if group else settings, own)
