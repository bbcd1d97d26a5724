"""The log in SQLite does not become larger for ever."""

from dataclasses import replace
from pathlib import Path

from holdfast.adapters.sql.sqlite import Database
from holdfast.adapters.sql.sqlite.database import FORGET_EVERY
from holdfast.app.autoscaler.stores import sqlite_cluster_store
from holdfast.autoscaler.record import Cluster
from holdfast.kernel import Event, Write
from holdfast.kernel.event import EVENTS_KEPT_S


def test_what_was_kept_long_enough_is_dropped_by_later_commits(tmp_path: Path) -> None:
    store = sqlite_cluster_store(Database(str(tmp_path / "state.db")))

    def commit(at_s: float, events: int) -> None:
        found = store.read("cluster")
        said = tuple(Event(f"told {n}", at_s) for n in range(events))
        store.commit("cluster", found, Write(replace(found.value, worker_count=int(at_s)), said), f"c{at_s}")

    for day in range(3):
        commit(day * 86_400, 4)
    for n in range(3, FORGET_EVERY):
        assert store.events("cluster")[0].version == 1
        commit(EVENTS_KEPT_S + 1.5 * 86_400 + n, 1)

    kept = [logged.version for logged in store.events("cluster")]
    assert kept == [3, 3, 3, 3, *range(4, FORGET_EVERY + 1)], "two days are over, and nothing else is missing"
    assert store.read("cluster").version == FORGET_EVERY
    assert (
        store.commit_id_at("cluster", FORGET_EVERY) == f"c{EVENTS_KEPT_S + 1.5 * 86_400 + FORGET_EVERY - 1}"
    )


def test_the_logs_of_others_are_left_alone(tmp_path: Path) -> None:
    store = sqlite_cluster_store(Database(str(tmp_path / "state.db")))
    for subject, at_s in (("cluster", 1.0), *[("other", 3.0 * EVENTS_KEPT_S)] * FORGET_EVERY):
        found = store.read(subject)
        write = Write(Cluster(worker_count=found.version), (Event("told", at_s),))
        store.commit(subject, found, write, f"of {subject} {found.version}")

    assert len(store.events("cluster")) == 1
