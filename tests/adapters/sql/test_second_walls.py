"""Guards of single statements, by themselves: what stands before them would else hide that they are gone."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from holdfast.adapters.sql.connection import Failure, Trouble
from holdfast.adapters.sql.database import SqlDatabase
from holdfast.adapters.sql.groups import SqlGroupStore
from holdfast.adapters.sql.groups.batch import values_of
from holdfast.adapters.sql.groups.codec import group_body, member_body
from holdfast.adapters.sql.groups.promote import promote
from holdfast.adapters.sql.sqlite.dialect import SqliteDialect
from holdfast.adapters.sql.statements import paragraphs
from holdfast.failover.group import Group, Member
from holdfast.failover.ports import Beat, Report, Term
from holdfast.failover.roles import Status
from holdfast.kernel import Event, Invalid, Versioned, Write

SUBJECT = "acme/db"
PLACE = {"id": SUBJECT, "client_id": "acme"}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlGroupStore]:
    """A group whose `i-1` is primary, in version 1."""
    database = SqlDatabase(SqliteDialect(str(tmp_path / "state.db"), now_s=lambda: 1_000.0))
    made = SqlGroupStore(database)
    commit(
        made,
        Member(instance_id="i-1", status=Status.PRIMARY),
        Member(instance_id="i-2", status=Status.REPLICA),
    )
    yield made
    database.close()


def commit(store: SqlGroupStore, *members: Member, **group: Any) -> Versioned[Group]:
    found = store.read(SUBJECT)
    value = Group(client_id="acme", agent_id="db", epoch=found.version + 1, members=members, **group)
    return store.commit(SUBJECT, found, Write(value, (Event("told", 50.0),)), f"c-{found.version}")


def count(store: SqlGroupStore, name: str, /, **values: Any) -> int:
    with store.database.transaction() as tx:
        return tx.count(name, **values)


def test_the_record_is_written_over_the_version_that_was_locked_and_no_other(store: SqlGroupStore) -> None:
    row = {
        "id": SUBJECT, "holder": None, "version": 9, "commit_id": "x", "epoch": 9, "mode": "off",
        "auto_terminate": False, "terminate_wait_s": 1.0, "notice": "none", "notice_s": 0.0,
        "deadline_s": 0.0, "taking_over": False, "changed_n": 9, "body": "{}",
    }  # fmt: skip
    assert count(store, "put_agent", **row, stored=0) == 0
    assert store.read(SUBJECT).version == 1
    assert count(store, "put_agent", **row, stored=1) == 1


def test_a_promotion_is_refused_for_any_version_but_the_stored_one(store: SqlGroupStore) -> None:
    for expected in (0, 2):
        with store.database.transaction() as tx, pytest.raises(Trouble) as caught:
            promote(
                store.database.dialect, tx, subject=SUBJECT, instance_id="i-2", expected=expected, fenced=""
            )
        assert caught.value.failure is Failure.STALE_VERSION


def test_an_id_that_databases_take_for_another_is_not_written(store: SqlGroupStore) -> None:
    for instance_id in ("i-2 ", "i 2", "", "i-2\n"):
        with pytest.raises(Invalid):
            commit(store, Member(instance_id=instance_id, status=Status.REPLICA))


def test_what_a_newer_release_wrote_is_kept(store: SqlGroupStore) -> None:
    group, member = store.read(SUBJECT).value, Member(instance_id="i-1", status=Status.PRIMARY)
    for body in (
        group_body(group, {"later": 1, "degraded": 2}),
        member_body(member, {"later": 1, "since_s": 2}),
    ):
        assert json.loads(body)["later"] == 1
        assert 2 not in json.loads(body).values(), "what is known is written anew"


def test_no_statement_writes_an_instance_of_another_group(store: SqlGroupStore) -> None:
    other = {**PLACE, "id": "acme/web", "instance_id": "i-2", "goal_version": 9, "epoch": 9}
    member = {
        "position": 0, "is_primary": False, "status": "zombie", "version": 9, "instance_type": "",
        "region": "", "az": "", "demoted_s": 0.0, "paused_until_s": 0.0, "body": "{}",
    }  # fmt: skip
    assert count(store, "put_instance", **other, **member) == 0
    assert count(store, "leave_record", **other, at_s=1.0) == 0
    assert count(store, "end_lease", **{**PLACE, "id": "acme/web"}, instance_id="i-2") == 0
    assert count(store, "put_instance", **{**other, "id": SUBJECT}, **member) == 1


def test_the_lease_of_a_primary_is_never_cut_short(store: SqlGroupStore) -> None:
    assert count(store, "end_lease", **PLACE, instance_id="i-1") == 0
    assert count(store, "end_lease", **PLACE, instance_id="i-2") == 1


def test_what_leaves_the_record_keeps_its_first_end_and_has_the_newest_epoch(store: SqlGroupStore) -> None:
    commit(store, Member(instance_id="i-1", status=Status.PRIMARY))

    def row() -> tuple[Any, ...]:
        sql = "SELECT is_primary, instance_status, epoch, terminated_at FROM instances WHERE id = 'i-2'"
        with store.database._session() as session:
            return tuple(session.run(sql).rows[0])

    first = row()
    assert first[:3] == (0, "terminated", 2)
    assert first[3] is not None
    left = {**PLACE, "instance_id": "i-2", "goal_version": 9, "epoch": 9, "at_s": 900.0}
    assert count(store, "leave_record", **left) == 1
    assert row() == (0, "terminated", 9, first[3])


def test_a_group_without_a_primary_is_due_at_once(store: SqlGroupStore) -> None:
    commit(store, Member(instance_id="i-1", status=Status.REPLICA))
    store.set_due(SUBJECT, 2, 3_600.0)
    assert store.due(10) == [SUBJECT]


def test_the_number_of_changes_is_raised_and_never_lowered(store: SqlGroupStore) -> None:
    store.raise_change_number(50)
    store.raise_change_number(7)
    assert store.change_number() == 50


@pytest.mark.parametrize(
    ("dialect", "name"),
    [("sqlite", "lock_instances"), ("mysql", "lock_instances"), ("postgresql", "lock_instances"),
     ("postgresql", "lock_beats")],
)  # fmt: skip
def test_what_locks_several_rows_locks_them_in_the_order_of_their_ids(dialect: str, name: str) -> None:
    text = paragraphs(dialect)[name]
    assert re.search(r"ORDER BY [\w., ]*\bid\b", text), "two transactions may wait for each other"


def test_mysql_takes_the_rows_of_a_batch_in_the_order_in_which_they_are_sent() -> None:
    """The statement joins from the values, so these are sorted before."""
    sent: list[str] = []

    def taken(rows: list[dict[str, str]]) -> dict[str, object]:
        sent.extend(f"{row['client_id']} {row['id']}" for row in rows)
        return {}

    dialect = SimpleNamespace(beats=taken)
    beats = [
        Beat(client_id, "db", instance_id, "s", 1, Report())
        for client_id, instance_id in (("b", "i-1"), ("a", "i-2"), ("a", "i-1"))
    ]
    values_of(cast("SqlDatabase", SimpleNamespace(dialect=dialect)), beats, Term(10.0))
    assert sent == ["a i-1", "a i-2", "b i-1"]
    for name in ("lock_beats", "renew_rows"):
        assert "STRAIGHT_JOIN instances" in paragraphs("mysql")[name]
