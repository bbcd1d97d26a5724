"""A table that was restored to an earlier point while its log was not: the record goes on behind the log."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.autoscaler.codec import CODEC
from holdfast.kernel import Conflict, Corrupt, Event, Versioned, Write
from tests.adapters.contract import samples, trials
from tests.ministack import client_for
from tests.proof import prove
from tests.variants import broken

SQLITE = "holdfast.adapters.sql.sqlite.items"


SAID = (CODEC, samples.CLUSTERS, samples.CLUSTER_ABSURDITIES, samples.CLUSTER_GUARDED)


@pytest.fixture(params=["memory", "sqlite", "dynamodb"])
def trial(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "memory":
        yield trials.MemoryTrial(*SAID)
    elif request.param == "sqlite":
        made = trials.SqliteTrial(str(tmp_path / "state.db"), *SAID)
        yield made
        closed(made)
    else:
        endpoint = request.getfixturevalue("dynamodb_endpoint")
        yield trials.dynamo_cluster(lambda: client_for(endpoint))


def closed(trial: trials.SqliteTrial[Any]) -> None:
    for database in trial.opened:
        database.close()


def put(trial: Any, store: Any, n: int, found: Versioned[Any] | None = None) -> int:
    before = found or store.read(trial.subject)
    write = Write(trial.samples[n], (Event("changed", 1.0),))
    done: Versioned[Any] = store.commit(trial.subject, before, write, trial.new_id())
    return done.version


def goes_on(trial: Any) -> None:
    """Refused once; then it goes on, and nothing in the log is lost."""
    first = trial.open()
    put(trial, first, 0)
    yesterday = dict(trial.stored())
    for n in (1, 2, 1):
        put(trial, first, n)
    trial.plant("version", yesterday["version"])
    store = trial.open()
    found = store.read(trial.subject)
    assert (found.version, found.restored_from) == (1, None), "a read alone does not show it"
    with pytest.raises(Conflict):
        put(trial, store, 2, found)

    again = store.read(trial.subject)

    assert (again.version, again.restored_from) == (4, 1)
    assert put(trial, store, 2, again) == 5
    assert store.read(trial.subject).restored_from is None
    assert [logged.version for logged in store.events(trial.subject)] == [1, 2, 3, 4, 5]


def test_it_is_refused_once_and_then_goes_on_and_nothing_in_the_log_is_lost(trial: Any) -> None:
    goes_on(trial)


def test_a_lost_race_is_not_taken_for_a_restored_record(trial: Any) -> None:
    store = trial.open()
    put(trial, store, 0)
    old = store.read(trial.subject)
    put(trial, trial.open(), 1)
    with pytest.raises(Conflict):
        put(trial, store, 2, old)

    assert store.read(trial.subject).restored_from is None


OVERWRITES = """\
                db.execute("DELETE FROM events WHERE version = ?", (version,))
                self.database.tell(db"""
VARIANTS = {
    "bad day: a record that was put back is not looked for in its log": {
        "if self.database.is_told(db, self.collection, subject, version):": "if False:"
    },
    "bad day: a record that was put back is refused for ever": {"self._behind.add(subject)": "pass"},
    "bad day: a record that was put back goes on over its own log": {
        "                self.database.tell(db": OVERWRITES,
        "if self.database.is_told(db, self.collection, subject, version):": "if False:",
    },
}


@pytest.mark.parametrize("title", VARIANTS)
def test_a_file_without(title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "SqliteItems", broken(SQLITE, VARIANTS[title]).SqliteItems)
    trial = trials.SqliteTrial(str(tmp_path / "state.db"), *SAID)

    with pytest.raises((AssertionError, Conflict, Corrupt, pytest.fail.Exception)):
        goes_on(trial)
    closed(trial)
    prove("variant", title, caught_by="a restored record")
