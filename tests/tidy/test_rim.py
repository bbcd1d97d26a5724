"""What only the rim may do: talk to people, read clocks, load the cloud's library; what no module may."""

import ast
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator

import pytest

from tests.tidy.repository import assert_none, nodes, python, refused

Found = Iterable[tuple[int, str]]

CLOCKS_ALLOWED = {
    "src/holdfast/adapters": "an adapter is where the machine's clock becomes a port, or a timeout",
    "src/holdfast/cli": "a command is where a person's time begins",
    "src/holdfast/agent": "an agent counts its lease in the machine's time",
    "src/holdfast/stream": "a long-running shell waits in the machine's time",
    "src/holdfast/server": "a server counts leases and waits in the machine's time",
}
PRINT_ALLOWED = ("src/holdfast/cli",)
PURE = (
    "src/holdfast/kernel",
    "src/holdfast/settings",
    "src/holdfast/autoscaler",
    "src/holdfast/failover",
    "src/holdfast/leases",
)

CLOCKS = {
    *(f"time.{name}" for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter")),
    *(
        f"time.{name}"
        for name in ("perf_counter_ns", "process_time", "localtime", "gmtime", "ctime", "sleep")
    ),
    *(f"datetime.datetime.{name}" for name in ("now", "utcnow", "today")),
    "datetime.date.today",
}
DOORS = {"open", "input", "print", "exec", "eval", "compile", "__import__", "breakpoint"}
HEAVY = ("boto3", "botocore", "aiobotocore", "types_boto3", "mypy_boto3")


def calls_of(names: set[str], fix: str) -> Callable[[ast.Module], Found]:
    def rule(tree: ast.Module) -> Iterator[tuple[int, str]]:
        for node in nodes(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                yield node.lineno, f"{node.func.id}(…): {fix}"

    return rule


def clocks(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Uses of a clock under whatever name it was imported."""
    means: dict[str, str] = {}
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            means |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            means |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in nodes(tree):
        if isinstance(node, ast.Attribute | ast.Name):
            first, dot, rest = ast.unparse(node).partition(".")
            name = means.get(first, "") + dot + rest
            if name in CLOCKS:
                yield node.lineno, f"{name}: time is an argument here, or comes from the Clock port"


BROAD = {"Exception", "BaseException"}


def broad_catches(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Code that catches everything must raise in the end, or log the defect with its trace, as a thread of a
    server does that has other groups to care for: else a defect looks like an outcome."""
    for node in nodes(tree):
        if isinstance(node, ast.ExceptHandler):
            caught = _names(node.type) if node.type else {"everything"}
            told = any(ast.unparse(each).startswith("LOG.exception(") for each in node.body)
            if caught & {*BROAD, "everything"} and not told and not isinstance(node.body[-1], ast.Raise):
                yield node.lineno, f"catches {', '.join(caught)} and swallows it: name what may be raised"
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "suppress":
            wide = BROAD & {ast.unparse(argument) for argument in node.args}
            if wide:
                yield node.lineno, f"suppresses {', '.join(wide)}: name what may be raised"


def _names(caught: ast.expr) -> set[str]:
    return {ast.unparse(each) for each in (caught.elts if isinstance(caught, ast.Tuple) else [caught])}


def eager_imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Imports of heavy libraries that run when the module is imported."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test).split(".")[-1] == "TYPE_CHECKING":
            for otherwise in node.orelse:
                yield from eager_imports(ast.Module([otherwise], []))
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name in _imported(node):
                if name.split(".")[0].startswith(HEAVY):
                    yield (
                        node.lineno,
                        f"{name} is loaded by every command: import it in the function that needs it",
                    )
        yield from eager_imports(node)


def _imported(node: ast.Import | ast.ImportFrom) -> list[str]:
    return [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]


def test_only_commands_print() -> None:
    elsewhere = (s for s in python("src") if not s.is_under(*PRINT_ALLOWED))
    assert_none(refused(calls_of({"print"}, "raise, return or tell an event; commands print"), elsewhere))


def unfiltered(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Texts from outside must not steer a terminal; JSON escapes them by itself."""
    for node in nodes(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("click.echo", "click.secho"):
            what = ast.unparse(node.args[0]) if node.args else ""
            if not what.startswith("json.dumps("):
                yield (
                    node.lineno,
                    f"click.echo({what[:40]}…): print by `say`, which lets no control character out",
                )


def test_commands_print_by_what_filters_control_characters() -> None:
    assert_none(refused(unfiltered, python("src/holdfast/cli/autoscaler", "src/holdfast/cli/failover")))


def test_pure_modules_open_no_door_that_needs_no_import() -> None:
    assert_none(refused(calls_of(DOORS, "a pure module reaches nothing: make it a port"), python(*PURE)))


def test_only_the_rim_reads_a_clock() -> None:
    assert_none(refused(clocks, (s for s in python("src") if not s.is_under(*CLOCKS_ALLOWED))))


def test_nothing_swallows_errors_that_it_does_not_know() -> None:
    assert_none(refused(broad_catches, python("src")))


def test_boto3_is_imported_lazily() -> None:
    assert_none(refused(eager_imports, python("src")))


EVERYTHING = """
import importlib, pkgutil, sys, holdfast
for module in pkgutil.walk_packages(holdfast.__path__, "holdfast."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
heavy = sorted(name for name in sys.modules if name in ("boto3", "botocore"))
sys.exit(f"loaded by importing holdfast: {heavy}" if heavy else 0)
"""


def test_importing_every_module_loads_no_boto3() -> None:
    done = subprocess.run([sys.executable, "-c", EVERYTHING], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("rule", "code", "lines"),
    [
        (calls_of({"print"}, ""), "print(1)\nfootprint(2)", [1]),
        (clocks, "import time\ndef f(now=time.time): ...", [2]),
        (clocks, "import time as t\nt.sleep(1)", [2]),
        (clocks, "from time import monotonic as m\nm()", [2]),
        (clocks, "from datetime import datetime, UTC\nnow = datetime.now(UTC)", [2]),
        (clocks, "import datetime\ndatetime.datetime.now()", [2]),
        (clocks, "from datetime import datetime\ndatetime.fromtimestamp(1)\nseen.time.time()", []),
        (broad_catches, "try: ...\nexcept: pass", [2]),
        (broad_catches, "try: ...\nexcept (OSError, Exception): pass", [2]),
        (broad_catches, "try: ...\nexcept BaseException:\n    undo()\n    raise", []),
        (broad_catches, "try: ...\nexcept Exception as e:\n    raise Broken('why') from e", []),
        (broad_catches, "try: ...\nexcept OSError: pass", []),
        (broad_catches, "with contextlib.suppress(Exception): ...", [1]),
        (eager_imports, "import boto3", [1]),
        (eager_imports, "try:\n    from botocore.config import Config\nexcept ImportError: ...", [2]),
        (eager_imports, "class A:\n    import boto3.session", [2]),
        (eager_imports, "if TYPE_CHECKING:\n    import boto3\nelse:\n    import botocore", [4]),
        (eager_imports, "def f():\n    import boto3", []),
        (eager_imports, "import boto\nfrom holdfast import boto3_free", []),
    ],
)
def test_the_rules_refuse_what_they_should_and_no_more(
    rule: Callable[[ast.Module], Found], code: str, lines: list[int]
) -> None:
    assert [line for line, _ in rule(ast.parse(code))] == lines
