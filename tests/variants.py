"""Deliberately broken variants: the shipped file with one guard taken out.

A variant is made from the shipped source each time, so it can never drift away from it:
if the guard moves, `broken` says so.
"""

import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any


def broken(module: str, changes: Mapping[str, str], *, also: Mapping[str, ModuleType] | None = None) -> Any:
    """The module with these exact snippets replaced, as a fresh module.

    `also` names modules that the variant shall import in place of the shipped ones.
    """
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text()
    for guard, without in changes.items():
        found = source.count(guard)
        assert found == 1, f"{module} holds this guard {found} times, not once:\n{guard}"
        source = source.replace(guard, without)
    variant = module_from_spec(spec)
    # Dataclasses look their module up by name while they are made.
    variant.__name__ = f"{module}_{uuid.uuid4().hex[:8]}"
    sys.modules[variant.__name__] = variant
    with _instead(also or {}):
        exec(compile(source, spec.origin, "exec"), variant.__dict__)
    return variant


@contextmanager
def _instead(modules: Mapping[str, ModuleType]) -> Iterator[None]:
    shipped = {name: sys.modules[name] for name in modules if name in sys.modules}
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            sys.modules.pop(name, None)
        sys.modules.update(shipped)


AUTOSCALER = {
    "fleet": "fleet",
    "launch_plan": "scale_up.launch_plan",
    "launch_result": "scale_up.launch_result",
    "pool_failures": "scale_up.pool_failures",
    "spread": "scale_up.spread",
    "unhelped": "scale_up.unhelped",
    "kept": "disruption.kept",
    "scale_up": "scale_up.action",
    "sweep": "sweep",
    "scale_down": "scale_down.action",
    "fate": "interruption.fate",
    "interruption": "interruption",
    "idle": "scale_down.idle",
    "not_ready": "scale_down.not_ready",
    "underused": "disruption.underused",
    "consolidation": "disruption.consolidation",
    "share": "disruption.share",
    "rotation": "disruption.rotation",
    "decide": "decide",
    "workflow": "workflow",
}
"""What the workflow calls its modules, and where they are: in the order in which they import each other."""


def autoscaler_without(changes: Mapping[str, Mapping[str, str]]) -> Any:
    """The whole workflow, with snippets of its modules replaced: `{"scale_up": {guard: without}}`."""
    assert set(changes) <= set(AUTOSCALER), changes
    built: dict[str, ModuleType] = {}
    by_name: dict[str, ModuleType] = {}
    for name, place in AUTOSCALER.items():
        module = f"holdfast.autoscaler.{place}"
        by_name[name] = built[module] = broken(module, changes.get(name, {}), also=built)
    whole: Any = by_name["workflow"]
    for name, made in by_name.items():
        if isinstance(getattr(whole, name, None), ModuleType):
            setattr(whole, name, made)  # imported from their package, not by name
    for name in ("share", "scale_up"):
        setattr(by_name["rotation"], name, by_name[name])
    return whole


def autoscaler_shell_without(
    changes: Mapping[str, str], *, also: Mapping[str, ModuleType] | None = None
) -> Any:
    """`Autoscaler`, with snippets replaced in its tick or in the turns of it; `also`: see `broken`."""
    turn = "holdfast.autoscaler.tick.turn"
    spec = find_spec(turn)
    assert spec is not None
    assert spec.origin is not None
    source = Path(spec.origin).read_text()
    of_turn = {guard: without for guard, without in changes.items() if guard in source}
    others = {guard: without for guard, without in changes.items() if guard not in of_turn}
    built = {**(also or {}), turn: broken(turn, of_turn, also=also)}
    return broken("holdfast.autoscaler.tick", others, also=built).Autoscaler


FAILOVER = (
    "rule",
    "standby",
    "choose",
    "takeover",
    "loss",
    "vacancy",
    "staffing",
    "departure",
    "sweep",
    "table",
)
"""The modules of failover's rules, in the order in which they import each other."""


def failover_without(changes: Mapping[str, Mapping[str, str]]) -> Any:
    """Failover's workflow, with snippets of its rules' modules replaced: `{"takeover": {guard: without}}`."""
    assert set(changes) <= {*FAILOVER, "workflow"}, changes
    built: dict[str, ModuleType] = {}
    for name in FAILOVER:
        module = f"holdfast.failover.rules.{name}"
        if name in changes or built:  # what comes before the first change is as shipped
            built[module] = broken(module, changes.get(name, {}), also=built)
    return broken("holdfast.failover.workflow", changes.get("workflow", {}), also=built)
