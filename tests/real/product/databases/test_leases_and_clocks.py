"""Hazards H18 to H23 on the real databases: each shown without its guard, and not there with it."""

import time
from collections.abc import Iterator
from dataclasses import replace

import pymysql
import pytest

from holdfast.adapters.sql.connection import Begin
from holdfast.adapters.sql.url import parse
from holdfast.failover.group import Takeover
from holdfast.failover.roles import Status
from tests.proof import prove
from tests.real.product.databases.groups_there import TERM, Beside, Groups
from tests.real.product.databases.servers import ON_MARIADB, ON_POSTGRESQL, Server

GUARD_ELSEWHERE = """
UPDATE instances SET lease_until_s = extract(epoch FROM clock_timestamp()) + 10 FROM agents
WHERE agents.id = instances.agent_id AND agents.epoch = 1 AND agents.instance_id = instances.id
    AND instances.client_id = '{client_id}'
RETURNING instances.id
"""
"""Epoch and primary are asked of the group's row, the lease stands in the instance's."""


@pytest.fixture
def groups(server: Server, url: str) -> Iterator[Groups]:
    made = Groups(server, url, agents=("a", "b"))
    yield made
    made.close()


def revoke(groups: Groups, agent_id: str) -> None:
    found = groups.store.read(groups.subject(agent_id)).value
    takeover = Takeover(old=f"i-{agent_id}", reason="a switch", code="switch")
    old = replace(found.members[0], status=Status.DEMOTING)
    groups.put(replace(found, epoch=2, members=(old,), takeover=takeover))


@ON_POSTGRESQL
def test_h18_a_guard_in_another_row_grants_what_was_revoked(groups: Groups) -> None:
    """The batch stalls on `i-a`; `i-b` is revoked, and a look finds no lease; then the batch goes on."""
    with groups.server.session(groups.url) as batch:
        with groups.holding("a"):
            without = Beside(lambda: batch.run(GUARD_ELSEWHERE.format(client_id=groups.client_id)))
            assert not without.ended_within(0.3)
            with groups.server.session(groups.url) as other:
                # As a revocation would that does not write the row of the lease.
                other.run(
                    f"UPDATE agents SET epoch = 2, instance_id = NULL WHERE id = '{groups.subject('b')}'"
                )
            assert groups.lease_s("b") <= 0, "nothing seems to be left: the next one is promoted"
        granted = {row[0] for row in without.end()}

    assert "i-b" in granted, "two serve"
    assert groups.lease_s("b") > 0
    prove("variant", "H18: the guard of a lease stands in another row", caught_by="PostgreSQL")


def test_h18_a_batch_grants_nothing_that_was_revoked(groups: Groups) -> None:
    with groups.holding("a"):
        batch = Beside(lambda: groups.store.renew(groups.beats(), TERM))
        revoke(groups, "b")
        after_s = groups.lease_s("b")
        grants = {grant.instance_id: grant for grant in batch.end()}

    assert grants["i-b"].lease_s == 0 or after_s > 0, "granted before the revocation, and then it was seen"
    (again,) = groups.store.renew(groups.beats()[1:], TERM)
    assert (again.epoch, again.lease_s) == (2, 0.0)


@ON_MARIADB
def test_h19_a_look_within_an_old_transaction_misses_the_last_grant(server: Server, url: str) -> None:
    """The driver's own defaults, on MariaDB: REPEATABLE READ, and a transaction that the first read opens."""
    groups, to = Groups(server, url), parse(url)
    record = f"SELECT version FROM agents WHERE id = '{groups.subject()}'"
    lease = f"SELECT lease_until_s FROM instances WHERE agent_id = '{groups.subject()}'"
    with (
        pymysql.connect(host=to.host, port=to.port, user=to.user, database=to.name) as old,
        old.cursor() as cursor,
    ):
        cursor.execute(record)
        (granted,) = groups.store.renew(groups.beats(), TERM)
        cursor.execute(lease)
        assert cursor.fetchall() == ((0.0,),), "the lease that was granted is not seen"

    assert granted.lease_s == 10
    assert groups.lease_s() > 9
    groups.close()
    prove("variant", "H19: a look inside an old transaction", caught_by="MariaDB")


def test_h19_every_session_reads_what_is_committed(groups: Groups) -> None:
    with groups.database.transaction() as tx:
        before = tx.rows("look", id=groups.subject("a"))
        groups.store.renew(groups.beats(), TERM)
        after = tx.rows("look", id=groups.subject("a"))
    assert before[0][5] == 0
    assert after[0][5] > 0
    with groups.database.transaction(Begin.READ) as tx:
        tx.rows("read_agent", id=groups.subject("a"))
        revoke(groups, "a")
        assert tx.rows("read_instances", id=groups.subject("a"))[0][1] != "demoting", "one picture"
    assert groups.store.read(groups.subject("a")).value.members[0].status is Status.DEMOTING


def test_h20_the_clock_goes_on_within_a_transaction(server: Server, groups: Groups) -> None:
    with groups.database.transaction() as tx:
        ((before,),) = tx.rows("now")
        time.sleep(0.3)
        ((after,),) = tx.rows("now")
    assert after - before >= 0.3
    if server.name == "postgresql":
        with server.session(groups.url) as session:
            session.run("BEGIN")
            ((first,),) = session.run("SELECT now()")
            time.sleep(0.3)
            assert session.run("SELECT now()") == [(first,)], "the start of the transaction, for ever"
            session.run("ROLLBACK")
        prove("variant", "H20: now() is the start of the transaction", caught_by="PostgreSQL")


def test_h23_one_held_row_stops_no_other_renewal(server: Server, url: str) -> None:
    groups = Groups(server, url, agents=tuple(f"a{n:02}" for n in range(20)))
    with groups.holding("a07"):
        began_s = time.monotonic()
        grants = list(groups.store.renew(groups.beats(), TERM))
        took_s = time.monotonic() - began_s
        served = {grant.instance_id for grant in grants if grant.lease_s > 0}
        assert served == {f"i-{agent}" for agent in groups.agents} - {"i-a07"}
        (held,) = [grant for grant in grants if grant.instance_id == "i-a07"]
        assert (held.stored, held.epoch, held.lease_s) == (False, 0, 0.0), "no answer, and no revocation"

        waits = groups.database._texts
        waits["lock_beats"] = waits["lock_beats"].replace("SKIP LOCKED", "")
        without = Beside(lambda: groups.store.renew(groups.beats(), TERM))
        assert not without.ended_within(1.0), "all twenty wait for one"
    without.end()
    groups.close()
    assert took_s < 1.0 + 4.0, "a busy machine is slow; a lock is waited for five seconds and more"
    prove("variant", f"H23: one row stops all, {server.name}", caught_by="a held row")
