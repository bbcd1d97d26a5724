"""Every kind of event has words and a severity, and an unknown one is told all the same."""

import ast
from collections.abc import Iterator

import pytest

from holdfast.autoscaler.events import AutoscalerEvent
from holdfast.autoscaler.report.messages import COST, SAVES, figures, kinds_called, reason, severity, told
from holdfast.kernel import Event, Severity
from tests.tidy.repository import nodes, python, tree


def kinds_in_text() -> Iterator[str]:
    """Where a kind is written as a text of its own, outside the table."""
    for source in python("src/holdfast/autoscaler"):
        for call in nodes(tree(source)):
            if not isinstance(call, ast.Call) or ast.unparse(call.func) != "Event":
                continue
            if isinstance(call.args[0], ast.Constant):
                yield f"{source.name}:{call.lineno}: {call.args[0].value!r}"


def test_every_kind_that_is_written_stands_in_the_table() -> None:
    assert not list(kinds_in_text())


def test_no_two_kinds_are_told_in_the_same_words() -> None:
    assert len({kind.told("i-1") for kind in AutoscalerEvent}) == len(AutoscalerEvent)


@pytest.mark.parametrize("kind", AutoscalerEvent)
def test_a_kind_is_found_by_its_stored_name_and_by_the_words_that_are_printed(kind: AutoscalerEvent) -> None:
    for words in (kind.value, kind.told("i-0123abc"), kind.sentence.replace("{about}", "")):
        assert kinds_called(words) == {kind.value}, words


def test_a_hint_is_not_told_as_certain_and_what_has_gone_not_as_still_to_come() -> None:
    said = {
        why: told(Event(AutoscalerEvent.INTERRUPTED, 1.0, about="i-1", reason=why))
        for why in ("interruption", "rebalance", "gone")
    }

    assert said == {
        "interruption": "i-1 will be taken back",
        "rebalance": "i-1 may be taken back",
        "gone": "i-1 was taken back",
    }
    assert {kinds_called(words) for words in said.values()} == {frozenset({"interrupted"})}


def test_words_that_mean_no_kind_find_none() -> None:
    assert kinds_called("condemmed") == frozenset()


def test_an_event_of_a_newer_release_has_a_severity_too() -> None:
    assert severity(Event("inventedTomorrow", 0.0)) is Severity.INFO
    assert severity(Event("failScaleUp", 0.0)) is Severity.ERROR


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


def test_what_is_saved_is_told_in_dollars() -> None:
    saves = Event(AutoscalerEvent.BEGIN_SCALE_DOWN, 0.0, numbers={"workers": 4, SAVES: 0.0125})
    assert figures(saves) == "workers 4, saves $0.0125 an hour"


def test_when_a_node_was_drained_is_told_as_people_tell_times() -> None:
    times = [figures(Event(AutoscalerEvent.DRAINED, 0.0, numbers={"before_s": s})) for s in (92.54, -5.0)]
    assert times == ["1m33s before its time", "5 s after its time"]
