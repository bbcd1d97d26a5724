"""Hazards H24 to H29 on the real databases: each shown without its guard, and not there with it."""

import threading
from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pymysql
import pytest

from holdfast.adapters.sql.connection import Begin, Failure, Trouble
from holdfast.adapters.sql.database import SqlDatabase
from holdfast.adapters.sql.groups import SqlGroupStore, SqlTenants
from holdfast.adapters.sql.mysql import dialect as mysql
from holdfast.failover.group import Group, Member, Replica, Takeover
from holdfast.failover.ports import StoredRequest
from holdfast.failover.roles import Status
from holdfast.failover.tenants import Client, Token, TokenKind
from holdfast.kernel import Busy, Conflict, Event, Versioned, Write
from tests.adapters.contract.trials import draw, side_by_side
from tests.proof import prove
from tests.real.product.databases.groups_there import TERM, Beside, Groups
from tests.real.product.databases.servers import ON_MARIADB, Server


@pytest.fixture
def groups(server: Server, url: str) -> Iterator[Groups]:
    made = Groups(server, url, agents=("a", "b"))
    yield made
    made.close()


def lock(groups: Groups, agent_id: str) -> str:
    return (
        f"SELECT 1 FROM instances WHERE client_id = '{groups.client_id}' AND id = 'i-{agent_id}' FOR UPDATE"
    )


def test_h24_rows_locked_in_two_orders_end_in_a_dead_lock_which_is_busy(groups: Groups) -> None:
    first, second = groups.database.dialect.connect(), groups.database.dialect.connect()
    for session, agent_id in ((first, "a"), (second, "b")):
        session.run("BEGIN")
        session.run(lock(groups, agent_id))
    crossing = Beside(lambda: first.run(lock(groups, "b")))
    troubles = []
    try:
        second.run(lock(groups, "a"))
    except Trouble as trouble:
        troubles.append(trouble.failure)
    second.rollback()
    try:
        crossing.end()
    except Trouble as trouble:
        troubles.append(trouble.failure)
    for session in (first, second):
        session.rollback()
        session.close()

    assert troubles == [Failure.COLLIDED]
    prove("variant", f"H24: rows locked in two orders, {groups.server.name}", caught_by="a dead-lock")


def test_a_server_that_hangs_inside_a_transaction_keeps_its_locks_for_seconds(groups: Groups) -> None:
    """It was stopped, or cut off, with its connection open: nothing else would end its transaction."""
    hung = groups.database.dialect.connect()
    hung.begin(Begin.WRITE)
    hung.run(lock(groups, "a"))
    with groups.server.session(groups.url) as other:  # with the patience of the database's own defaults
        other.run("BEGIN")
        other.run(lock(groups, "a"))
        other.run("ROLLBACK")
    with pytest.raises(Trouble):
        hung.run(lock(groups, "a"))
    hung.close()


def test_h24_batches_and_commits_never_lock_each_other_out(groups: Groups) -> None:
    """Heartbeats in both orders, beside commits of both groups: none is refused for a dead-lock."""
    done, refused = threading.Event(), []

    def renew(beats: list) -> None:  # type: ignore[type-arg]
        while not done.is_set():
            try:
                groups.store.renew(beats, TERM)
            except Busy as busy:
                refused.append(busy)

    beating = [
        threading.Thread(target=renew, args=(beats,)) for beats in (groups.beats(), groups.beats()[::-1])
    ]
    for each in beating:
        each.start()
    try:
        for _ in range(20):
            for agent_id in groups.agents:
                groups.put(groups.store.read(groups.subject(agent_id)).value)
    finally:
        done.set()
        for each in beating:
            each.join()
    assert refused == []


