"""The contract of a store of groups is tested: a guard taken out of what ships breaks a promise."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.sql.connection import Dialect
from holdfast.adapters.sql.database import SqlDatabase
from holdfast.adapters.sql.groups import SqlGroupStore, store, write
from holdfast.adapters.sql.sqlite.dialect import SqliteDialect
from holdfast.kernel import Corrupt, HoldfastError
from holdfast.testing import group_contract as contract
from holdfast.testing.group_case import Case, GroupTrial
from tests.adapters.contract.sql_trials import SqlStoreTrial
from tests.adapters.contract.test_group_store import Clock
from tests.proof import prove
from tests.variants import broken

Promise = Callable[[GroupTrial], None]

STATEMENTS: list[tuple[str, str, str, str, Promise]] = [
    (
        "H2: a lease is renewed in an ended epoch",
        "renew",
        "AND instances.epoch = b.epoch",
        "",
        contract.a_stale_epoch_is_not_renewed,
    ),
    (
        "H2: a lease is renewed for what is no primary",
        "renew",
        "is_primary AND instances.epoch",
        "instances.epoch",
        contract.a_lease_is_granted_to_the_holder_of_the_epoch_alone,
    ),
    (
        "H40: any session is heard",
        "renew",
        "AND instances.session = b.session",
        "",
        contract.another_session_gets_nothing_and_stores_nothing,
    ),
    (
        "H43: a lease without a watchdog",
        "renew",
        "AND b.watchdog",
        "",
        contract.no_lease_without_a_watchdog,
    ),
    (
        "H3: a promotion while the old lease runs",
        "promote_check_leases",
        "AND lease_until_s > {now}",
        "AND 0",
        contract.no_promotion_while_the_lease_of_another_runs,
    ),
    (
        "H40: a session is taken from one whose lease runs",
        "take_session",
        "OR lease_until_s <= {now}",
        "OR 1",
        contract.a_session_is_taken_when_the_lease_of_another_is_out,
    ),
    (
        "H29: launches are counted and not refused",
        "take_launches",
        "<= launches_per_hour_max",
        "> -1",
        contract.launches_are_charged_to_the_client,
    ),
    (
        "H41: an instance id belongs to every tenant",
        "renew",
        "instances.client_id = b.client_id AND instances.id = b.id AND instances.agent_id = b.agent_id",
        "instances.id = b.id",
        contract.an_instance_id_belongs_to_its_client,
    ),
    (
        "a claim keeps nothing away",
        "claim",
        "AND (driver = :driver OR driver_until_s <= {now})",
        "",
        contract.a_claim_keeps_others_away_for_a_while,
    ),
    (
        "a group that has changed is put off",
        "set_due",
        "AND version = :version",
        "AND :version",
        contract.a_group_is_due_when_its_time_has_come_or_its_lease_is_out,
    ),
    (
        "a pause grants a lease of the usual length",
        "renew",
        "max(:granted_s, paused_until_s - {now});",
        "max(:granted_s, 0);",
        contract.a_paused_group_gets_one_long_lease,
    ),
    (
        "S4: what is no standby is promoted",
        "promote_promote",
        "AND instance_status IN ('running_replica', 'demoting')",
        "",
        contract.only_a_standby_is_promoted,
    ),
    (
        "H46: a short lease ends the long one of a pause",
        "renew",
        "max(lease_until_s, {now} + :ratio * max(:granted_s, paused_until_s - {now}))",
        "{now} + :ratio * max(:granted_s, paused_until_s - {now})",
        contract.a_paused_group_gets_one_long_lease,
    ),
    (
        "H41: a heartbeat under a sibling's name is heard",
        "renew",
        "AND instances.agent_id = b.agent_id",
        "",
        contract.an_instance_has_one_agent_for_all_its_life,
    ),
]
CODE: list[tuple[str, dict[str, str], Promise]] = [
    (
        "H42: what is terminated comes back",
        {"elif known[member.instance_id][0] == Status.TERMINATED:": "elif False:"},
        contract.a_member_that_left_the_record_never_comes_back,
    ),
    (
        "H18: a revocation does not write the row of the lease",
        {
            '"epoch": group.epoch,\n            "paused_until_s"': (
                '"epoch": 1,\n            "paused_until_s"'
            ),
            '"is_primary": member.status.is_primary,': (
                '"is_primary": member.status.is_primary or member.status == "demoting",'
            ),
            '"status": str(member.status),\n            "version"': (
                '"status": "running_primary" if member.status == "demoting" else str(member.status),'
                '\n            "version"'
            ),
        },
        contract.a_revoked_primary_gets_nothing_and_its_lease_is_still_seen,
    ),
    (
        "a promotion does not go through the body of the procedure",
        {"if member.status.is_primary and member.instance_id != was:": "if False:"},
        contract.no_promotion_while_the_lease_of_another_runs,
    ),
    (
        "B14: a request is answered and not stored",
        {"if request is not None:": "if False:"},
        contract.a_request_is_answered_once,
    ),
]


class Files:
    def __init__(self, folder: Path) -> None:
        self.folder, self.clock, self.opened = folder, Clock(), list[SqlStoreTrial]()

    def trial(self, change: Callable[[SqlDatabase], None] = lambda database: None) -> SqlStoreTrial:
        def make() -> Dialect:
            return SqliteDialect(str(self.folder / "state.db"), now_s=self.clock)

        class Changed(SqlStoreTrial):
            def open(self) -> SqlGroupStore:
                opened = super().open()
                change(opened.database)
                return opened

        self.opened.append(Changed(make, self.clock.wait))
        return self.opened[-1]


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Files]:
    made = Files(tmp_path)
    yield made
    for trial in made.opened:
        trial.close()


def breaks(promise: Promise, trial: SqlStoreTrial, name: str) -> None:
    with pytest.raises((AssertionError, HoldfastError)):
        promise(trial)
    prove("variant", name, caught_by=f"contract: {promise.__name__}")


@pytest.mark.parametrize(
    ("name", "statement", "guard", "without", "promise"), STATEMENTS, ids=[each[0] for each in STATEMENTS]
)
def test_a_statement_without_its_guard_is_caught(
    files: Files, name: str, statement: str, guard: str, without: str, promise: Promise
) -> None:
    def change(database: SqlDatabase) -> None:
        shipped = {each: text.replace("clock_s()", "{now}") for each, text in database._texts.items()}
        text = f"{shipped[statement]};"
        assert text.count(guard) == 1, f"{statement} holds this guard {text.count(guard)} times:\n{guard}"
        database._texts[statement] = text.replace(guard, without).replace("{now}", "clock_s()")

    breaks(promise, files.trial(change), name)


@pytest.mark.parametrize(("name", "changes", "promise"), CODE, ids=[each[0] for each in CODE])
def test_a_commit_without_its_guard_is_caught(
    files: Files, monkeypatch: pytest.MonkeyPatch, name: str, changes: dict[str, str], promise: Promise
) -> None:
    variant: Any = broken(write.__name__, changes)
    monkeypatch.setattr(store, "WriteGroup", variant.WriteGroup)

    breaks(promise, files.trial(), name)


SECOND = """
INSERT INTO instances (client_id, id, agent_id, position, is_primary, instance_status)
SELECT client_id, 'i-second', agent_id, 9, TRUE, 'running_primary' FROM instances WHERE is_primary
"""
"""By hand, past all that we check."""


@pytest.mark.parametrize("indexed", [True, False], ids=["shipped", "without the index"])
def test_s6_a_schema_that_takes_two_primaries_is_caught(tmp_path: Path, indexed: bool) -> None:
    trial = Files(tmp_path).trial()
    case = Case(trial)
    with closing(sqlite3.connect(tmp_path / "state.db", isolation_level=None)) as file:
        if indexed:
            with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"):
                file.execute(SECOND)
        else:
            file.execute("DROP INDEX one_primary_per_agent")
            file.execute(SECOND)
            found = file.execute("SELECT count(*) FROM instances WHERE is_primary").fetchone()
            assert found == (2,)
            with pytest.raises(Corrupt, match="two primaries"):  # and the record refuses what it finds
                case.store.read(case.subject)
            prove("variant", "S6: nothing in the schema forbids two primaries", caught_by="the record")
    trial.close()
