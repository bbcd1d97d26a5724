"""All concerns in one step: which comes first, which waits for which, and that none starves."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler import interruption
from holdfast.autoscaler.ports import (
    Admit,
    Drain,
    Drained,
    Effect,
    ForgetNotices,
    LaunchInstances,
    PrepareTemplate,
    Terminate,
)
from holdfast.autoscaler.record import (
    READY,
    UNNEEDED,
    Cluster,
    Condemned,
    Interrupted,
    LaunchStatus,
    Recent,
    ScaleDown,
    Skip,
    Spent,
    Status,
    Target,
    Tombstone,
    Unavailable,
)
from holdfast.autoscaler.settings import Pool
from holdfast.autoscaler.snapshot import Ghost, Place, Snapshot, Worker
from holdfast.autoscaler.workflow import workflow
from holdfast.cloud import Notice, NoticeKind, State
from holdfast.cloud.launches import Template
from holdfast.kernel import Do, Done, Event, Happened, Write
from holdfast.kernel.write import EVENTS_MAX
from tests.autoscaler.unit.scale_up.test_action import row, scaling_up
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, booting, snapshot, worker

AT_S = int(NOW_S)
TWO = (worker("i-1"), worker("i-2", "b"))
REBALANCE, INTERRUPTION, GONE = NoticeKind.REBALANCE, NoticeKind.INTERRUPTION, NoticeKind.GONE
FULL: Any = lambda leaving, closed: "shop/web: no room"  # noqa: E731


def run(
    cluster: Cluster, seen: Snapshot, now_s: float = NOW_S, **settings: Any
) -> tuple[Cluster, list[Event], Sequence[Effect]]:
    """All writes until there is none; then the effects that are due."""
    step, told = workflow(replace(SETTINGS, **settings)).step, list[Event]()
    for _ in range(40):
        ahead = step(cluster, seen, now_s)
        if not isinstance(ahead, Write):
            return cluster, told, ahead.effects if isinstance(ahead, Do) else ()
        cluster, told = ahead.value, [*told, *ahead.events]
    raise AssertionError(f"it writes for ever: {[event.kind for event in told[-4:]]}")


def kinds(told: Sequence[Event]) -> list[str]:
    return [event.kind for event in told if event.kind not in ("decision", "conditionChanged")]


def scaling_down(*targets: Target, started_s: int = AT_S - 10) -> Cluster:
    down = ScaleDown("1-a", started_s, targets)
    rows = tuple(Condemned(i, "1-a", "scale-down", AT_S - 5) for i in down.having(Status.CONDEMNED))
    return Cluster(scale_down=down, condemned=rows)


def notice(instance_id: str, kind: NoticeKind = INTERRUPTION, at_s: int = AT_S) -> Notice:
    return Notice(instance_id, kind, at_s, at_s + 120 if kind is INTERRUPTION else 0)


def test_an_idle_fleet_at_rest_has_nothing_to_do() -> None:
    cluster, told, due = run(Cluster(), snapshot(*TWO))

    assert (kinds(told), list(due)) == ([], [])
    assert workflow(SETTINGS).step(cluster, snapshot(*TWO), NOW_S) == Done()


def test_an_effect_that_fails_again_and_again_holds_up_no_other() -> None:
    """A termination that the cloud does not accept, a drain, a burial: all are due at once."""
    cluster = replace(
        scaling_down(Target("i-3"), Target("i-4", Status.CONDEMNED)),
        interrupted=(Interrupted("i-2", INTERRUPTION, AT_S, AT_S + 120, UNNEEDED),),
    )
    seen = snapshot(
        *TWO,
        worker("i-3"),
        worker("i-4", cordoned=True),
        worker("i-5"),
        ghosts=(Ghost("i-8", "n-8", "uid-8", State.TERMINATED),),
    )

    _, _, due = run(cluster, seen)

    assert {type(effect).__name__ for effect in due} == {"Drain", "Terminate", "DeleteNode"}
    assert sum(isinstance(effect, Drain) for effect in due) == 2


def test_below_the_floor_a_scale_up_does_not_wait_for_a_termination_that_is_not_confirmed() -> None:
    """H6, L-A4: condemned, and then another dies."""
    condemned = scaling_down(Target("i-3", Status.CONDEMNED))
    seen = snapshot(worker("i-1"), worker("i-2", state=State.TERMINATED), worker("i-3", cordoned=True))

    cluster, told, due = run(condemned, seen)

    assert kinds(told)[:2] == ["completeScaleDown", "beginScaleUp"]
    assert cluster.is_condemned("i-3"), "it goes on dying without the action"
    assert Terminate("i-3") in due
    assert any(isinstance(effect, LaunchInstances) for effect in due)


def test_work_that_needs_room_ends_a_scale_down_that_has_not_condemned_yet() -> None:
    """A5, A7."""
    planned = replace(scaling_down(Target("i-3")), pending_since_s=AT_S - 500)

    cluster, told, _ = run(planned, snapshot(*TWO, worker("i-3"), pending=2))

    assert kinds(told) == ["drainSkipped", "failScaleDown", "beginScaleUp"]
    assert cluster.skipped[0].instance_id == "i-3"


def test_a_floor_that_breaks_during_a_scale_up_is_repaired_in_it() -> None:
    open_scale_up = scaling_up(row(1, "i-8"))

    cluster, told, _ = run(open_scale_up, snapshot(booting("i-8")))

    assert kinds(told) == ["extendScaleUp"]
    assert cluster.scale_up is not None
    assert cluster.scale_up.requested == 2


@pytest.mark.parametrize(
    "failed",
    [
        scaling_up(row(1, status=LaunchStatus.ABANDONED), row(2, "i-8")),
        scaling_up(row(1, "i-7"), row(2, "i-8"), lost=("i-7",)),
    ],
    ids=["refused for good", "died"],
)
def test_a_scale_up_in_which_something_failed_is_not_extended(failed: Cluster) -> None:
    """Or the back-off would never come, and one missing permission would spend the hour's launches."""
    cluster, told, _ = run(failed, snapshot(booting("i-8")))

    assert kinds(told) == []
    assert cluster.scale_up is not None


