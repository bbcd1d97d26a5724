"""The schema of MariaDB and PostgreSQL: from nothing, from the tables of the seed, never from the future."""

from contextlib import closing
from typing import Any

import psycopg
import pymysql
import pytest

from holdfast.adapters.sql.database import SqlDatabase
from holdfast.adapters.sql.groups import SqlGroupStore, SqlTenants
from holdfast.adapters.sql.migrations import migrations
from holdfast.adapters.sql.mysql import migrate as mysql_migrate
from holdfast.failover.group import Mode
from holdfast.failover.roles import Status
from holdfast.kernel import Corrupt, Event, Invalid, Write
from tests.adapters.contract.trials import draw, side_by_side
from tests.proof import prove
from tests.real.product.databases.servers import Server

SEED = (
    "CREATE TABLE agents (id VARCHAR(64) PRIMARY KEY, client_id VARCHAR(64), logical_agent_id VARCHAR(64),"
    " instance_id VARCHAR(64), status VARCHAR(16), last_heartbeat_at TIMESTAMP NULL,"
    " auto_switch_enabled BOOLEAN, manual_replica_enabled BOOLEAN, auto_terminate_enabled BOOLEAN,"
    " notice_status VARCHAR(16))",
    "CREATE TABLE instances (id VARCHAR(64) PRIMARY KEY, client_id VARCHAR(64), agent_id VARCHAR(64),"
    " instance_type VARCHAR(64), region VARCHAR(64), az VARCHAR(64), is_primary BOOLEAN DEFAULT TRUE,"
    " instance_status VARCHAR(32), terminated_at TIMESTAMP NULL, version INT DEFAULT 0)",
    "CREATE INDEX idx_instances_agent_primary ON instances (agent_id, is_primary, instance_status)",
    "CREATE TABLE replica_instances (id VARCHAR(64) PRIMARY KEY, client_id VARCHAR(64), agent_id VARCHAR(64),"
    " instance_id VARCHAR(64), status VARCHAR(16), emergency BOOLEAN, promoted_at TIMESTAMP NULL)",
    "CREATE TABLE system_events (id INT PRIMARY KEY, event_type TEXT, severity TEXT, message TEXT)",
)
AGENT = "INSERT INTO agents VALUES ('{0}', 'acme', '{1}', NULL, 'online', NULL, {2}, {3}, FALSE, 'none')"
INSTANCE = (
    "INSERT INTO instances VALUES"
    " ('{0}', 'acme', '{1}', 'm5.large', 'us-east-1', 'us-east-1a', {2}, '{3}', '2026-11-01 00:00:00', 5)"
)
HELD = (
    AGENT.format("uuid-1", "payments", "TRUE", "FALSE"),
    INSTANCE.format("i-1", "uuid-1", "TRUE", "running_primary"),
    INSTANCE.format("i-2", "uuid-1", "FALSE", "running_replica"),
    INSTANCE.format("i-3", "uuid-1", "FALSE", "zombie"),
    INSTANCE.format("i-4", "uuid-1", "FALSE", "terminated"),
    INSTANCE.format("i-5", "uuid-1", "TRUE", "launching"),
    AGENT.format("uuid-2", "orders", "TRUE", "TRUE"),
    INSTANCE.format("j-1", "uuid-2", "TRUE", "running_primary"),
    INSTANCE.format("j-2", "uuid-2", "TRUE", "running_primary"),
    "INSERT INTO system_events VALUES (1, 'zombie_cleanup', 'info', 'Zombie instance i-0 cleaned up')",
)


def opened(server: Server, url: str) -> Any:
    return closing(SqlDatabase(server.dialect(url)))


def test_processes_that_open_it_at_once_migrate_it_once(server: Server) -> None:
    url = server.make()

    answers = side_by_side([lambda: SqlDatabase(server.dialect(url)) for _ in range(4)])

    for database in answers:
        assert isinstance(database, SqlDatabase), database
        database.close()
    dialect = "mysql" if server.name == "mariadb" else "postgresql"
    assert server.run(url, "SELECT number, name FROM schema_migrations") == [
        (each.number, each.name) for each in migrations(dialect)
    ]


