"""What the executor checks on the spot, guard by guard: the world may have moved since it was decided."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from holdfast.autoscaler.execute import EVICT_WITHIN_S, HARD_S
from holdfast.autoscaler.ports import (
    Admit,
    CordonNode,
    Drain,
    Drained,
    Effect,
    ForgetNotices,
    LaunchInstances,
    PrepareTemplate,
    Terminate,
    Uncordon,
)
from holdfast.autoscaler.record import Launch
from holdfast.autoscaler.settings import DrainRules, Pool
from holdfast.cloud.kubernetes import CORDON_OWNERS, Evicted, Eviction, KubeNode, cordon_owners
from holdfast.cloud.launches import Launched, Termination
from holdfast.kernel import Busy, Conflict, Happened, HoldfastError, Outcome, Unknown
from tests.autoscaler.unit.scale_up.test_action import row
from tests.autoscaler.unit.tick.executing import NOW_S, Cluster, do, drained, executor_of
from tests.workloads import budget, node, pod

FULL = Evicted(Eviction.REFUSED, "needs 1 healthy pods and has 1")
RECLAIM = "interruption-i-1"


class Failing(Cluster):
    """Every change of its node fails in the same way."""

    error: HoldfastError

    def change_node(self, node: KubeNode, changed: KubeNode) -> KubeNode:
        raise self.error


@pytest.mark.parametrize("error", [Conflict("stale"), Busy("throttled"), Unknown("no answer")])
def test_an_outcome_is_handed_on_as_it_is_and_is_no_problem(error: HoldfastError) -> None:
    cluster = Failing(node())
    cluster.error = error
    executor = executor_of(cluster)

    assert do(executor, CordonNode("i-1", "act")) is error
    assert executor.problems == []


def test_a_machine_whose_node_was_never_seen_is_not_looked_for() -> None:
    cluster = Cluster(node(instance_id="i-9"), [pod("a", node="n-1")])

    for effect in (Admit("i-9"), CordonNode("i-9", "act"), Uncordon("i-9", "act")):
        assert do(executor_of(cluster), effect) == Happened(None)
    assert drained(executor_of(cluster), Drain("i-9", "act")) == Drained("its node is not listed")
    assert cluster.log == []


def test_a_cordon_of_ours_that_an_operator_lifted_ends_the_drain() -> None:
    opened = node(annotations={CORDON_OWNERS: "act"})
    cluster = Cluster(opened, [pod("a", node="n-1")])

    assert drained(executor_of(cluster)).blocked_by == "n-1 was uncordoned by a person"
    assert cluster.log == []


def test_once_begun_a_budget_that_is_used_up_is_waited_for() -> None:
    """Our own evictions used it up: to keep the node for that would drain it for ever."""
    cluster = Cluster(node(cordon_owners=["act"]), [pod("a", node="n-1")], {"a": FULL})
    executor = executor_of(cluster)
    executor.budgets = [budget(allowed=0)]

    answer = drained(executor)

    assert (answer.blocked_by, answer.left) == ("", 1)
    fresh = Cluster(node(), [pod("a", node="n-1")])
    executor = executor_of(fresh)
    executor.budgets = [budget(allowed=0)]
    assert "disruption budget" in drained(executor).blocked_by
    assert fresh.log == []


def test_once_begun_a_pod_that_must_stay_still_keeps_the_node() -> None:
    cluster = Cluster(node(cordon_owners=["act"]), [pod("bare", node="n-1", owner="")])

    assert "no controller" in drained(executor_of(cluster)).blocked_by
    assert cluster.log == []


def test_budgets_are_asked_first_only_where_that_is_wanted() -> None:
    cluster = Cluster(node(), [pod("a", node="n-1")], {"a": FULL})

    at_once = drained(executor_of(cluster, drain=DrainRules(budgets_are_asked_first=False)))

    assert (at_once.blocked_by, cluster.log) == ("", ["change"])


def test_an_interrupted_node_is_not_empty_while_pods_that_move_are_still_there() -> None:
    cluster = Cluster(node(), [pod("a", node="n-1"), pod("b", node="n-1")], {"b": FULL})
    effect = Drain("i-1", RECLAIM, int(NOW_S) + 100)

    first = drained(executor_of(cluster), effect)
    second = drained(executor_of(cluster), effect)

    assert first.left == 2, "one was evicted, and is not yet seen to be gone"
    assert second.left == 1
    assert second.blocked_by == "", "a deadline waits for no budget's leave"


def test_near_the_deadline_no_pod_is_deleted_by_a_record_that_was_read_long_ago() -> None:
    cluster = Cluster(node(cordon_owners=[RECLAIM]), [pod("a", node="n-1")])
    executor = executor_of(cluster, read_s=NOW_S - EVICT_WITHIN_S - 1)

    outcome = do(executor, Drain("i-1", RECLAIM, int(NOW_S + HARD_S) - 10))

    assert isinstance(outcome, Busy)
    assert cluster.log == []


def test_pods_are_asked_kindly_until_the_hard_part_begins() -> None:
    for left_s, log in ((HARD_S + 1, ["evict a 30"]), (HARD_S, ["delete a 30"])):
        cluster = Cluster(node(cordon_owners=[RECLAIM]), [pod("a", node="n-1")])
        drained(executor_of(cluster), Drain("i-1", RECLAIM, int(NOW_S + left_s)))
        assert cluster.log == log


def test_what_is_changed_leaves_all_else_of_the_node_as_it_was() -> None:
    gpu = [{"key": "gpu", "effect": "NoSchedule"}]
    cluster = Cluster(node(joining=True, taints=gpu, annotations={"team": "shop"}, cordoned=True))
    executor = executor_of(cluster)

    def now() -> tuple[list[str], str, bool]:
        assert cluster.here is not None
        here = cluster.here
        return [t.key for t in here.spec.taints], here.metadata.annotations["team"], here.spec.unschedulable

    do(executor, Admit("i-1"))
    assert now() == (["gpu"], "shop", True)
    do(executor, CordonNode("i-1", "one"))
    do(executor, CordonNode("i-1", "two"))
    assert now() == (["gpu"], "shop", True)
    assert cluster.here is not None
    assert cordon_owners(cluster.here) == {"one", "two"}
    do(executor, Uncordon("i-1", "one"))
    do(executor, Uncordon("i-1", "two"))
    assert now() == (["gpu"], "shop", True), "a person had cordoned it"
    assert cordon_owners(cluster.here) == frozenset()


class Recorder:
    """A cloud and an inbox that only remember what was asked of them."""

    def __init__(self) -> None:
        self.asked: list[tuple[Any, ...]] = []

    def terminate(self, instance_ids: Sequence[str]) -> Mapping[str, Termination]:
        self.asked.append(("terminate", *instance_ids))
        return dict.fromkeys(instance_ids, Termination.ACCEPTED)

    def launch(self, action_id: str, launch: Launch) -> Launched:
        self.asked.append(("launch", action_id, launch))
        return Launched(("i-9",))

    def prepare(self, pool: Pool) -> None:
        self.asked.append(("prepare", pool.name))

    def forget(self, keys: Sequence[str]) -> None:
        self.asked.append(("forget", *keys))


def recorded(*effects: Effect) -> tuple[list[tuple[Any, ...]], list[Outcome]]:
    executor, recorder = executor_of(Cluster(node(joining=True), [pod("a", node="n-1")])), Recorder()
    executor.cloud = executor.inbox = cast("Any", recorder)
    return recorder.asked, executor.perform(effects)


def test_only_machines_that_are_named_are_terminated_and_each_once() -> None:
    harmless = (Drain("i-1", "act"), CordonNode("i-1", "act"), Admit("i-1"), Uncordon("i-1", "act"))

    assert recorded(*harmless)[0] == []
    asked, outcomes = recorded(*harmless, Terminate("i-8"), Terminate("i-9"))
    assert asked == [("terminate", "i-8", "i-9")]
    assert outcomes[-2:] == [Happened(None), Happened(None)]


def test_each_effect_is_sent_to_its_service_word_for_word() -> None:
    launch = row(2, count=3)

    asked, outcomes = recorded(
        LaunchInstances("1-a", launch),
        PrepareTemplate("default", "d"),
        PrepareTemplate("old", "d"),
        ForgetNotices(("k",)),
    )

    assert asked == [("launch", "1-a", launch), ("prepare", "default"), ("forget", "k")]
    assert outcomes[0] == Happened(Launched(("i-9",)))


def test_a_first_round_says_how_many_are_to_leave_and_a_later_one_which_pods_it_waits_for() -> None:
    pods = [pod(name, node="n-1") for name in ("a", "b")]
    cluster = Cluster(node(), pods, {"a": FULL, "b": Evicted(Eviction.REFUSED, "another word")})
    executor = executor_of(cluster, drain=DrainRules(budgets_are_asked_first=False))

    assert drained(executor).left == 2
    assert drained(executor).waiting_for == f"shop/a: {FULL.message}"


def test_a_budget_speaks_for_the_healthy_alone() -> None:
    """One that is used up lets unready pods go, and what it says to those is not for the others."""
    unready = {"conditions": [{"type": "Ready", "status": "False"}]}
    sick, well = pod("a-sick", node="n-1", status=unready), pod("b-well", node="n-1")
    for refuses, log in (
        ({"a-sick": FULL}, ["evict a-sick", "evict b-well"]),
        ({"a-well": FULL}, ["evict a-well", "evict b-sick"]),
    ):
        names = [pod("a-well", node="n-1"), pod("b-sick", node="n-1", status=unready)]
        cluster = Cluster(
            node(cordon_owners=["act"]), [sick, well] if "a-sick" in refuses else names, refuses
        )
        executor = executor_of(cluster)
        executor.budgets = [budget(allowed=0, healthy=2, desired=1)]
        drained(executor)
        assert cluster.log == log


def test_an_eviction_does_not_wait_for_its_turn_longer_than_the_record_is_fresh() -> None:
    executor = executor_of(Cluster(node()))
    executor.budgets = [budget("web")]
    executor.perform([])

    with executor._turn(("shop", "web")), pytest.raises(Busy), executor._turn(("shop", "web")):
        pass
    assert executor.clock.now_s() - NOW_S == pytest.approx(EVICT_WITHIN_S, abs=1)
