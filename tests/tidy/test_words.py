"""Words that say nothing, words that promise something for later, and places that only one machine has."""

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.tidy.repository import ROOT, Source, assert_none, nodes, python, refused, sources

LATER = re.compile(r"\b(TODO|FIXME|XXX)\b")
EMPTY = re.compile(r"(Manager|Helper|Util|Utils|Utility|Utilities)s?$")
EMPTY_FILES = re.compile(r"^(utils?|utilities|helpers?|managers?|misc|common)$")

OF_ONE_MACHINE = re.compile(r"(?<![\w.$%}])/(work|root|home/\w+|Users/\w+)(?![\w-])")
REGISTRY_NAMES = (
    "pypi",
    "pythonhosted",
    "npmjs",
    "yarnpkg",
    "rubygems",
    "anaconda",
    "crates",
    "debian",
    "maven",
)
REGISTRIES = re.compile(
    # Spelt without a whole address, so that this file names none either.
    rf"//[\w.-]*\b({'|'.join(REGISTRY_NAMES)})\.(org|com|io)\b|\b(proxy|sum)\.golang\."
)

ALLOWED = {
    ("docs/parts/boot.md", "/root"): "a folder of every such machine, named among the others",
    ("tools/parts/boot/sandbox.py", "/root"): "the home of root on a simulated machine, in its own files",
}
"""File and words that stand there for a reason."""

THIS = Path(__file__).relative_to(ROOT).as_posix()
"""Not judged here: it has to spell what it forbids."""


def found(pattern: re.Pattern[str], files: Iterable[Source], fix: str) -> Iterator[str]:
    for source in files:
        if source.name == THIS:
            continue
        for n, line in enumerate(source.text.splitlines(), 1):
            for match in pattern.finditer(line):
                if (source.name, match[0]) not in ALLOWED:
                    yield f"{source.name}:{n}: {match[0]}: {fix}"


def empty_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    for node in nodes(tree):
        if isinstance(node, ast.ClassDef) and EMPTY.search(node.name):
            yield node.lineno, f"{node.name} says nothing: name what it is"


def test_nothing_is_left_for_later() -> None:
    written = (source for source in sources() if source.suffix not in {".sum", ".lock"})
    assert_none(found(LATER, written, "do it now, or leave it"))


def test_no_file_names_a_place_that_only_one_machine_has() -> None:
    assert_none(
        found(OF_ONE_MACHINE, sources(), "take the place from an argument, a setting or the file's own place")
    )


def test_no_file_names_a_package_registry() -> None:
    assert_none(found(REGISTRIES, sources(), "the installer's own settings say where packages come from"))


def test_class_names_say_what_the_thing_is() -> None:
    assert_none(refused(empty_names, python()))


def test_file_names_say_what_is_in_the_file() -> None:
    assert_none(source.name for source in python() if EMPTY_FILES.match(Path(source.name).stem))


def test_no_exception_outlives_its_reason() -> None:
    texts = {source.name: source.text for source in sources()}
    assert_none(
        f"{name} no longer says {words}" for name, words in ALLOWED if words not in texts.get(name, "")
    )


@pytest.mark.parametrize(
    ("pattern", "text", "caught"),
    [
        (LATER, "# TODO: later", True),
        (LATER, "mktemp /tmp/fooXXXXXX", False),
        (EMPTY, "LeaseManager", True),
        (EMPTY, "Managed", False),
        (OF_ONE_MACHINE, "cd /work/project", True),
        (OF_ONE_MACHINE, 'open("/root/x")', True),
        (OF_ONE_MACHINE, "see file:///home/me/x", True),
        (OF_ONE_MACHINE, "/mnt/work/$1 $HOME/work {folder}/work ../work", False),
        (OF_ONE_MACHINE, "POST /workers, GET /work-list", False),
        (REGISTRIES, f"https://{REGISTRY_NAMES[0]}.org/simple", True),
        (REGISTRIES, f'"resolved": "https://registry.{REGISTRY_NAMES[2]}.org/preact"', True),
        (REGISTRIES, "golang.org/x/sync v0.19.0", False),
    ],
)
def test_the_patterns_catch_what_they_should_and_no_more(
    pattern: re.Pattern[str], text: str, caught: bool
) -> None:
    assert bool(pattern.search(text)) == caught


def test_faults_are_told_with_file_line_word_and_fix() -> None:
    source = Source("src/a.py", "fine\n# TODO: later\n")
    assert list(found(LATER, [source], "do it")) == ["src/a.py:2: TODO: do it"]
    assert [line for line, _ in empty_names(ast.parse("\nclass CapHelper: ..."))] == [2]