def test_what_is_to_be_asked_for_elsewhere_is_not_asked_for_twice() -> None:
    refused = scaling_up(row(1, status=LaunchStatus.REFUSED))

    cluster, told, due = run(refused, snapshot(worker("i-1")))

    assert kinds(told) == ["retryScaleUp"]
    assert sum(isinstance(effect, LaunchInstances) for effect in due) == 1
    assert cluster.scale_up is not None
    assert cluster.scale_up.requested == 1


def test_a_replacement_is_of_the_pool_of_the_interrupted_machine() -> None:
    """Where one pool has no place to scale up, the other's replacement is not counted for it."""
    pools = (SETTINGS.pools[0], Pool(name="gpu", instance_types=("g5.xlarge",)))
    seen = snapshot(
        replace(worker("i-1"), instance=replace(worker("i-1").instance, pool="gpu")),
        *(worker(f"i-{n}") for n in (2, 3, 4)),
        notices=(notice("i-1"), notice("i-2")),
        fits_without=FULL,
        templates={pool.name: Template("lt-1", 3, "d") for pool in pools},
        digests={pool.name: "d" for pool in pools},
        places=(Place("default", "a", "s-a"),),
    )

    cluster, _, _ = run(Cluster(), seen, pools=pools)

    assert cluster.scale_up is not None
    assert [(each.pool, each.count) for each in cluster.scale_up.launches] == [("default", 1)]
    assert {each.instance_id: bool(each.replacement) for each in cluster.interrupted} == {
        "i-1": False,
        "i-2": True,
    }


def test_hints_that_the_settings_ignore_are_dropped_and_written_nowhere() -> None:
    seen = snapshot(*TWO, notices=(notice("i-1", REBALANCE),))

    cluster, told, due = run(Cluster(), seen, rebalance_replaces=False)

    assert (kinds(told), cluster.interrupted) == ([], ())
    assert list(due) == [ForgetNotices(("i-1#rebalance",))]
    before = Cluster(interrupted=(Interrupted("i-gone", REBALANCE, AT_S - 10, AT_S - 10),))
    cluster, told, _ = run(before, snapshot(*TWO), rebalance_replaces=False)
    assert (kinds(told), cluster.interrupted) == (["noticeExpired"], ())


@pytest.mark.parametrize(
    "old",
    [
        notice("i-1", GONE, AT_S - 700),
        notice("i-1", INTERRUPTION, AT_S - 900),
        notice("i-1", REBALANCE, AT_S - 3_700),
    ],
    ids=["gone", "interruption", "rebalance"],
)
def test_a_copy_that_comes_after_its_notice_has_expired_says_nothing_new(old: Notice) -> None:
    """However long removed machines are remembered: else it is folded in and let go for ever."""
    cluster, told, due = run(Cluster(), snapshot(*TWO, notices=(old,)), remember_s=5_000)

    assert (kinds(told), cluster.interrupted) == ([], ())
    assert list(due) == [ForgetNotices((old.key,))]


