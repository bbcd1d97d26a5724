"""`promote_instance_to_primary`: the seed's own test, and what it refuses, with a state for each."""

import uuid
from typing import Any

import psycopg
import pymysql
import pytest

from holdfast.adapters.sql.database import SqlDatabase
from holdfast.adapters.sql.groups import SqlGroupStore, SqlTenants
from holdfast.failover.ports import Beat, Report, Term
from holdfast.failover.roles import Status
from tests.real.product.databases.servers import Server

CLIENT = "client-1"


class Tables:
    """The helpers that the seed's test names."""

    def __init__(self, server: Server, url: str) -> None:
        self.server, self.url = server, url

    def create_test_agent(self) -> str:
        agent = uuid.uuid4().hex[:8]
        self._run(
            "INSERT INTO agents (id, client_id, logical_agent_id, version, epoch, body)"
            f" VALUES ('{CLIENT}/{agent}', '{CLIENT}', '{agent}', 1, 1, '{{}}')"
        )
        return f"{CLIENT}/{agent}"

    def create_test_instance(self, agent_id: str, *, is_primary: bool, version: int) -> dict[str, Any]:
        instance = f"i-{uuid.uuid4().hex[:8]}"
        status = "running_primary" if is_primary else "running_replica"
        values = f"'{instance}', '{CLIENT}', '{agent_id}', {is_primary}, '{status}', {version}"
        self._run(
            "INSERT INTO instances"
            " (id, client_id, agent_id, is_primary, instance_status, version, epoch, session, position)"
            f" VALUES ({values}, 1, 's-1', {0 if is_primary else 1})"
        )
        if is_primary:
            self._run(f"UPDATE agents SET instance_id = '{instance}' WHERE id = '{agent_id}'")
        return {"id": instance}

    def call_stored_procedure(self, name: str, arguments: tuple[str, str, int]) -> bool:
        """One CALL, and no statement beside it."""
        self._run(f"CALL {name}{arguments!r}")
        return True

    def get_primaries_for_agent(self, agent_id: str) -> list[dict[str, Any]]:
        rows = self._run(f"SELECT id FROM instances WHERE agent_id = '{agent_id}' AND is_primary = TRUE")
        return [{"id": instance} for (instance,) in rows]

    def get_instance(self, instance_id: str) -> dict[str, Any]:
        ((status, is_primary),) = self._run(
            f"SELECT instance_status, is_primary FROM instances WHERE id = '{instance_id}'"
        )
        return {"instance_status": status, "is_primary": bool(is_primary)}

    def stored(self, agent_id: str) -> list[Any]:
        """All that a promotion may touch."""
        return [
            self._run(f"SELECT version, epoch, instance_id, changed_n FROM agents WHERE id = '{agent_id}'"),
            self._run(
                "SELECT id, instance_status, is_primary, version, epoch FROM instances"
                f" WHERE agent_id = '{agent_id}' ORDER BY id"
            ),
            self._run(f"SELECT count(*) FROM system_events WHERE agent_id = '{agent_id}'"),
        ]

    def _run(self, *statements: str) -> list[Any]:
        return self.server.run(self.url, *statements)


@pytest.fixture
def tables(server: Server, url: str) -> Tables:
    SqlDatabase(server.dialect(url)).close()
    return Tables(server, url)


def test_promote_instance_to_primary(tables: Tables) -> None:
    # Setup: Create PRIMARY and REPLICA
    agent_id = tables.create_test_agent()
    old_primary = tables.create_test_instance(agent_id, is_primary=True, version=1)
    new_instance = tables.create_test_instance(agent_id, is_primary=False, version=1)

    # Execute: Promote new instance
    success = tables.call_stored_procedure(
        "promote_instance_to_primary",
        (
            new_instance["id"],
            agent_id,
            1,  # expected_version
        ),
    )

    # Assert: Exactly one PRIMARY
    assert success
    primaries = tables.get_primaries_for_agent(agent_id)
    assert len(primaries) == 1
    assert primaries[0]["id"] == new_instance["id"]

    # Assert: Old PRIMARY is ZOMBIE
    old = tables.get_instance(old_primary["id"])
    assert old["instance_status"] == "zombie"
    assert old["is_primary"] is False


