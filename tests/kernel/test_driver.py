"""The loop: what a lost answer, a lost race and a busy store do to a turn."""

from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from holdfast.kernel import (
    Busy,
    Conflict,
    Do,
    Done,
    DriverPorts,
    Event,
    Happened,
    Outcome,
    Unknown,
    Versioned,
    Workflow,
    Write,
    advance,
)
from holdfast.kernel.driver import NOTE_TRIES_MAX

HAPPENED: Outcome = Happened(None)


class Store:
    """One number, with a script of what becomes of the next commits."""

    def __init__(self, *fates: str) -> None:
        self.value, self.version, self.fates = 0, 0, list(fates)
        self.ids: dict[int, str] = {}
        self.pauses: list[float] = []

    def commit(self, found: Versioned[int], write: Write[int], commit_id: str) -> Versioned[int]:
        fate = self.fates.pop(0) if self.fates else "works"
        if fate == "busy":
            raise Busy("throttled")
        if fate == "lost before":
            raise Unknown("no connection")
        if fate.startswith("another wins"):
            self.put(self.value, "another")
        if fate == "another wins, our answer lost":
            raise Unknown("no answer")
        if found.version != self.version:
            raise Conflict("stale")
        self.put(write.value, commit_id)
        if fate == "lost after":
            raise Unknown("no answer")
        return Versioned(self.value, self.version, commit_id)

    def put(self, value: int, commit_id: str) -> None:
        self.version += 1
        self.value, self.ids[self.version] = value, commit_id

    def ports(self, outcome: Outcome = HAPPENED) -> DriverPorts[int, None, str]:
        ids = (f"commit-{n}" for n in count())
        return DriverPorts(
            read=lambda: Versioned(self.value, self.version, self.ids.get(self.version, "")),
            look=lambda: None,
            commit=self.commit,
            commit_id_at=self.ids.get,
            perform=lambda effects: [outcome for _ in effects],
            now_s=lambda: 5.0,
            pause=self.pauses.append,
            new_id=lambda: next(ids),
            random=lambda: 1.0,
        )


def written(value: int) -> Write[int]:
    return Write(value, (Event("set", 5.0),))


WRITES: Workflow[int, None, str] = Workflow(
    step=lambda value, seen, now_s: Done() if value else written(1), settle=lambda *_: None
)
ACTS: Workflow[int, None, str] = Workflow(
    step=lambda value, seen, now_s: Do(("effect",)),
    settle=lambda value, effect, outcome, now_s: written(value + 1) if outcome == HAPPENED else None,
)


def test_a_lost_answer_to_our_own_write_is_done() -> None:
    store = Store("lost after")

    assert advance(store.ports(), WRITES) == written(1)
    assert (store.value, store.version) == (1, 1)


def test_a_lost_answer_to_anothers_win_is_a_lost_race() -> None:
    with pytest.raises(Conflict, match="version 1 is another's"):
        advance(Store("another wins, our answer lost").ports(), WRITES)


def test_a_lost_answer_that_the_log_cannot_explain_stays_unknown() -> None:
    with pytest.raises(Unknown):
        advance(Store("lost before").ports(), WRITES)


def test_news_of_an_effect_survive_lost_races_lost_answers_and_a_busy_store() -> None:
    store = Store("another wins", "busy", "lost before", "busy", "works")

    advance(store.ports(), ACTS)

    assert store.value == 1
    assert store.pauses == [0.05, 0.1, 0.2], "it waits a little longer each time, but not after a lost race"


def test_a_store_that_stays_busy_is_not_asked_for_ever() -> None:
    store = Store(*["busy"] * (NOTE_TRIES_MAX + 5))

    with pytest.raises(Busy, match="could not note effect"):
        advance(store.ports(), ACTS)


def test_a_read_that_fails_does_not_lose_the_news() -> None:
    store = Store()
    ports = store.ports()
    failing = iter([Busy("throttled"), Unknown("no answer")])
    turns = iter([False, True, True, False])  # the first read of the turn works, two of the notes do not

    def read() -> Versioned[int]:
        if next(turns, False):
            raise next(failing)
        return ports.read()

    advance(replace(ports, read=read), ACTS)

    assert store.value == 1


def test_news_that_cannot_be_noted_do_not_hold_up_the_others() -> None:
    two: Workflow[int, None, str] = Workflow(
        step=lambda value, seen, now_s: Do(("first", "second")),
        settle=lambda value, effect, outcome, now_s: written(value + 1),
    )
    store = Store(*["busy"] * NOTE_TRIES_MAX)

    with pytest.raises(Busy, match="could not note first"):
        advance(store.ports(), two)

    assert store.value == 1, "the second effect was noted all the same"


def test_an_effect_whose_outcome_is_unknown_is_settled_as_unknown() -> None:
    store = Store()

    advance(store.ports(outcome=Unknown("no answer")), ACTS)

    assert store.version == 0, "this workflow notes only what certainly happened"


def test_a_write_without_an_event_cannot_exist() -> None:
    with pytest.raises(ValueError, match="1 to 99 events, not 0"):
        Write(1, ())


def test_a_write_with_too_many_events_cannot_exist() -> None:
    events: Any = (Event("set", 5.0),) * 100
    with pytest.raises(ValueError, match="not 100"):
        Write(1, events)
