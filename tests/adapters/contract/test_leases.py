"""Leases of groups in memory: granted only WHERE epoch AND primary AND session, by the database's clock."""

from dataclasses import replace

import pytest

from holdfast.failover.group import Group, Member, Takeover
from holdfast.failover.ports import Beat, Report, Term
from holdfast.failover.roles import Status
from holdfast.kernel import Busy, Conflict, Event, Write
from holdfast.sim.failover.store import MemoryGroups

SUBJECT = "acme/db"
TERM = Term(30.0)


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def member(instance_id: str, status: Status) -> Member:
    return Member(instance_id=instance_id, status=status)


def stands(*members: Member, **more: object) -> Group:
    return Group(client_id="acme", agent_id="db", members=members, **more)  # type: ignore[arg-type]


def commit(store: MemoryGroups, group: Group, commit_id: str) -> None:
    store.commit(SUBJECT, store.read(SUBJECT), Write(group, (Event("told", 0.0),)), commit_id)


def beat(instance_id: str, epoch: int = 1, session: str = "s", report: Report | None = None) -> Beat:
    return Beat("acme", "db", instance_id, session, epoch, report or Report())


@pytest.fixture
def store(clock: Clock) -> MemoryGroups:
    made = MemoryGroups(clock)
    group = stands(member("i-1", Status.PRIMARY), member("i-2", Status.REPLICA), epoch=1, served_epoch=1)
    commit(made, group, "first")
    for instance_id in ("i-1", "i-2"):
        assert made.take_session(SUBJECT, instance_id, "s", "boot-1") == 0
    return made


def test_many_heartbeats_are_answered_each_from_its_own_row(store: MemoryGroups) -> None:
    primary, replica, stranger = store.renew([beat("i-1"), beat("i-2"), beat("i-9")], TERM)

    assert (primary.primary, primary.lease_s, primary.epoch) == (True, 30.0, 1)
    assert (replica.known, replica.primary, replica.lease_s) == (True, False, 0.0)
    assert not stranger.known


@pytest.mark.parametrize(
    "asked",
    [
        beat("i-1", epoch=0),
        beat("i-1", epoch=2),
        beat("i-1", session="another"),
        beat("i-1", report=Report(watchdog_ok=False)),
    ],
    ids=["an ended epoch", "an epoch to come", "another session", "no watchdog"],
)
def test_no_lease_for(store: MemoryGroups, asked: Beat) -> None:
    (grant,) = store.renew([asked], TERM)

    assert grant.lease_s == 0.0
    assert store.look(SUBJECT).rows[0].lease_until_s == 0.0


def test_a_revoked_primary_gets_nothing_and_its_old_lease_is_still_seen(
    store: MemoryGroups, clock: Clock
) -> None:
    store.renew([beat("i-1")], TERM)
    takeover = Takeover(old="i-1", reason="notice", code="NOTICE")
    revoked = stands(
        member("i-1", Status.DEMOTING), member("i-2", Status.REPLICA), epoch=2, takeover=takeover
    )
    commit(store, revoked, "second")
    clock.now += 10

    (grant,) = store.renew([beat("i-1")], TERM)

    assert (grant.primary, grant.lease_s, grant.epoch) == (False, 0.0, 2)
    left_s = store.look(SUBJECT).rows[0].lease_until_s - clock.now
    assert left_s == pytest.approx(20.3), "kept a little longer than granted"
    promoted = replace(
        stands(
            member("i-1", Status.DEMOTING), member("i-2", Status.PROMOTING), epoch=2,
            takeover=replace(takeover, candidate="i-2"),
        )
    )  # fmt: skip
    with pytest.raises(Busy, match="the lease of i-1 still runs"):
        commit(store, promoted, "third")
    clock.now += 21
    commit(store, promoted, "third")


def test_a_renewal_does_not_disturb_a_change_of_the_group(store: MemoryGroups) -> None:
    found = store.read(SUBJECT)
    store.renew([beat("i-1")], TERM)

    done = store.commit(SUBJECT, found, Write(found.value, (Event("noted", 0.0),)), "second")

    assert done.version == found.version + 1


def test_another_boot_waits_for_the_lease_of_the_first_one(store: MemoryGroups, clock: Clock) -> None:
    store.renew([beat("i-1")], TERM)

    assert store.take_session(SUBJECT, "i-1", "t", "boot-2") == pytest.approx(30.3)
    assert store.take_session(SUBJECT, "i-1", "u", "boot-1") == 0, "the same boot goes on at once"
    clock.now += 31
    assert store.take_session(SUBJECT, "i-1", "t", "boot-2") == 0


def test_what_is_terminated_does_not_come_back(store: MemoryGroups) -> None:
    commit(store, stands(member("i-1", Status.PRIMARY), epoch=1), "second")

    with pytest.raises(Conflict, match="i-2 is terminated"):
        commit(store, stands(member("i-1", Status.PRIMARY), member("i-2", Status.REPLICA), epoch=1), "third")
