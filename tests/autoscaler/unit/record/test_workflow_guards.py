"""How the concerns are tied together: each guard that one of them leaves to the whole."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler.ports import Drain, LaunchInstances, PrepareTemplate, Uncordon
from holdfast.autoscaler.record import (
    READY,
    Cluster,
    Condemned,
    Cordon,
    Interrupted,
    PoolFailure,
    Purpose,
    Recent,
    Skip,
    Spent,
    Target,
    Tombstone,
    Unavailable,
)
from holdfast.autoscaler.settings import Pool
from holdfast.autoscaler.snapshot import Worker
from holdfast.autoscaler.workflow import NEXT_LOOK_S, workflow
from holdfast.cloud import NoticeKind
from holdfast.kernel import Wait
from tests.autoscaler.unit.record.test_workflow import AT_S, FULL, TWO, kinds, notice, run, scaling_down
from tests.autoscaler.unit.scale_up.test_action import row, scaling_up
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, booting, snapshot, worker

THREE = (*TWO, worker("i-3"))
LONG_AGO = AT_S - 5_000
IDLE = Cluster(idle_since_s=LONG_AGO)
SPENT = tuple(Spent("0-a", AT_S - 10, SETTINGS.launch_budget, purpose) for purpose in Purpose)


def planned(*workers: Worker, cluster: Cluster = IDLE, **said: Any) -> list[str]:
    """The nodes that leave an idle fleet."""
    settings = said.pop("settings", {})
    after, _, _ = run(cluster, snapshot(*workers, cpu=0.1, **said), **settings)
    return [target.instance_id for target in after.scale_down.targets] if after.scale_down else []


def test_a_node_that_must_stay_is_not_planned_to_leave() -> None:
    assert planned(*THREE) == ["i-1"]
    assert planned(*THREE, must_stay=lambda i: "a pod" if i == "i-1" else "") == ["i-3"]
    assert planned(*THREE, must_stay=lambda i: "a pod") == []


def test_no_node_leaves_whose_pods_fit_nowhere_else_and_the_leaving_offer_no_room() -> None:
    asked: list[tuple[frozenset[str], frozenset[str]]] = []

    def fits(leaving: frozenset[str], closed: frozenset[str]) -> str:
        asked.append((leaving, closed))
        return "shop/web: no room"

    leaving = replace(
        IDLE,
        interrupted=(Interrupted("i-8", NoticeKind.INTERRUPTION, AT_S, AT_S + 120, READY),),
        condemned=(Condemned("i-9", "1-a", "scale-down", AT_S),),
    )

    assert planned(*THREE, cluster=leaving, fits_without=fits) == []
    assert asked[0] == (frozenset({"i-1"}), frozenset({"i-8", "i-9"}))


def test_a_pool_at_its_floor_keeps_its_nodes() -> None:
    gpu = replace(worker("i-1"), instance=replace(worker("i-1").instance, pool="gpu"))
    pools = (Pool(), Pool(name="gpu", min_workers=1))

    assert planned(gpu, worker("i-2"), worker("i-3"), settings={"pools": pools}) == ["i-2"]


def test_a_scale_down_that_runs_does_not_ask_again_which_nodes_must_stay() -> None:
    """The drain itself finds out, on what is there then."""

    def must_stay(instance_id: str) -> str:
        raise AssertionError(f"{instance_id} was considered again")

    _, _, due = run(scaling_down(Target("i-3")), snapshot(*THREE, cpu=0.1, must_stay=must_stay))
    assert [effect for effect in due if isinstance(effect, Drain)] == [Drain("i-3", "1-a")]
    cluster, _, _ = run(Cluster(), snapshot(*THREE, must_stay=must_stay))
    assert cluster.scale_down is None, "nor is a node considered before it matters"


def test_an_idle_fleet_that_no_node_may_leave_says_so() -> None:
    cluster, told, _ = run(IDLE, snapshot(*THREE, cpu=0.1, must_stay=lambda i: "a pod"))

    assert (kinds(told), cluster.hold_reason) == ([], "idle: no worker may leave now")


def test_a_scale_up_that_cannot_begin_says_why() -> None:
    waited = Cluster(pending_since_s=LONG_AGO, spent=SPENT)

    cluster, told, _ = run(waited, snapshot(*TWO, pending=1))

    assert kinds(told) == []
    assert cluster.hold_reason == (
        "more workers are wanted (pods are pending): the launches of this hour are spent (demand)"
    )


def test_an_action_begins_with_a_clean_word_and_the_count_of_those_in_service() -> None:
    before = Cluster(pending_since_s=LONG_AGO, hold_reason="old", worker_count=7)

    cluster, _, _ = run(before, snapshot(*TWO, booting("i-3", action_id=""), pending=1))

    assert cluster.scale_up is not None
    assert (cluster.hold_reason, cluster.worker_count) == ("", 2)


def test_an_open_scale_up_is_extended_for_the_floor_alone() -> None:
    waited = replace(scaling_up(row(1, "i-9")), pending_since_s=LONG_AGO)

    cluster, told, _ = run(waited, snapshot(*TWO, booting("i-9"), pending=5))

    assert kinds(told) == []
    assert cluster.scale_up is not None
    assert cluster.scale_up.requested == 1


def test_a_floor_that_cannot_be_repaired_now_stops_no_open_scale_up() -> None:
    spent = replace(scaling_up(row(1)), spent=SPENT)

    _, told, due = run(spent, snapshot())

    assert kinds(told) == []
    assert [type(effect) for effect in due] == [LaunchInstances]


def test_the_stamps_move_while_an_action_is_open() -> None:
    cluster, told, _ = run(scaling_up(row(1, "i-9")), snapshot(*TWO, booting("i-9"), pending=1))

    assert cluster.pending_since_s == AT_S
    assert [event.kind for event in told] == ["conditionChanged"]


def test_only_new_requests_replace_the_interrupted_in_an_open_scale_up() -> None:
    """What was asked for before is for others: counted twice, an interrupted machine would have none."""
    two_left = (Spent("0-a", AT_S - 10, SETTINGS.launch_budget - 1, Purpose.REPAIR),)
    cluster = replace(scaling_up(row(1, count=2)), spent=two_left)
    seen = snapshot(*THREE, notices=(notice("i-1"), notice("i-2")), fits_without=FULL)

    after, told, _ = run(cluster, seen)

    assert kinds(told)[:3] == ["interrupted", "interrupted", "extendScaleUp"]
    assert sum(bool(each.replacement) for each in after.interrupted) == 1


def test_a_replacement_waits_for_the_back_off_and_for_its_template() -> None:
    seen = snapshot(*THREE, worker("i-4"), notices=(notice("i-1"),), fits_without=FULL)

    _, told, _ = run(Cluster(pool_failures=(PoolFailure("default", 1, AT_S + 1),)), seen)
    assert kinds(told) == ["interrupted"]
    _, told, _ = run(Cluster(pool_failures=(PoolFailure("default", 1, AT_S),)), seen)
    assert kinds(told) == ["interrupted", "beginScaleUp"]
    _, told, due = run(Cluster(), replace(seen, digests={"default": "new"}))
    assert kinds(told) == ["interrupted"]
    assert PrepareTemplate("default", "new") in due


def test_a_stray_cordon_is_lifted_beside_everything_else() -> None:
    _, _, due = run(Cluster(strays=(Cordon("i-1", "1-old"),)), snapshot(*TWO))

    assert list(due) == [Uncordon("i-1", "1-old")]


@pytest.mark.parametrize(
    ("cluster", "why"),
    [
        (scaling_up(row(1, "i-9")), "1 worker is on its way"),
        (scaling_up(row(1, "i-8", "i-9")), "2 workers are on their way"),
        (
            Cluster(
                interrupted=(
                    Interrupted("i-3", NoticeKind.INTERRUPTION, AT_S, AT_S + 120, READY, drained=True),
                )
            ),
            "machines are leaving",
        ),
    ],
    ids=["one", "two", "interrupted"],
)
def test_a_tick_that_waits_says_for_what_and_looks_again_soon(cluster: Cluster, why: str) -> None:
    fresh = [booting(i, launched_s=AT_S) for i in ("i-8", "i-9")]
    coming = fresh if cluster.scale_up else [worker("i-3"), worker("i-4")]
    seen = snapshot(*TWO, *coming)
    cluster, _, _ = run(cluster, seen)

    assert workflow(SETTINGS).step(cluster, seen, NOW_S) == Wait(NOW_S + NEXT_LOOK_S, why)


def test_what_is_remembered_is_forgotten_when_its_time_has_come() -> None:
    over = Cluster(
        gone=(Tombstone("i-8", AT_S - SETTINGS.remember_s),),
        recent=(Recent("i-9", "default", "a", AT_S - SETTINGS.remember_s),),
        skipped=(Skip("i-8", "a pod", AT_S),),
        unavailable=(Unavailable("a", AT_S - SETTINGS.unavailable_max_s, "x"),),
        spent=(Spent("a", AT_S - 3_600, 1),),
    )

    kept, _, _ = run(over, snapshot(*TWO))

    assert (kept.gone, kept.recent, kept.skipped, kept.unavailable, kept.spent) == ((), (), (), (), ())