def test_a_database_of_a_newer_release_is_refused_by_name(server: Server) -> None:
    url = server.make()
    with opened(server, url):
        pass
    server.run(url, "INSERT INTO schema_migrations VALUES (99, '0099_from_the_future', 0)")

    with pytest.raises(Invalid, match="its schema has number 99, and this release knows 1 at most"):
        SqlDatabase(server.dialect(url))


def test_a_migration_that_was_interrupted_is_begun_again(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On MariaDB each statement commits by itself; PostgreSQL undoes them together."""
    url = server.make()
    for statement in (*SEED, *HELD):
        server.run(url, statement)
    if server.name == "mariadb":
        shipped = list(mysql_migrate.statements(migrations("mysql")[0].sql))
        for cut in (0, 2, len(shipped) - 1):
            with monkeypatch.context() as patch:
                patch.setattr(
                    mysql_migrate, "statements", lambda _, cut=cut: [*shipped[:cut], "SELECT no_such"]
                )
                with pytest.raises(Corrupt, match="no_such"):
                    SqlDatabase(server.dialect(url))

    with opened(server, url) as database:
        assert SqlGroupStore(database).read("acme/payments").value.primary == "i-1"


def test_the_tables_of_the_seed_are_taken_over_with_what_they_hold(server: Server) -> None:
    url = server.make()
    for statement in (*SEED, *HELD):
        server.run(url, statement)

    with opened(server, url) as database:
        store, tenants = SqlGroupStore(database), SqlTenants(database)
        found = store.read("acme/payments")
        group = found.value
        assert (found.version, group.epoch, group.primary) == (1, 1, "i-1")
        assert {member.instance_id: member.status for member in group.members} == {
            "i-1": Status.PRIMARY,
            "i-2": Status.REPLICA,
            "i-3": Status.ZOMBIE,
            "i-5": Status.ZOMBIE,
        }
        assert (group.settings.mode, group.settings.auto_terminate) == (Mode.AUTO_SWITCH, False)
        assert group.members[0].pool == "m5.large.us-east-1a"
        zombie = next(member for member in group.members if member.instance_id == "i-3")
        assert zombie.demoted_at_s == 1_793_491_200.0, "it was written as terminated_at"
        gone = tenants.instance("acme", "i-4")
        assert gone is not None
        assert (gone.status, gone.terminated_at_s) == ("terminated", 1_793_491_200.0)
        assert [client.client_id for client in tenants.clients()] == ["acme"]
        write = Write(group, (Event("goesOn", 1.0),))
        assert store.commit("acme/payments", found, write, draw()).version == 2


def test_two_primaries_of_the_seed_are_degraded_and_not_guessed(server: Server) -> None:
    url = server.make()
    for statement in (*SEED, *HELD):
        server.run(url, statement)

    with opened(server, url) as database:
        group = SqlGroupStore(database).read("acme/orders").value

    assert group.primary is None
    assert group.degraded is not None
    assert group.degraded.code == "TWO_PRIMARIES"
    assert group.degraded.reason.startswith("j-1 and j-2 were both primary")
    assert [member.status for member in group.members] == [Status.ZOMBIE, Status.ZOMBIE]
    assert group.settings.mode is Mode.OFF, "both modes at once: which one was meant is not guessed"
    prove("migration", f"{server.name}: two primaries are none", rows=2)


def test_ids_that_cannot_be_told_apart_are_refused_before_anything_is_changed(server: Server) -> None:
    url = server.make()
    for statement in (*SEED, *HELD, AGENT.format("uuid-3", "with a blank", "TRUE", "FALSE")):
        server.run(url, statement)

    with pytest.raises(Invalid, match=r"agents.logical_agent_id = 'with a blank': is not an id"):
        SqlDatabase(server.dialect(url))

    assert server.run(url, "SELECT count(*) FROM agents WHERE logical_agent_id = 'orders'") == [(1,)]
    with pytest.raises((psycopg.Error, pymysql.Error), match="commit_id"):
        server.run(url, "SELECT commit_id FROM agents")
