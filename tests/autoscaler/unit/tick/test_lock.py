"""The lock around the whole: taken before effects, renewed, released, and short while a deadline runs."""

from dataclasses import replace

from holdfast.autoscaler import lock
from holdfast.autoscaler.ports import Drain, Effect
from holdfast.autoscaler.record import Cluster, Condemned, Interrupted, ScaleDown, Target
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.workflow import NEXT_LOOK_S, workflow
from holdfast.cloud import NoticeKind
from holdfast.kernel import FREE, Do, Lock, Wait, Workflow, Write
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, snapshot, worker

TTL_S = 300.0
AT_S = int(NOW_S)
THREE = (worker("i-1"), worker("i-2", "b"), worker("i-3"))
SEATED = Cluster(worker_count=3, hold_code="NeitherBusyNorIdle")
DUE = replace(SEATED, condemned=(Condemned("i-9", "1-a", "surplus", AT_S),))
"""A termination is due, and there is no hurry."""
INTERRUPTED = replace(
    SEATED,
    worker_count=2,
    interrupted=(Interrupted("i-1", NoticeKind.INTERRUPTION, AT_S, AT_S + 120, "unneeded"),),
)
"""A drain is due, and a deadline runs."""


def locked(owner: str) -> Workflow[Cluster, Snapshot, Effect]:
    return lock.locked(workflow(SETTINGS), owner=owner, ttl_s=TTL_S)


def held(cluster: Cluster, owner: str, *, taken_s: float) -> Cluster:
    return cluster.with_lock(Lock(owner, taken_s + TTL_S))


def test_the_lock_is_taken_before_the_first_effect() -> None:
    ahead = locked("me").step(DUE, snapshot(*THREE), NOW_S)

    assert isinstance(ahead, Write)
    assert ahead.value.lock == Lock("me", NOW_S + TTL_S)
    assert isinstance(locked("me").step(ahead.value, snapshot(*THREE), NOW_S + 1), Do)


def test_a_write_does_not_need_it() -> None:
    others = held(Cluster(), "other", taken_s=NOW_S)

    assert isinstance(locked("me").step(others, snapshot(*THREE), NOW_S), Write)


def test_effects_wait_for_its_holder_until_it_runs_out() -> None:
    others = held(DUE, "other", taken_s=NOW_S)

    ahead = locked("me").step(others, snapshot(*THREE), NOW_S + 299)
    assert isinstance(ahead, Wait)
    assert ahead == Wait(NOW_S + 300, "other is at work on it"), "no longer than the lock counts"
    sooner = locked("me").step(others, snapshot(*THREE), NOW_S + 1)
    assert isinstance(sooner, Wait)
    assert sooner.until_s == NOW_S + 1 + NEXT_LOOK_S, "nor than one waits for anything"
    assert isinstance(locked("me").step(others, snapshot(*THREE), NOW_S + 300), Write)


def test_the_next_owner_goes_on_with_the_same_action() -> None:
    down = ScaleDown("1-a", AT_S, (Target("i-3"),))
    open_action = replace(held(SEATED, "other", taken_s=NOW_S), scale_down=down)

    resumed = locked("me").step(open_action, snapshot(*THREE), NOW_S + 300)

    assert isinstance(resumed, Write)
    mine = replace(open_action, lock=Lock("me", NOW_S + 600))
    assert resumed.value == mine, "nothing but the lock has changed"
    assert locked("me").step(mine, snapshot(*THREE), NOW_S + 301) == Do((Drain("i-3", "1-a"),))


def test_it_is_renewed_at_half_time() -> None:
    mine = held(DUE, "me", taken_s=NOW_S)

    assert isinstance(locked("me").step(mine, snapshot(*THREE), NOW_S + 149), Do)
    renewed = locked("me").step(mine, snapshot(*THREE), NOW_S + 151)
    assert isinstance(renewed, Write)
    assert renewed.value.lock.until_s == NOW_S + 151 + TTL_S


def test_while_a_deadline_runs_a_dead_holder_costs_half_a_minute() -> None:
    others = held(INTERRUPTED, "other", taken_s=NOW_S)

    assert isinstance(locked("me").step(others, snapshot(*THREE), NOW_S + 29), Wait)
    assert isinstance(locked("me").step(others, snapshot(*THREE), NOW_S + 31), Write)
    mine = held(INTERRUPTED, "me", taken_s=NOW_S)
    assert isinstance(locked("me").step(mine, snapshot(*THREE), NOW_S + 16), Write), "so it is renewed sooner"


def test_it_is_released_by_its_owner_alone() -> None:
    mine = held(SEATED, "me", taken_s=NOW_S)

    released = lock.release(mine, "me", NOW_S)
    assert released is not None
    assert released.value.lock == FREE
    assert lock.release(mine, "another", NOW_S) is None
    assert lock.release(SEATED, "me", NOW_S) is None