@ON_MARIADB
def test_h25_a_lock_that_timed_out_leaves_the_transaction_open(
    groups: Groups, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On MariaDB only the statement is rolled back: the next COMMIT writes half."""
    marked = f"UPDATE instances SET az = 'half' WHERE client_id = '{groups.client_id}' AND id = "
    read = f"SELECT az FROM instances WHERE client_id = '{groups.client_id}' ORDER BY id"
    with groups.holding("b"), groups.server.session(groups.url) as without:
        without.run("SET innodb_lock_wait_timeout = 1")
        without.run("START TRANSACTION")
        without.run(f"{marked}'i-a'")
        with pytest.raises(pymysql.err.OperationalError, match="1205"):
            without.run(f"{marked}'i-b'")
        without.run("COMMIT")
    assert groups.server.run(groups.url, read) == [("half",), ("",)]
    groups.server.run(groups.url, f"UPDATE instances SET az = '' WHERE client_id = '{groups.client_id}'")

    short = tuple(s.replace("lock_wait_timeout = 5", "lock_wait_timeout = 1") for s in mysql.SETTINGS)
    monkeypatch.setattr(mysql, "SETTINGS", short)
    database = SqlDatabase(groups.server.dialect(groups.url))

    def both() -> None:
        with database.transaction() as tx:
            tx._session.run(f"{marked}'i-a'")
            tx._session.run(f"{marked}'i-b'")

    with groups.holding("b"), pytest.raises(Busy, match="Lock wait timeout"):
        both()
    with database.transaction():
        pass  # the same session again: there is nothing left to be committed
    database.close()
    assert groups.server.run(groups.url, read) == [("",), ("",)]
    prove("variant", "H25: a timed out lock leaves half of a transaction", caught_by="MariaDB")


@ON_MARIADB
def test_h26_a_procedure_with_a_transaction_of_its_own_ends_the_callers(groups: Groups) -> None:
    """So the seed's wrapper cannot be called inside a commit; on MariaDB what stood before it would stay."""
    with groups.server.session(groups.url) as caller:
        caller.run("START TRANSACTION")
        caller.run(f"UPDATE agents SET status = 'online' WHERE id = '{groups.subject('a')}'")
        with pytest.raises(pymysql.Error):
            caller.run(f"CALL promote_instance_to_primary('i-a', '{groups.subject('a')}', 7)")
        caller.run("ROLLBACK")
    stayed = groups.server.run(groups.url, f"SELECT status FROM agents WHERE id = '{groups.subject('a')}'")
    assert stayed == [("online",)], "the caller's own write was committed by the procedure"
    prove("variant", "H26: a procedure with a transaction ends its caller's", caught_by="MariaDB")


def test_h26_a_commit_that_fails_behind_the_promotion_leaves_nothing_of_it(groups: Groups) -> None:
    found = groups.store.read(groups.subject("a"))
    taken = StoredRequest(groups.client_id, "taken", "d", "{}")
    first = Write(
        replace(
            found.value,
            epoch=2,
            members=(
                replace(found.value.members[0], status=Status.DEMOTING),
                Member(instance_id="i-new", status=Status.REPLICA),
            ),
            takeover=Takeover(old="i-a", reason="a switch", code="switch"),
        ),
        (Event("revoked", 1.0),),
    )
    revoked = groups.store.commit(groups.subject("a"), found, first, draw(), taken)
    new = replace(revoked.value.members[1], status=Status.PROMOTING)
    assert revoked.value.takeover is not None
    promoted = replace(
        revoked.value,
        members=(revoked.value.members[0], new),
        takeover=replace(revoked.value.takeover, candidate="i-new"),
    )
    write = Write(promoted, (Event("promoted", 1.0),))

    with pytest.raises(Conflict):
        groups.store.commit(groups.subject("a"), revoked, write, draw(), taken)

    assert groups.store.read(groups.subject("a")) == revoked
    assert groups.store.commit(groups.subject("a"), revoked, write, draw()).value.holder == "i-new"


def test_h27_a_swap_in_one_statement_breaks_the_index_in_its_middle(groups: Groups) -> None:
    found = groups.store.read(groups.subject("a")).value
    standbys = tuple(Member(instance_id=i, status=Status.REPLICA) for i in ("h-before", "j-after"))
    groups.put(replace(found, members=(*found.members, *standbys)))
    swap = (
        "UPDATE instances SET is_primary = (id = '{new}'), instance_status ="
        " CASE WHEN id = '{new}' THEN 'promoting' ELSE 'zombie' END"
        f" WHERE agent_id = '{groups.subject('a')}'"
    )
    # One of them comes before the old primary, whatever the order.
    swaps = [swap.format(new=new) for new in ("h-before", "j-after")]
    with pytest.raises((psycopg.errors.UniqueViolation, pymysql.err.IntegrityError)):
        groups.server.run(groups.url, *swaps)
    prove("variant", f"H27: a swap in one statement, {groups.server.name}", caught_by="the unique index")


def test_h28_the_usual_collation_takes_two_ids_for_one(groups: Groups) -> None:
    """The contract asks it of our tables (`ids_that_are_alike_are_different`)."""
    if groups.server.name == "mariadb":
        groups.server.run(
            groups.url,
            "CREATE TABLE IF NOT EXISTS usual (id varchar(8) PRIMARY KEY) CHARACTER SET utf8mb4",
            "REPLACE INTO usual VALUES ('agent-a')",
        )
        with pytest.raises(pymysql.err.IntegrityError, match="Duplicate"):
            groups.server.run(groups.url, "INSERT INTO usual VALUES ('Agent-A ')")
        prove("variant", "H28: ids that are alike", caught_by="MariaDB")
    session = groups.database.dialect.connect()
    with pytest.raises(Trouble, match="too long"):
        session.run(f"UPDATE agents SET driver = '{'x' * 129}'")
    session.close()


def test_h29_two_groups_share_the_launch_budget_of_their_client(server: Server, url: str) -> None:
    groups = Groups(server, url, agents=(), client_id=f"client-{draw()[:8]}")
    token = Token(token_id=draw(), kind=TokenKind.OPERATOR, digest=draw(), client_id=groups.client_id)
    client = Client(client_id=groups.client_id, launches_per_hour_max=1)
    assert SqlTenants(groups.database).add_client(client, token)
    groups.agents = ("a", "b")
    for agent_id in groups.agents:
        groups.put(Group(client_id=groups.client_id, agent_id=agent_id))
    stores = [SqlGroupStore(SqlDatabase(server.dialect(url))) for _ in groups.agents]

    def launch(store: SqlGroupStore, agent_id: str) -> Versioned[Group]:
        subject = groups.subject(agent_id)
        found = store.read(subject)
        intent = Replica(replica_id=f"r-{agent_id}", token=f"t-{agent_id}", pool="m6i.large.eu-west-1a")
        write = Write(replace(found.value, replicas=(intent,)), (Event("intended", 1.0),))
        return store.commit(subject, found, write, draw())

    answers = side_by_side(
        [lambda: launch(stores[0], "a"), lambda: launch(stores[1], "b")],
    )

    assert sorted(type(answer).__name__ for answer in answers) == ["Conflict", "Versioned"], answers
    assert groups.store.look(groups.subject("a")).launches_left == 0
    for store in stores:
        store.database.close()
    groups.close()
