"""Every test can fail for what it claims."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

import pytest

from tests.tidy.repository import Source, assert_none, nodes, python, tree

Function = ast.FunctionDef | ast.AsyncFunctionDef
Modules = Mapping[str, ast.Module]
"""Syntax trees of the tests, by dotted name."""

TRUSTED = ("assert", "check", "judge", "promise", "search", "wait")
"""First words of functions and methods that fail, where this test cannot look inside."""

CLAIM_TO_END_WELL = {
    "tests/real/parts/test_house_rules.py::test_stopping_twice_is_stopping_once": "the second must not raise",
}


def claims_nothing(module: str, modules: Modules) -> Iterator[tuple[int, str]]:
    """The tests of a module that contain, and call, nothing that can fail."""
    for node in nodes(modules[module]):
        if isinstance(node, Function) and node.name.startswith("test") and not fails(node, module, modules):
            yield node.lineno, node.name


def fails(function: Function, module: str, modules: Modules, seen: frozenset[str] = frozenset()) -> bool:
    """Whether it asserts, raises, expects an error, or calls something that does."""
    for node in nodes(function):
        if isinstance(node, ast.Assert | ast.Raise):
            return True
        if isinstance(node, ast.Call) and _call_fails(node.func, module, modules, seen):
            return True
    return False


def _call_fails(called: ast.expr, module: str, modules: Modules, seen: frozenset[str]) -> bool:
    if isinstance(called, ast.Attribute):
        if ast.unparse(called.value) == "pytest":
            return called.attr in ("raises", "warns", "fail")
        return called.attr.startswith(TRUSTED) and ast.unparse(called.value) != "re"
    if not isinstance(called, ast.Name):
        return False
    home, name = _home(called.id, module, modules)
    place = f"{home}.{name}"
    if found := _function(home, name, modules):
        return place not in seen and fails(found, home, modules, seen | {place})
    return name.lstrip("_").startswith(TRUSTED)


def _home(name: str, module: str, modules: Modules) -> tuple[str, str]:
    """The module that defines a name, and the name it has there."""
    for node in nodes(modules[module]):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if name == (alias.asname or alias.name):
                    return node.module, alias.name
    return module, name


def _function(module: str, name: str, modules: Modules) -> Function | None:
    body = modules[module].body if module in modules else []
    return next((node for node in body if isinstance(node, Function) and node.name == name), None)


def dotted(source: Source) -> str:
    return ".".join(PurePosixPath(source.name).with_suffix("").parts)


def test_every_test_asserts_something() -> None:
    modules = {dotted(source): tree(source) for source in python("tests")}
    tests = [source for source in python("tests") if PurePosixPath(source.name).name.startswith("test_")]
    assert len(tests) > 10
    assert_none(
        f"{source.name}:{line}: {name} cannot fail: assert what its name says"
        for source in tests
        for line, name in claims_nothing(dotted(source), modules)
        if f"{source.name}::{name}" not in CLAIM_TO_END_WELL
    )


def test_no_exception_outlives_its_test() -> None:
    there = {
        f"{source.name}::{name}"
        for source in python("tests")
        for _, name in claims_nothing(dotted(source), {dotted(source): tree(source)})
    }
    assert {*CLAIM_TO_END_WELL} <= there


TOOLS = """
def note(figure): print(figure)
def demand(it): assert it
def around(it): demand(it)
def loop(it): loop(it)
"""


@pytest.mark.parametrize(
    ("body", "claims"),
    [
        ("assert it", True),
        ("for x in it:\n        assert x", True),
        ("with pytest.raises(OSError): it()", True),
        ("it.assert_gone()", True),
        ("promise(it)", True),
        ("demand(it)", True),
        ("around(it)", True),
        ("mine(it)", True),
        ("it()", False),
        ("note(it)", False),
        ("loop(it)", False),
        ("check_nothing(it)", False),
        ("re.search('a', it)", False),
        ("pytest.importorskip('it')", False),
    ],
)
def test_a_test_that_cannot_fail_is_found(body: str, claims: bool) -> None:
    code = f"""
from tests.tools import around, demand, loop, note, note as check_nothing
def mine(it): raise AssertionError(it)
def test_it(it):
    {body}
"""
    modules = {"tests.tools": ast.parse(TOOLS), "tests.test_it": ast.parse(code)}
    assert [name for _, name in claims_nothing("tests.test_it", modules)] == ([] if claims else ["test_it"])