def test_the_server_goes_on_from_what_the_procedure_wrote(tables: Tables) -> None:
    agent_id = tables.create_test_agent()
    old = tables.create_test_instance(agent_id, is_primary=True, version=1)["id"]
    new = tables.create_test_instance(agent_id, is_primary=False, version=1)["id"]

    tables.call_stored_procedure("promote_instance_to_primary", (new, agent_id, 1))

    database = SqlDatabase(tables.server.dialect(tables.url))
    found = SqlGroupStore(database).read(agent_id)
    assert (found.version, found.value.epoch, found.value.holder) == (2, 2, new)
    assert found.value.takeover is not None
    assert (found.value.takeover.old, found.value.takeover.candidate) == (old, new)
    statuses = {member.instance_id: member.status for member in found.value.members}
    assert statuses == {old: Status.ZOMBIE, new: Status.PROMOTING}
    assert next(m.demoted_at_s for m in found.value.members if m.instance_id == old) > 1_700_000_000
    (told,) = SqlGroupStore(database).events(agent_id)
    assert (told.version, told.commit_id, told.event.about) == (2, found.commit_id, new)
    (grant,) = SqlGroupStore(database).renew(
        [Beat(CLIENT, agent_id.partition("/")[2], new, "s-1", 2, Report())], Term(10)
    )
    assert grant.lease_s == 10
    assert SqlTenants(database).more_than_one_primary() == {}
    database.close()


def state_of(tables: Tables, arguments: tuple[str, str, int]) -> str | None:
    with pytest.raises((psycopg.Error, pymysql.Error)) as refused:
        tables.call_stored_procedure("promote_instance_to_primary", arguments)
    state: str | None = getattr(refused.value, "sqlstate", None)
    return state


def test_what_it_refuses_has_a_state_of_its_own_and_changes_nothing(tables: Tables) -> None:
    agent_id = tables.create_test_agent()
    primary = tables.create_test_instance(agent_id, is_primary=True, version=1)["id"]
    replica = tables.create_test_instance(agent_id, is_primary=False, version=1)["id"]
    before = tables.stored(agent_id)

    assert state_of(tables, (replica, agent_id, 7)) == "45001", "another version"
    assert state_of(tables, (replica, f"{CLIENT}/nothing", 1)) == "45001", "no such group"
    assert state_of(tables, ("i-unknown", agent_id, 1)) == "45003", "no such instance"
    assert state_of(tables, (primary, agent_id, 1)) == "45003", "it is primary already"
    tables._run(f"UPDATE instances SET lease_until_s = 99999999999 WHERE id = '{primary}'")
    assert state_of(tables, (replica, agent_id, 1)) == "45002", "the lease of the primary still runs"
    assert tables.stored(agent_id) == before

    tables._run(f"UPDATE instances SET lease_until_s = 1 WHERE id = '{primary}'")
    tables.call_stored_procedure("promote_instance_to_primary", (replica, agent_id, 1))
    assert state_of(tables, (primary, agent_id, 2)) == "45003", "a takeover is under way"


def test_the_schema_itself_forbids_a_second_primary(tables: Tables) -> None:
    agent_id = tables.create_test_agent()
    tables.create_test_instance(agent_id, is_primary=True, version=1)

    with pytest.raises((psycopg.errors.UniqueViolation, pymysql.err.IntegrityError)):
        tables.create_test_instance(agent_id, is_primary=True, version=1)
    with pytest.raises((psycopg.Error, pymysql.Error)):
        tables._run(f"UPDATE instances SET is_primary = FALSE WHERE agent_id = '{agent_id}'")
