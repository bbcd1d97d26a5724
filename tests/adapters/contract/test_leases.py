"""Leases of groups: granted only WHERE epoch AND primary, judged by the database's clock."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.adapters.sql.sqlite import Database
from holdfast.adapters.sql.sqlite.groups import SqliteGroupStore
from holdfast.failover.group import Group, Member
from holdfast.failover.ports import Grant, GroupStore, Heartbeat, Term
from holdfast.failover.roles import Move, Role
from holdfast.kernel import Event, Write
from holdfast.sim.memory import MemoryGroups

AGENT = "agent-1"
TERM = Term(30.0)


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[GroupStore]:
    members = (Member("i-1", Role.PRIMARY, True), Member("i-2", Role.REPLICA, True))
    database = Database(str(tmp_path / "state.db"), now_s=clock)
    made: GroupStore = MemoryGroups(clock) if request.param == "memory" else SqliteGroupStore(database)
    write = Write(Group(agent_id=AGENT, epoch=1, members=members), (Event("registered", 0.0),))
    made.commit(AGENT, made.read(AGENT), write, "first")
    yield made
    database.close()


def test_many_heartbeats_are_answered_each_from_its_own_row(store: GroupStore) -> None:
    beats = [Heartbeat(AGENT, "i-1", 1), Heartbeat(AGENT, "i-2", 1), Heartbeat(AGENT, "i-9", 1)]

    primary, replica, stranger = store.renew(beats, TERM)

    assert primary == Grant("i-1", epoch=1, primary=True, lease_s=30.0)
    assert replica == Grant("i-2", epoch=1, primary=False, lease_s=0.0)
    assert (stranger.primary, stranger.lease_s) == (False, 0.0)


def test_a_stale_epoch_is_not_renewed(store: GroupStore) -> None:
    (grant,) = store.renew([Heartbeat(AGENT, "i-1", 0)], TERM)

    assert grant == Grant("i-1", epoch=1, primary=True, lease_s=0.0), (
        "it is told the epoch, and must ask again"
    )
    assert store.leases_left_s(AGENT).get("i-1", 0.0) == 0.0


def test_a_revoked_primary_gets_nothing_and_its_old_lease_is_still_seen(
    store: GroupStore, clock: Clock
) -> None:
    store.renew([Heartbeat(AGENT, "i-1", 1)], TERM)
    found = store.read(AGENT)
    revoked = found.value.move("i-1", Move.SUPERSEDED)
    store.commit(AGENT, found, Write(revoked, (Event("revoked", 0.0),)), "second")
    clock.now += 10

    (grant,) = store.renew([Heartbeat(AGENT, "i-1", 1)], TERM)

    assert (grant.primary, grant.lease_s) == (False, 0.0)
    assert store.leases_left_s(AGENT)["i-1"] == pytest.approx(20.3), "kept a little longer than granted"


def test_a_renewal_does_not_disturb_a_change_of_the_group(store: GroupStore) -> None:
    found = store.read(AGENT)
    store.renew([Heartbeat(AGENT, "i-1", 1)], TERM)

    done = store.commit(AGENT, found, Write(found.value, (Event("noted", 0.0),)), "second")

    assert done.version == found.version + 1


def test_an_instance_belongs_to_one_agent(store: GroupStore, tmp_path: Path) -> None:
    if isinstance(store, SqliteGroupStore):
        other = Group(agent_id="agent-2", members=(Member("i-1", Role.REPLICA),))
        with pytest.raises(Exception, match="belongs to another agent"):
            store.commit("agent-2", store.read("agent-2"), Write(other, (Event("registered", 0.0),)), "third")
    assert store.read(AGENT).value.primary == "i-1"
