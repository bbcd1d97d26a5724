"""The contract is shown repositories with one guard taken out, and must refuse them.

Some guards stand behind each other: an event that is there already stops a write that the
version should have stopped.  A variant then takes out the whole wall, not one brick.
"""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.clock import new_id
from holdfast.adapters.sql.database import SqlDatabase
from holdfast.adapters.sql.groups import log, store
from holdfast.adapters.sql.sqlite.dialect import SqliteDialect
from holdfast.autoscaler.codec import CODEC, SUBJECT
from holdfast.autoscaler.record import Cluster
from holdfast.kernel import Conflict, Corrupt, Done, DriverPorts, Event, Versioned, Workflow, Write, driver
from holdfast.sim.memory import MemoryItems
from holdfast.testing import contract
from holdfast.testing.contract import Trial
from tests.adapters.contract import trials
from tests.adapters.contract.sql_trials import SqlGroupTrial
from tests.ministack import client_for
from tests.proof import prove
from tests.variants import broken

GROUPS = "holdfast.adapters.sql.groups"
DYNAMO = "holdfast.adapters.aws.dynamodb.items"


def breaks(promise: Callable[[Trial[Any]], None], trial: Any, name: str) -> None:
    """The promise must fail on this trial."""
    with pytest.raises((AssertionError, Conflict, Corrupt)):
        promise(trial)
    prove("variant", name, caught_by=f"contract: {promise.__name__}")


def groups_without(path: Path, monkeypatch: pytest.MonkeyPatch, **guards: dict[str, str]) -> Any:
    """A trial of groups in SQLite with guards taken out; the log no longer stands behind them."""
    if "log" in guards:
        monkeypatch.setattr(log, "may_write", broken(f"{GROUPS}.log", guards["log"]).may_write)
    if "write" in guards:
        monkeypatch.setattr(store, "WriteGroup", broken(f"{GROUPS}.write", guards["write"]).WriteGroup)

    def make(database: SqlDatabase) -> store.SqlGroupStore:
        texts = database._texts
        texts["tell"] = texts["tell"].replace("INSERT INTO", "INSERT OR IGNORE INTO")
        return store.SqlGroupStore(database)

    return SqlGroupTrial(lambda: SqliteDialect(str(path)), store=make)


NO_VERSION_CHECK = {"if stored == expected:": "if True:"}


def test_s4_a_promotion_whose_update_touched_no_row_is_committed_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    half = {
        '"stored": UNVERSIONED if self.stored.version is None else self.stored.version,': (
            '"stored": self.stored.expected,'
        ),
        "changed_n=changed_n) != 1:": "changed_n=changed_n) > 1:",
    }
    trial = groups_without(tmp_path / "s4.db", monkeypatch, log=NO_VERSION_CHECK, write=half)

    breaks(contract.a_stale_version_is_refused, trial, "S4: a stale promotion is committed in half")
    closed(trial)


def test_s5_the_version_of_the_group_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = groups_without(tmp_path / "s5.db", monkeypatch, log=NO_VERSION_CHECK)

    breaks(contract.racers_have_one_winner, trial, "S5: two promotions succeed one after the other")
    closed(trial)


def closed(trial: SqlGroupTrial) -> None:
    for database in trial.opened:
        database.close()


def dynamo(endpoint: str, trial: Any, changes: dict[str, str]) -> Any:
    """The same trial, on a variant of the DynamoDB repository."""
    shipped, items = trial.build, broken(DYNAMO, changes)

    def build(client: Any) -> Any:
        store = shipped(client)
        own = {name: each for name, each in vars(type(store)).items() if name in ("_named", "workers")}
        store.__class__ = type("Variant", (items.DynamoItems,), own)
        return store

    trial.build = build
    return trial


def test_s9_counts_guard_the_cap_instead_of_its_version(dynamodb_endpoint: str) -> None:
    trial = dynamo(
        dynamodb_endpoint,
        trials.dynamo_cap(lambda: client_for(dynamodb_endpoint)),
        {
            'for name in ("version", *self._codec.guarded_attributes)': (
                "for name in self._codec.guarded_attributes"
            ),
            "attribute_not_exists(sk)": "attribute_not_exists(nothing)",
        },
    )

    breaks(contract.a_stale_version_is_refused, trial, "S9: 30 → 60 → 30 passes with a stale plan")


def test_h9_a_late_retry_does_not_look_for_its_own_commit(dynamodb_endpoint: str) -> None:
    trial = dynamo(
        dynamodb_endpoint,
        trials.dynamo_cluster(lambda: client_for(dynamodb_endpoint)),
        {"if winner != commit_id:": "if winner is not None:"},
    )

    breaks(
        contract.a_late_repeat_knows_its_own,
        trial,
        "H9: after ten minutes our own write looks like a lost race",
    )


def winners(turn_of: Any) -> int:
    """How many of eight that write the same thing at once believe that they won."""
    store, lock, barrier = MemoryItems(CODEC), threading.Lock(), threading.Barrier(8)
    won: list[object] = []

    def step(cluster: Cluster, seen: None, now_s: float) -> Write[Cluster] | Done:
        return Write(Cluster(worker_count=1), (Event("counted", now_s),))

    workflow: Workflow[Cluster, None, Any] = Workflow(step, lambda *_: None)

    def commit(found: Versioned[Cluster], write: Write[Cluster], commit_id: str) -> Versioned[Cluster]:
        with lock:
            return store.commit(SUBJECT, found, write, commit_id)

    def look() -> None:
        barrier.wait()  # all have read before the first one writes

    ports: DriverPorts[Cluster, None, Any] = DriverPorts(
        read=lambda: store.read(SUBJECT),
        look=look,
        commit=commit,
        commit_id_at=lambda version: store.commit_id_at(SUBJECT, version),
        perform=lambda effects: [],
        now_s=lambda: 1.0,
        pause=lambda seconds: None,
        new_id=new_id,
        random=lambda: 1.0,
    )

    def race() -> None:
        try:
            won.append(turn_of.advance(ports, workflow))
        except Conflict:
            return

    racers = [threading.Thread(target=race) for _ in range(8)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    return len(won)


def test_h8_a_commit_id_derived_from_content_lets_every_writer_win() -> None:
    derived = broken(
        "holdfast.kernel.driver",
        {"commit_id = ports.new_id()": "commit_id = f'{hash(write)}'"},
    )

    assert winners(driver) == 1
    assert winners(derived) == 8
    prove("variant", "H8: a commit id derived from content lets all writers win", caught_by="a race of eight")
