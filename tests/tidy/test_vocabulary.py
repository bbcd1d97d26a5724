"""The field's words: what Kubernetes, AWS and database people have a word for is called by it.

The first column is what we once said; the second is what the field says.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tidy.repository import Source, assert_none, nodes, python, sources, tree

EVERYWHERE = {
    "growth": "scale-up",
    "growths": "scale-ups",
    "grow": "scale up",
    "grows": "scales up",
    "growing": "scaling up",
    "shrink": "scale-down",
    "shrinks": "scales down",
    "shrinking": "scaling down",
    "thrift": "advisory lock",
    "thrifty": "advisory lock",
    "weighing": "scheduling",
    "hopeless": "unsatisfiable",
    "homeless": "unplaceable",
    "doomed": "interrupted",
    "doom": "interruption",
    "tookBack": "reclaimed",
    "spared": "noticeExpired",
    "berth": "LaunchSlot",
    "berths": "launch slots",
    "sorted_out": "translate_errors",
    "carry_out": "execute",
    "exhibit": "MetricsCollector",
    "ticked": "TickResult",
    "witness": "ReadinessCheck",
    "checkup": "doctor",
    "dice": "random",
    "sight": "snapshot",
    "whoever": "a subject: the tick, the operator, another process",
    "somebody": "a subject: the tick, the operator, another process",
    "nobody": "a subject: the tick, the operator, another process",
}
"""Neither in code nor in documents, whatever the case of their letters."""

NAMES = {
    "Hands": "DriverPorts",
    "Crew": "Executor",
    "Raw": "Listings",
    "see": "build",
    "Scales": "Simulation",
    "Alike": "PodGroup",
    "Filling": "NodeBin",
    "intend": "launch_plan",
    "goods": "catalog",
    "ending": "terminate",
    "meaning": "errors",
    "lift": "remedy",
    "paper": "render",
    "telling": "messages",
    "Kept": "Stores",
    "stated": "guarded_attributes",
    "whose": "commit_id_at",
    "me": "owner",
    "removal": "scale_down",
}
"""English words that are fine in a sentence, and not as a name of ours."""

KINDS = {
    "stamped": "conditionChanged",
    "kept": "drainSkipped",
    "doomed": "interrupted",
    "condemned": "terminating",
    "markScaleDownInstanceDone": "terminated",
}
"""Texts of their own that were stored as kinds of events."""

ANYWHERE = re.compile(rf"(?<![A-Za-z])({'|'.join(EVERYWHERE)})(?![a-z])", re.IGNORECASE)
WORDS = {word.lower(): said for word, said in EVERYWHERE.items()}
READ = {".md", ".py", ".sh", ".sql", ".svg", ".toml", ".yaml"}


def read() -> Iterator[Source]:
    """What people read of us: the product and its documents."""
    roots = ("src/", "docs/", "deploy/", "examples/")
    for source in sources():
        if source.suffix in READ and (source.name.startswith(roots) or "/" not in source.name):
            yield source


def words_in(source: Source) -> Iterator[str]:
    for n, line in enumerate(source.text.splitlines(), 1):
        for match in ANYWHERE.finditer(line):
            yield f"{source.name}:{n}: {match[0]}: the field says {WORDS[match[1].lower()]!r}"


def names_in(module: ast.Module) -> Iterator[tuple[int, str]]:
    """What is defined, imported, passed or assigned under one of these names."""
    for node in nodes(module):
        for name in _names_of(node):
            if name in NAMES:
                yield getattr(node, "lineno", 0), f"{name}: the field says {NAMES[name]}"


def _names_of(node: ast.AST) -> tuple[str, ...]:
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return (name,)
        case ast.Name(id=name) | ast.arg(arg=name) | ast.Attribute(attr=name):
            return (name,)
        case ast.keyword(arg=str(name)):
            return (name,)
        case ast.alias(name=name, asname=asname):
            return (name.rpartition(".")[2], asname or "")
    return ()


def kinds_in(module: ast.Module) -> Iterator[tuple[int, str]]:
    for node in nodes(module):
        if isinstance(node, ast.Constant) and node.value in KINDS:
            yield node.lineno, f"{node.value!r}: the kind is {KINDS[node.value]!r}"


def test_no_word_of_our_own_stands_for_a_thing_of_the_field() -> None:
    assert_none(found for source in read() for found in words_in(source))


def test_no_name_of_ours_is_one_of_these_words() -> None:
    assert_none(
        f"{source.name}:{line}: {said}" for source in python("src") for line, said in names_in(tree(source))
    )


def test_no_module_is_called_by_one_of_these_words() -> None:
    words = {*EVERYWHERE, *NAMES, "reading", "answers"}
    assert_none(source.name for source in python("src") if Path(source.name).stem in words)


def test_no_stored_kind_is_one_of_these_words() -> None:
    assert_none(
        f"{source.name}:{line}: {said}" for source in python("src") for line, said in kinds_in(tree(source))
    )


@pytest.mark.parametrize(
    ("text", "caught"),
    [
        ("the fleet grows", 1),
        ("holdfast_doomed 3", 1),
        ("Nobody knows", 1),
        ("_growth = 1", 1),
        ("aggrowth, sights, dicey", 0),
        ("the scale-up is complete", 0),
    ],
)
def test_words_are_found_inside_names_and_at_the_beginning_of_sentences(text: str, caught: int) -> None:
    assert len(list(words_in(Source("docs/a.md", text)))) == caught


def test_names_and_kinds_are_found() -> None:
    module = ast.parse("from a import meaning\ndef see(me): ...\nx.lift = 'kept'\nf(whose=1)\n")
    assert sorted(line for line, _ in names_in(module)) == [1, 2, 2, 3, 4]
    assert [line for line, _ in kinds_in(module)] == [3]
