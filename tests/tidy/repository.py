"""The files under judgement: whatever git would put into a commit."""

import ast
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]

Rule = Callable[[ast.Module], Iterable[tuple[int, str]]]
"""Gives the line and the fault of whatever it refuses in a syntax tree."""


@dataclass(frozen=True)
class Source:
    """One file, with its place as people write it."""

    name: str
    text: str

    @property
    def suffix(self) -> str:
        return Path(self.name).suffix

    def is_under(self, *folders: str) -> bool:
        return any(self.name.startswith(f"{folder}/") for folder in folders)


@cache
def names() -> frozenset[str]:
    """Every file that is tracked, or would be by `git add`."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    ).stdout
    return frozenset(name for name in listed.split("\0") if name and (ROOT / name).is_file())


@cache
def sources() -> tuple[Source, ...]:
    """Every file that is text."""
    found = []
    for name in sorted(names()):
        raw = (ROOT / name).read_bytes()
        if b"\0" not in raw:
            found.append(Source(name, raw.decode("utf-8", errors="replace")))
    return tuple(found)


def python(*folders: str) -> Iterator[Source]:
    """The Python files below these folders, or all of them."""
    for source in sources():
        if source.suffix == ".py" and (not folders or source.is_under(*folders)):
            yield source


@cache
def tree(source: Source) -> ast.Module:
    return ast.parse(source.text, source.name)


@cache
def nodes(within: ast.AST) -> tuple[ast.AST, ...]:
    """All that is in a syntax tree; walked once, however many rules look at it."""
    return tuple(ast.walk(within))


def refused(rule: Rule, found: Iterable[Source]) -> list[str]:
    """What a rule refuses in these files, one line each."""
    return [f"{source.name}:{line}: {fault}" for source in found for line, fault in rule(tree(source))]


def assert_none(faults: Iterable[str]) -> None:
    """Fail with the faults, one a line, if there are any."""
    told = list(faults)
    assert not told, "\n" + "\n".join(told)
