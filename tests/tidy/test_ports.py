"""Every call to the world is a place to die: so each says what a second identical one does."""

import ast
import inspect
import re
import types
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol, get_args

import pytest

from tests.tidy.repository import assert_none, python, tree

FENCE = re.compile(r"\bFence \([abcd]\)")
REPEATED = re.compile(r"\b(Repeatable|[Tt]wice|The same call|A second call)\b")
SAYS_NOTHING_OF_REPEATS = {
    "Clock.now_s": "reading a clock changes nothing",
    "Clock.sleep": "sleeping changes nothing",
}


def ports() -> dict[str, Any]:
    """Every ports.py of the product, by the name of its package."""
    found = [source.name for source in python("src") if source.name.endswith("/ports.py")]
    modules = [name.removeprefix("src/").removesuffix(".py").replace("/", ".") for name in found]
    return {module.split(".")[-2]: import_module(module) for module in modules}


def effects(module: Any) -> tuple[type, ...]:
    """The members of `Effect = A | B | C`, or the only one."""
    return get_args(module.Effect) or (module.Effect,)


def faults_of_effect(effect: type) -> Iterator[str]:
    says = inspect.cleandoc(effect.__doc__ or "")
    if "Twice" not in says:
        yield f'{effect.__qualname__}: say in its docstring what a second identical one does ("Twice …")'
    if not FENCE.search(says):
        yield f'{effect.__qualname__}: name its fence in its docstring: "Fence (a)", (b), (c) or (d)'


def faults_of_port(port: type) -> Iterator[str]:
    for name, method in vars(port).items():
        if name.startswith("_") or not isinstance(method, types.FunctionType):
            continue
        says = inspect.cleandoc(method.__doc__ or "")
        called = f"{port.__name__}.{name}"
        if not says:
            yield f"{called}: a port's method has a docstring"
        elif "effect" in inspect.signature(method).parameters or called in SAYS_NOTHING_OF_REPEATS:
            continue  # each effect says it for itself
        elif not REPEATED.search(says):
            yield f'{called}: say what a second identical call does: "Repeatable", "Twice is once", …'


def protocols(module: Any) -> Iterator[type]:
    for value in vars(module).values():
        if getattr(value, "_is_protocol", False) and value.__module__ == module.__name__:
            yield value


def test_every_part_names_its_effects() -> None:
    assert_none(
        f"{name}/ports.py: it has no `Effect = A | B`, so its effects cannot be judged"
        for name, module in ports().items()
        if name != "kernel" and not hasattr(module, "Effect")
    )
    assert {"kernel", "autoscaler", "failover", "leases"} <= set(ports())


def test_every_effect_says_what_twice_does_and_names_its_fence() -> None:
    with_effects = [module for module in ports().values() if hasattr(module, "Effect")]
    assert_none(
        fault for module in with_effects for effect in effects(module) for fault in faults_of_effect(effect)
    )


def test_every_method_of_a_port_says_what_a_second_call_does() -> None:
    assert_none(
        fault for module in ports().values() for port in protocols(module) for fault in faults_of_port(port)
    )


def test_every_package_says_what_belongs_there() -> None:
    packages = [source for source in python("src") if source.name.endswith("/__init__.py")]
    assert packages
    assert_none(
        f"{source.name}: say in a docstring what belongs here"
        for source in packages
        if not ast.get_docstring(tree(source))
    )


@dataclass
class Careless:
    """Launch an instance.  Fence (e): none."""


@dataclass
class Mute:
    instance_id: str


@dataclass
class Careful:
    """Launch an instance.

    Twice is once.  Fence (a): the client token.
    """


@pytest.mark.parametrize(("effect", "faults"), [(Careless, 2), (Mute, 2), (Careful, 0)])
def test_an_effect_without_repeat_or_fence_is_refused(effect: type, faults: int) -> None:
    assert len(list(faults_of_effect(effect))) == faults


class World(Protocol):
    def mute(self) -> None: ...

    def vague(self) -> None:
        """Change the world."""

    def careful(self) -> None:
        """Change the world.  Twice is once."""

    def perform(self, effect: Careful) -> None:
        """Carry it out."""


def test_a_port_that_does_not_tell_of_repeats_is_refused() -> None:
    assert [fault.partition(":")[0] for fault in faults_of_port(World)] == [
        "World.mute",
        "World.vague",
    ]


def test_a_single_effect_and_a_union_are_both_understood() -> None:
    assert effects(types.SimpleNamespace(Effect=Careful)) == (Careful,)
    assert effects(types.SimpleNamespace(Effect=Careful | Mute)) == (Careful, Mute)