def hinted(*left: Worker, zone: str = "a", **settings: Any) -> list[str]:
    """What becomes of a hint whose node is replaced and drained, with these beside it."""
    hint = Interrupted("i-1", REBALANCE, AT_S, AT_S, READY, drained=True)
    closed = worker("i-1", zone, cordons=frozenset({hint.action_id}), cordoned=True)
    _, told, _ = run(Cluster(interrupted=(hint,)), snapshot(closed, *left), **settings)
    return kinds(told)


def test_a_hint_ends_its_machine_only_where_the_floors_and_the_zones_hold_without_it() -> None:
    assert hinted(worker("i-2"), worker("i-3")) == ["terminating"]
    assert hinted(worker("i-2")) == [], "the floor"
    assert hinted(worker("i-2", "b"), worker("i-3", "b")) == [], "the last one of its zone"


def test_a_hint_does_not_take_its_pool_below_the_floor() -> None:
    hint = Interrupted("i-1", REBALANCE, AT_S, AT_S, READY, drained=True)
    others = [worker(f"i-{n}") for n in (2, 3)]
    of_pool = replace(worker("i-1"), instance=replace(worker("i-1").instance, pool="gpu"))

    kept = interruption.end(
        Cluster(interrupted=(hint,)),
        snapshot(of_pool, *others),
        replace(SETTINGS, pools=(*SETTINGS.pools, Pool(name="gpu", min_workers=1))),
        NOW_S,
    )

    assert kept is None


def test_two_hints_are_considered_together() -> None:
    hints = tuple(Interrupted(i, REBALANCE, AT_S, AT_S, READY, drained=True) for i in ("i-1", "i-2"))
    seen = snapshot(worker("i-1"), worker("i-2"), worker("i-3"))

    _, told, _ = run(Cluster(interrupted=hints), seen)

    assert "terminating" not in kinds(told), "one would be left of two"


def test_hundreds_of_notices_are_commits_that_fit() -> None:
    """H11, H12: five hundred within seven commits, and one request a place."""
    workers = [worker(f"i-{n}", "ab"[n % 2]) for n in range(500)]
    seen = snapshot(*workers, notices=tuple(notice(w.instance_id) for w in workers), fits_without=FULL)
    step, cluster, commits = workflow(replace(SETTINGS, max_workers=500)).step, Cluster(), 0
    while isinstance(ahead := step(cluster, seen, NOW_S), Write):
        assert len(ahead.events) <= EVENTS_MAX
        cluster, commits = ahead.value, commits + 1

    assert commits <= 8
    assert isinstance(ahead, Do)
    launches = [effect for effect in ahead.effects if isinstance(effect, LaunchInstances)]
    assert sum(effect.launch.count for effect in launches) == 500
    assert len(launches) == 2
    assert sum(isinstance(effect, Drain) for effect in ahead.effects) == 500


def test_a_plan_of_hundreds_is_given_up_and_condemned_in_commits_that_fit() -> None:
    """A batch may be as large as one likes."""
    many = tuple(Target(f"i-{n}", Status.DRAINED) for n in range(250))
    workers = [worker(f"i-{n}") for n in range(600)]

    condemned, told, _ = run(scaling_down(*many), snapshot(*workers, cpu=0.1))
    assert kinds(told).count("terminating") == 250
    given_up, told, _ = run(scaling_down(*many, started_s=AT_S - 5_000), snapshot(*workers, cpu=0.1))
    assert kinds(told).count("drainSkipped") == 250
    assert (condemned.scale_down is not None, given_up.scale_down) == (True, None)


def test_what_looks_forgotten_is_removed_a_few_at_a_time() -> None:
    """A control plane that lost its nodes makes every machine look forgotten."""
    nodeless = [booting(f"i-{n}", launched_s=1) for n in range(30)]

    cluster, told, due = run(Cluster(), snapshot(*nodeless))

    assert kinds(told).count("terminating") == SETTINGS.sweep_batch
    assert sum(isinstance(effect, Terminate) for effect in due) == SETTINGS.sweep_batch
    assert len(cluster.condemned) == SETTINGS.sweep_batch


