"""H21: the clock of a SQLite file is the machine's time since boot; no step of the time of day moves it."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from holdfast.adapters.sql.database import SqlDatabase
from holdfast.adapters.sql.groups import SqlGroupStore
from holdfast.adapters.sql.sqlite import clock, dialect
from holdfast.adapters.sql.sqlite.dialect import SqliteDialect
from holdfast.failover.group import Group, Member
from holdfast.failover.ports import Beat, Report, Term
from holdfast.failover.roles import Status
from holdfast.kernel import Event, Write
from tests.proof import prove
from tests.variants import broken

TERM = Term(10.0)


class Machine:
    """Its two clocks, and its boot."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.day_s, self.since_boot_s, self.boot = 1_790_000_000.0, 500.0, "boot-1"
        monkeypatch.setattr(time, "time", lambda: self.day_s)
        monkeypatch.setattr(dialect, "since_boot_s", lambda: self.since_boot_s)
        monkeypatch.setattr(dialect, "boot_id", lambda: self.boot)
        monkeypatch.setattr(clock.set_clock, "__defaults__", (lambda: self.since_boot_s,))

    def pass_s(self, seconds: float) -> None:
        self.day_s += seconds
        self.since_boot_s += seconds


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(monkeypatch)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


def opened(path: Path) -> SqlGroupStore:
    return SqlGroupStore(SqlDatabase(SqliteDialect(str(path))))


def with_a_lease(path: Path) -> SqlGroupStore:
    store = opened(path)
    member = Member(instance_id="i-1", status=Status.PRIMARY)
    write = Write(Group(client_id="c", agent_id="a", epoch=1, members=(member,)), (Event("x", 1.0),))
    store.commit("c/a", store.read("c/a"), write, "first")
    store.take_session("c/a", "i-1", "s", "b")
    store.renew([Beat("c", "a", "i-1", "s", 1, Report())], TERM)
    return store


def left_s(store: SqlGroupStore) -> float:
    look = store.look("c/a")
    return look.rows[0].lease_until_s - look.now_s


def test_a_step_of_the_time_of_day_ends_no_lease(machine: Machine, path: Path) -> None:
    store = with_a_lease(path)
    machine.day_s += 3_600
    assert left_s(store) == pytest.approx(10.1)
    with closing(opened(path).database) as another:
        assert left_s(SqlGroupStore(another)) == pytest.approx(10.1), "another process has the same clock"
    machine.pass_s(4.0)
    assert left_s(store) == pytest.approx(6.1)
    store.database.close()


def test_h21_a_store_that_asks_the_time_of_day_finds_every_lease_over(machine: Machine, path: Path) -> None:
    with_a_lease(path).database.close()
    machine.day_s += 3_600
    with closing(SqlDatabase(SqliteDialect(str(path), now_s=lambda: machine.day_s))) as database:
        assert left_s(SqlGroupStore(database)) < 0
    prove("variant", "H21: leases are judged by the time of day", caught_by="a step of an hour")


def test_leases_of_another_boot_last_once_more_from_their_first_sight(machine: Machine, path: Path) -> None:
    store = with_a_lease(path)
    machine.pass_s(3.0)
    store.renew([Beat("c", "a", "i-1", "s", 1, Report())], TERM)
    store.database.close()
    machine.boot, machine.since_boot_s = "boot-2", 7.0
    machine.day_s += 3_600  # the time of day was wrong, before or after

    again = opened(path)
    assert left_s(again) == pytest.approx(10.1)
    machine.pass_s(2.0)
    with closing(opened(path).database) as another:
        assert left_s(SqlGroupStore(another)) == pytest.approx(8.1), "not granted anew a second time"
    again.database.close()


def test_leases_that_are_not_granted_anew_are_over_after_a_boot(machine: Machine, path: Path) -> None:
    with_a_lease(path).database.close()
    forgetful = broken(clock.__name__, {'db.execute(GRANT_ANEW, {"now_s": now_s})': "pass"})
    machine.boot, machine.since_boot_s, machine.day_s = "boot-2", 7.0, machine.day_s + 60
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        forgetful.set_clock(db, "boot-2", lambda: machine.since_boot_s)

    store = opened(path)
    assert left_s(store) < 0
    store.database.close()
    prove("variant", "H21: leases of another boot are not granted anew", caught_by="a boot within a lease")
