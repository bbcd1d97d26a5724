"""The log in SQLite does not grow for ever."""

from dataclasses import replace
from pathlib import Path

from holdfast.adapters.sqlite import Database, cluster_store
from holdfast.autoscaler.record import Cluster
from holdfast.kernel import Event, Write
from holdfast.kernel.event import EVENTS_KEPT_S


def test_what_was_kept_long_enough_is_dropped_by_those_who_come_later(tmp_path: Path) -> None:
    store = cluster_store(Database(str(tmp_path / "state.db")))

    def commit(at_s: float, events: int) -> None:
        found = store.read("cluster")
        said = tuple(Event(f"told {n}", at_s) for n in range(events))
        store.commit("cluster", found, Write(replace(found.value, worker_count=int(at_s)), said), f"c{at_s}")

    for day in range(3):
        commit(day * 86_400, 4)
    commit(EVENTS_KEPT_S, 1)
    assert [e.version for e in store.events("cluster")].count(1) == 4, "that is the very age to be kept"
    for n in range(1, 7):
        commit(EVENTS_KEPT_S + 1.5 * 86_400 + n, 1)

    kept = [logged.version for logged in store.events("cluster")]
    assert kept == [3, 3, 3, 3, 4, 5, 6, 7, 8, 9, 10], "two days are over, and nothing else is missing"
    assert store.read("cluster").version == 10
    assert store.whose("cluster", 10) == f"c{EVENTS_KEPT_S + 1.5 * 86_400 + 6}"


def test_the_logs_of_others_are_left_alone(tmp_path: Path) -> None:
    store = cluster_store(Database(str(tmp_path / "state.db")))
    for subject, at_s in (("cluster", 1.0), ("other", 3.0 * EVENTS_KEPT_S)):
        write = Write(Cluster(worker_count=1), (Event("told", at_s),))
        store.commit(subject, store.read(subject), write, f"of {subject}")

    assert len(store.events("cluster")) == 1