def test_a_node_that_was_not_opened_while_it_was_remembered_is_adopted_anew() -> None:
    """The tick that adopted it died, and nothing else is written for a long time."""
    stale = Cluster(recent=(Recent("i-3", "default", "a", AT_S - 900),), pending_since_s=AT_S)

    cluster, told, due = run(stale, snapshot(*TWO, worker("i-3", joining=True), pending=1))

    assert "adopted" in kinds(told)
    assert [one.at_s for one in cluster.recent] == [AT_S]
    assert Admit("i-3") in due


def test_every_write_drops_what_need_not_be_remembered_any_longer() -> None:
    cluster = Cluster(
        gone=(Tombstone("i-8", AT_S - 601), Tombstone("i-9", AT_S - 599)),
        skipped=(Skip("i-8", "a pod", AT_S - 1), Skip("i-9", "a pod", AT_S + 1)),
        unavailable=(
            Unavailable("a", AT_S - SETTINGS.unavailable_max_s, "x"),
            Unavailable("b", AT_S + 1, "x"),
        ),
        spent=(Spent("a", AT_S - 3_601, 1), Spent("b", AT_S - 3_599, 1)),
    )

    kept, _, _ = run(cluster, snapshot(*TWO))

    assert [stone.instance_id for stone in kept.gone] == ["i-9"]
    assert [skip.instance_id for skip in kept.skipped] == ["i-9"]
    assert [each.offering for each in kept.unavailable] == ["b"]
    assert [each.action_id for each in kept.spent] == ["b"]


def test_a_pause_stops_what_would_begin_and_nothing_that_repairs() -> None:
    paused = Cluster(paused_until_s=AT_S + 100, pending_since_s=AT_S - 500, idle_since_s=AT_S - 900)

    _, told, _ = run(paused, snapshot(*TWO, pending=3))
    assert kinds(told) == []
    _, told, _ = run(paused, snapshot(*TWO, worker("i-3"), cpu=0.1))
    assert kinds(told) == []
    _, told, _ = run(paused, snapshot(*TWO, notices=(notice("i-1"),)))
    assert kinds(told) == ["interrupted", "beginScaleUp"]


def test_a_tick_that_observes_writes_what_would_be_done_and_touches_nothing() -> None:
    waited = Cluster(pending_since_s=AT_S - 500)

    cluster, _, due = run(waited, snapshot(*TWO, pending=3), observe=True)

    assert cluster.hold_reason.startswith("observing: would scale up by 2 of default")
    assert (cluster.scale_up, list(due)) == (None, [])
    idle, _, due = run(Cluster(idle_since_s=AT_S - 900), snapshot(*TWO, worker("i-3"), cpu=0.1), observe=True)
    assert idle.hold_reason == "observing: would scale down, because the workers are idle"
    assert list(due) == []


def test_a_template_that_cannot_be_made_is_tried_again_and_blocks_no_drain() -> None:
    seen = snapshot(*TWO, digests={"default": "new"}, notices=(notice("i-1"),), fits_without=FULL)

    _, told, due = run(Cluster(), seen)

    assert kinds(told) == ["interrupted"]
    assert PrepareTemplate("default", "new") in due
    assert any(isinstance(effect, Drain) for effect in due)


def test_news_of_a_drain_belong_to_the_action_that_asked_for_it() -> None:
    """H7: a target of a scale-down that the cloud takes back has two drains, each with an owner."""
    taken = Interrupted("i-3", INTERRUPTION, AT_S, AT_S + 120, UNNEEDED)
    cluster = replace(scaling_down(Target("i-3")), interrupted=(taken,))
    settle = workflow(SETTINGS).settle

    assert settle(cluster, Drain("i-3", "1-a"), Happened(Drained()), NOW_S) is None
    noted = settle(cluster, Drain("i-3", taken.action_id, AT_S + 120), Happened(Drained()), NOW_S)
    assert noted is not None
    assert noted.value.interrupted[0].drained
    assert noted.value.scale_down == cluster.scale_down


def test_an_interrupted_target_is_not_condemned_by_us() -> None:
    """The cloud ends it: condemning it too would count one machine twice."""
    taken = Interrupted("i-3", INTERRUPTION, AT_S, AT_S + 120, UNNEEDED)
    cluster = replace(scaling_down(Target("i-3", Status.DRAINED)), interrupted=(taken,))

    after, told, _ = run(cluster, snapshot(*TWO, worker("i-3"), worker("i-4"), cpu=0.1))

    assert kinds(told)[0] == "drainSkipped"
    assert not after.is_condemned("i-3")
