"""Heartbeats are stored many at a time, and one that fails costs the others nothing."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from holdfast.failover.ports import Beat, Grant, Report, Term
from holdfast.kernel import Busy
from holdfast.server.heartbeats import BATCH_MAX, Heartbeats

TERM = Term(10.0)


def beat(name: str) -> Beat:
    return Beat("shop", "db", name, "session", 1, Report())


class Store:
    """Renews what it is told to; keeps what it was asked."""

    def __init__(self, refuses: Callable[[Sequence[Beat]], bool] = lambda beats: False) -> None:
        self.batches: list[list[str]] = []
        self.gate = threading.Event()
        self._refuses = refuses

    def renew(self, beats: Sequence[Beat], term: Term) -> Sequence[Grant]:
        self.gate.wait(10)
        self.batches.append([each.instance_id for each in beats])
        if self._refuses(beats):
            raise Busy("a row is locked")
        return [Grant(instance_id=each.instance_id, known=True) for each in beats]


def run(store: Any, *names: str) -> list[Grant | BaseException]:
    """Send all of them at once, and say what became of each."""

    async def all_at_once() -> list[Grant | BaseException]:
        heartbeats = Heartbeats(store, TERM, lambda beats, grants: None)
        heartbeats.start(asyncio.get_running_loop())
        tasks = [asyncio.create_task(heartbeats.beat(beat(name))) for name in names]
        await asyncio.sleep(0)
        store.gate.set()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        heartbeats.stop()
        return found

    return asyncio.run(all_at_once())


def test_each_is_answered_with_its_own_grant() -> None:
    names = [f"i-{n}" for n in range(200)]
    grants = run(Store(), *names)
    assert [grant.instance_id for grant in grants if isinstance(grant, Grant)] == names


def test_what_gathers_during_a_commit_is_stored_together() -> None:
    store = Store()
    run(store, *(f"i-{n}" for n in range(500)))
    assert len(store.batches) <= 2, "the first one alone at most, then all that waited"


def test_a_batch_has_an_upper_limit() -> None:
    store = Store()
    run(store, *(f"i-{n}" for n in range(BATCH_MAX + 5)))
    assert max(map(len, store.batches)) <= BATCH_MAX


def test_one_locked_row_costs_only_its_own_instance_the_lease() -> None:
    store = Store(refuses=lambda beats: any(each.instance_id == "i-13" for each in beats))
    found = run(store, *(f"i-{n}" for n in range(40)))
    refused = [n for n, answer in enumerate(found) if isinstance(answer, Busy)]
    assert refused == [13]


def test_a_row_that_was_skipped_is_no_answer() -> None:
    """Were it one, its agent would take "no lease" for a revocation, and stop a healthy service."""

    class Skipping(Store):
        def renew(self, beats: Sequence[Beat], term: Term) -> Sequence[Grant]:
            return [replace(grant, stored=grant.instance_id != "i-3") for grant in super().renew(beats, term)]

    found = run(Skipping(), *(f"i-{n}" for n in range(5)))
    assert [n for n, answer in enumerate(found) if isinstance(answer, Busy)] == [3]


def test_a_database_that_is_away_is_not_asked_a_thousand_times(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = iter(range(0, 10_000, 3))
    monkeypatch.setattr("holdfast.server.heartbeats.time.monotonic", lambda: float(next(now_s)))
    store = Store(refuses=lambda beats: True)
    found = run(store, *(f"i-{n}" for n in range(300)))
    assert all(isinstance(answer, Busy) for answer in found)
    assert len(store.batches) <= 3


def test_a_defect_in_one_batch_does_not_end_the_thread() -> None:
    class Broken(Store):
        def renew(self, beats: Sequence[Beat], term: Term) -> Sequence[Grant]:
            if not self.batches:
                self.batches.append([])
                raise ZeroDivisionError
            return super().renew(beats, term)

    async def twice() -> None:
        store: Any = Broken()
        store.gate.set()
        heartbeats = Heartbeats(store, TERM, lambda beats, grants: None)
        heartbeats.start(asyncio.get_running_loop())
        with pytest.raises(ZeroDivisionError):
            await heartbeats.beat(beat("i-1"))
        assert (await heartbeats.beat(beat("i-1"))).known
        heartbeats.stop()

    asyncio.run(twice())


def test_a_stopping_server_sends_new_ones_away() -> None:
    async def late() -> None:
        store: Any = Store()
        heartbeats = Heartbeats(store, TERM, lambda beats, grants: None)
        heartbeats.start(asyncio.get_running_loop())
        heartbeats.stop()
        with pytest.raises(Busy):
            await heartbeats.beat(beat("i-1"))

    asyncio.run(late())
