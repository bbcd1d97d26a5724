"""Each row of docs/bad-days.md names a test that exists."""

import ast
import re
from collections.abc import Iterator

from tests.tidy.repository import ROOT, assert_none

PAGE = ROOT / "docs" / "bad-days.md"
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)(?:\[([^\]`]+)\])?`")
COLUMNS = 4
ROWS_MIN = 10


def rows() -> list[str]:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    return [line for line in lines[2:] if not line.startswith("|---")]


def faults(row: str) -> Iterator[str]:
    cells = [cell.strip() for cell in row.strip("|").split(" | ")]
    if len(cells) != COLUMNS or not all(cells):
        yield f"{row}: {len(cells)} columns, {COLUMNS} are wanted, and none empty"
    named = NAMED.findall(cells[-1])
    if not named:
        yield f"{row}: names no test"
    for path, test, case in named:
        if what := _missing(path, test, case):
            yield f"{row[:60]}…: {path} has no {what}"


def _missing(path: str, test: str, case: str) -> str:
    """The part of a test's name that its file does not have; empty if it has all."""
    if not (ROOT / path).is_file():
        return path
    source = (ROOT / path).read_text()
    functions = {node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)}
    if test not in functions:
        return test
    return case if case and case not in source else ""


def test_every_row_names_a_test_that_exists() -> None:
    assert len(rows()) >= ROWS_MIN
    assert_none(fault for row in rows() for fault in faults(row))


def test_a_row_without_a_test_or_with_one_that_is_gone_is_found() -> None:
    assert list(faults("| a | b | c | nothing |"))
    assert list(faults("| a | b | c | `tests/tidy/pages/test_bad_days.py::test_that_is_gone` |"))
    assert list(faults("| a | b | `tests/tidy/pages/test_bad_days.py::rows` |"))
    assert not list(faults("| a | b | c | `tests/tidy/pages/test_bad_days.py::rows` |"))
