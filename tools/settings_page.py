"""`python -m tools.settings_page`: writes docs/guides/settings.md out of the settings' own source."""

import ast
import dataclasses
import inspect
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from holdfast.autoscaler import settings
from holdfast.autoscaler.settings import Disruption, DrainRules, Pool
from holdfast.autoscaler.settings.requirements import Requirements
from holdfast.failover import settings as failover
from holdfast.leases import settings as leases

Spelled = Callable[[str], Iterable[str]]

PAGE = Path(__file__).parents[1] / "docs" / "guides" / "settings.md"
INTRODUCTION = """\
# Settings

<!-- Written by `python -m tools.settings_page`: change the docstrings of the settings instead. -->

They stand in `holdfast.toml`, each part's under a heading of its own, or in the environment, which outranks
the file. All problems are named at once; an unknown key in the file is an error, a near miss in the
environment a warning. The defaults are those of the designs that we began from
([what they promised](../seeds.md)). What belongs to one failover group (mode, standbys, waits) is stored with
the group: `holdfast failover settings AGENT`. What belongs to one client (launches an hour, requests a
second) is stored with the client: `holdfast failover clients`.

```toml
[autoscaler]
min_workers = 3
max_workers = 30

[autoscaler.drain]
kube_system_stays = false

[[autoscaler.pools]]
name = "default"
instance_types = ["m6i.large", "m5.large", "m5a.large"]
subnet_ids = ["subnet-0aa", "subnet-0bb", "subnet-0cc"]
ami_id = "ami-0123456789abcdef0"
security_group_ids = ["sg-0123456789abcdef0"]
instance_profile = "k3s-worker"

[[autoscaler.pools]]
name = "any"
weight = 10                     # asked before the other one
spare = "2 pods of 1 cpu 2Gi"   # room for pods to come
subnet_ids = ["subnet-0aa", "subnet-0bb", "subnet-0cc"]
ami_id = "ami-0123456789abcdef0"
security_group_ids = ["sg-0123456789abcdef0"]
instance_profile = "k3s-worker"

[autoscaler.pools.requirements]
families = ["m", "c6i", "r6i"]
generations = [6, 7]
vcpus_min = 2
vcpus_max = 16
excluded_types = ["*.metal", "m6id.*"]
```
"""


def page() -> str:
    return "\n".join([INTRODUCTION, *_sections()])


def _sections() -> Iterator[str]:
    yield from _table("The autoscaler", "[autoscaler]", settings.Settings, settings.environment_names)
    yield from _table("Draining", "[autoscaler.drain]", DrainRules, _within("drain"))
    yield from _table("Disruption by choice", "[autoscaler.disruption]", Disruption, _within("disruption"))
    note = " In the environment, `WORKER_…` fill the pool `default`."
    yield from _table("Pools", "[[autoscaler.pools]]", Pool, _of_pool, note)
    asked = " A pool has either these or `instance_types`."
    where = "[autoscaler.pools.requirements]"
    yield from _table("Requirements of a pool", where, Requirements, lambda name: (), asked)
    yield from _table("Failover", "[failover]", failover.Settings, failover.environment_names)
    yield from _table("Leases", "[leases]", leases.Settings, leases.environment_names)


def _table(title: str, where: str, kind: type[Any], spelled: Spelled, note: str = "") -> Iterator[str]:
    """`spelled`: the names of a setting in the environment."""
    yield f"## {title}\n"
    yield f"In the file under `{where}`.{note}\n"
    yield "| setting | environment | default | meaning |\n|---|---|---|---|"
    said = _docstrings(kind)
    for field in dataclasses.fields(kind):
        if field.name in ("drain", "disruption", "pools"):
            continue
        env = ", ".join(f"`{each}`" for each in spelled(field.name))
        yield f"| `{field.name}` | {env} | {_default(kind, field.name)} | {said.get(field.name, '')} |"
    yield ""


def _within(table: str) -> Spelled:
    return lambda name: settings.environment_names(f"{table}.{name}")


def _of_pool(name: str) -> list[str]:
    return [env for env, field in settings.WORKER_NAMES.items() if field == name]


def _default(kind: type[Any], name: str) -> str:
    value = getattr(kind(), name)
    if value is None or value in ("", (), {}):
        return ""
    if isinstance(value, tuple):
        return f"`{', '.join(map(str, value))}`"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _docstrings(kind: type[Any]) -> dict[str, str]:
    """The text below each field, which Python itself forgets."""
    (body,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for field, below in zip(body.body, body.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
            text = below.value.value if _is_text(below) else ""  # type: ignore[attr-defined]
            found[field.target.id] = " ".join(text.split())
    return found


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page())
