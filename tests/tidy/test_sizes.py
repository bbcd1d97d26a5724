"""Files and functions that a reader can hold in mind."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from tests.tidy.repository import assert_none, nodes, python, refused, sources

FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
MODULES_MAX = 15
WRITTEN_BY_HAND = {".css", ".go", ".html", ".js", ".jsx", ".md", ".py", ".sh", ".sql", ".ts", ".tsx"}


def long_functions(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES_MAX:
                yield node.lineno, f"{node.name} has {lines} lines, {FUNCTION_LINES_MAX} at most: split it"


def test_a_file_is_one_idea() -> None:
    assert_none(
        f"{source.name}: {lines} lines, {FILE_LINES_MAX} at most: near that it is two ideas"
        for source in sources()
        if source.suffix in WRITTEN_BY_HAND and (lines := len(source.text.splitlines())) > FILE_LINES_MAX
    )


def test_a_folder_can_be_taken_in_at_a_glance() -> None:
    modules = Counter(PurePosixPath(source.name).parent.as_posix() for source in python())
    assert_none(
        f"{folder}: {count} modules, {MODULES_MAX} at most: give some of them a folder of their own"
        for folder, count in sorted(modules.items())
        if count > MODULES_MAX
    )


def test_a_function_fits_a_screen() -> None:
    assert_none(refused(long_functions, python("src", "tools")))


def test_the_longest_function_is_let_pass_and_one_line_more_is_not() -> None:
    body = "    pass\n" * (FUNCTION_LINES_MAX - 1)
    assert not list(long_functions(ast.parse(f"def fits():\n{body}")))
    assert [line for line, _ in long_functions(ast.parse(f"\nasync def no():\n{body}    pass"))] == [2]
