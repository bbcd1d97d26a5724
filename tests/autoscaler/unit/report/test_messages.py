"""Every kind of event that the autoscaler writes has words, and an unknown one is told all the same."""

import ast
import re
from collections.abc import Iterator

from holdfast.autoscaler.report.messages import BAD, COST, GOOD, GRAVE, QUIET, WORDS, figures, reason, told
from holdfast.kernel import Event
from tests.tidy.repository import nodes, python, tree

KIND = re.compile(r"[a-z]+([A-Z][a-z]+)*")


def kinds_written() -> Iterator[str]:
    """The first argument of each `Event(…)`; behind a variable, the transitions that its function names."""
    for source in python("src/holdfast/autoscaler"):
        for function in (each for each in nodes(tree(source)) if isinstance(each, ast.FunctionDef)):
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and ast.unparse(call.func) == "Event":
                    kind = call.args[0]
                    if isinstance(kind, ast.Constant):
                        yield str(kind.value)
                    else:
                        yield from _transitions(function)


def _transitions(function: ast.FunctionDef) -> Iterator[str]:
    for each in ast.walk(function):
        if isinstance(each, ast.Constant) and isinstance(each.value, str) and "Scale" in each.value:
            yield each.value


def test_every_kind_that_is_written_has_words() -> None:
    written = set(kinds_written())

    assert {"beginScaleUp", "completeScaleDown", "failScaleUp", "terminating", "decision"} <= written
    assert {kind for kind in written if KIND.fullmatch(kind)} <= set(WORDS)
    assert set(WORDS) >= GOOD | BAD | GRAVE | QUIET


def test_the_transitions_of_the_seeds_have_words_of_their_own() -> None:
    transitions = (
        "beginScaleUp", "recordScaleUpInstances", "completeScaleUp", "failScaleUp", "beginScaleDown",
        "terminated", "completeScaleDown", "failScaleDown",
    )  # fmt: skip

    assert len({told(Event(kind, 0.0, "i-1")) for kind in transitions}) == len(transitions)


def test_an_unknown_kind_is_told_by_its_name() -> None:
    assert told(Event("inventedTomorrow", 0.0, "i-1")) == "inventedTomorrow i-1"
    assert told(Event("inventedTomorrow", 0.0)) == "inventedTomorrow"
    assert told(Event("joined", 0.0)) == "? joined"


def test_numbers_are_told_where_they_say_something() -> None:
    numbers = {
        "workers": 3,
        "size": 3,
        "unsatisfiable": 0,
        "pending": 2,
        "cpu": 0.715,
        COST: 0.0375,
        "untilEpoch": 9,
    }

    assert (
        figures(Event("decision", 0.0, numbers=numbers)) == "workers 3, pending 2, cpu 72%, $0.0375 an hour"
    )
    assert figures(Event("decision", 0.0, numbers={"workers": 3, "size": 5})) == "workers 3, size 5"


def test_a_reason_is_not_said_twice() -> None:
    assert reason(Event("joined", 0.0, "i-1", "i-1")) == ""
    assert reason(Event("joined", 0.0, "i-1", "node-1")) == "node-1"
