"""What one note may hold, and when two outcomes are the same."""

import pytest

from holdfast.kernel import Busy, Conflict, Event, Happened, Outcome, Unknown, Workflow, Write
from holdfast.kernel.driver import outcome_of, settle_all
from holdfast.kernel.write import EVENTS_MAX

HAPPENED: Outcome = Happened(None)


def telling(events: int) -> Workflow[int, None, str]:
    """Each effect adds one, and is told by so many events; `quiet` ones by none."""

    def settle(record: int, effect: str, outcome: Outcome, now_s: float) -> Write[int] | None:
        if effect == "quiet":
            return None
        return Write(record + 1, tuple(Event("told", now_s, about=effect) for _ in range(events)))

    return Workflow(step=lambda record, seen, now_s: Write(record, ()), settle=settle)


@pytest.mark.parametrize(("events", "fit"), [(1, EVENTS_MAX), (2, EVENTS_MAX // 2), (3, EVENTS_MAX // 3)])
def test_as_much_is_noted_at_once_as_one_commit_holds(events: int, fit: int) -> None:
    news = [(f"effect-{n}", HAPPENED) for n in range(EVENTS_MAX + 5)]

    noted, write = settle_all(telling(events), 0, news, 1.0)

    assert noted == fit
    assert write is not None
    assert (write.value, len(write.events)) == (fit, fit * events)
    assert len(write.events) <= EVENTS_MAX


def test_what_exactly_fits_is_noted_whole_and_what_is_quiet_costs_nothing() -> None:
    news = [("quiet", HAPPENED), *((f"effect-{n}", HAPPENED) for n in range(EVENTS_MAX)), ("quiet", HAPPENED)]

    noted, write = settle_all(telling(1), 0, news, 1.0)

    assert noted == len(news)
    assert write is not None
    assert write.value == EVENTS_MAX
    assert settle_all(telling(1), 0, [("quiet", HAPPENED)], 1.0) == (1, None)


@pytest.mark.parametrize("error", [Conflict("stale"), Busy("throttled"), Unknown("no answer")])
def test_an_outcome_is_no_exception(error: Conflict | Busy | Unknown) -> None:
    def fails(effect: str) -> object:
        raise error

    assert outcome_of(fails, "effect") is error
    assert outcome_of(lambda effect: effect.upper(), "effect") == Happened("EFFECT")


def test_outcomes_are_the_same_by_kind_and_words() -> None:
    assert Busy("throttled") == Busy("throttled")
    assert Busy("throttled") != Unknown("throttled")
    assert Busy("throttled") != Busy("no answer")
    assert Busy("throttled") != "throttled"
