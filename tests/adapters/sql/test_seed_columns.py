"""Columns that the failover design names and that people read with SQL: here in SQLite."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.sql.database import SqlDatabase
from holdfast.adapters.sql.groups import SqlTenants
from holdfast.adapters.sql.sqlite.dialect import SqliteDialect
from holdfast.failover.group import Member
from holdfast.failover.roles import Status
from holdfast.testing.group_case import Case
from tests.adapters.contract.sql_trials import SqlStoreTrial


@dataclass
class Clock:
    now_s: float = 1_730_000_000.0

    def __call__(self) -> float:
        return self.now_s

    def wait(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state.db"


@pytest.fixture
def trial(path: Path) -> Iterator[SqlStoreTrial]:
    clock = Clock()
    made = SqlStoreTrial(lambda: SqliteDialect(str(path), now_s=clock), clock.wait)
    yield made
    made.close()


def read(path: Path, sql: str) -> list[Any]:
    with closing(sqlite3.connect(path)) as file:
        return file.execute(sql).fetchall()


def test_an_agent_is_online_while_its_primary_holds_a_lease(trial: SqlStoreTrial, path: Path) -> None:
    case = Case(trial)

    def status() -> str:
        case.store.set_due(case.subject, case.found.version, 1.0)
        ((found,),) = read(path, "SELECT status FROM agents")
        return str(found)

    assert status() == "offline", "no lease was ever granted"
    case.renew(case.beat("i-2"))
    assert status() == "offline", "a replica's heartbeat grants none"
    case.renew(case.beat())
    assert status() == "online"
    trial.wait(trial.term.kept_s + 0.01)
    assert status() == "offline", "the lease is out"


def test_what_is_terminated_keeps_its_row_and_counts_as_no_zombie(trial: SqlStoreTrial, path: Path) -> None:
    case = Case(trial)
    tenants = SqlTenants(SqlDatabase(SqliteDialect(str(path), now_s=Clock())))
    group = case.found.value
    zombie = Member(instance_id="i-2", status=Status.ZOMBIE, demoted_at_s=1.0)
    case.put(replace(group, members=(group.members[0], zombie)))
    primary = ((case.client_id, "running_primary"), 1)
    assert tenants.status_counts() == dict([primary, ((case.client_id, "zombie"), 1)])

    case.put(replace(group, members=(group.members[0],)))

    assert tenants.status_counts() == dict([primary, ((case.client_id, "terminated"), 1)])
    rows = read(path, "SELECT id, instance_status, terminated_at IS NOT NULL FROM instances ORDER BY id")
    assert rows == [("i-1", "running_primary", 0), ("i-2", "terminated", 1)]
    tenants.database.close()
