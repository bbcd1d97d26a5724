"""How effects are carried out on a cluster: one short round at a time, on what is there now."""

from collections.abc import Callable, Sequence
from threading import Barrier
from time import sleep
from typing import Any, cast

import pytest

from holdfast.app.autoscaler.wiring import side_by_side
from holdfast.autoscaler.execute import ADMIT_WITHIN_S, EVICT_WITHIN_S, HARD_S, Executor
from holdfast.autoscaler.ports import (
    Admit,
    CordonNode,
    DeleteNode,
    Drain,
    Drained,
    Terminate,
    Uncordon,
)
from holdfast.autoscaler.scale_up.action import ADMISSION_S
from holdfast.cloud.kubernetes import (
    CORDON_FOUND,
    JOINING_TAINT,
    Budget,
    Evicted,
    Eviction,
    KubeNode,
    Pod,
    cordon_owners,
)
from holdfast.cloud.launches import Termination
from holdfast.kernel import Busy, Happened, Unknown
from tests.autoscaler.unit.tick.executing import NOW_S, Clock, Cluster, do, drained, executor_of
from tests.workloads import budget, daemon, node, pod


def test_a_drain_closes_the_node_first_and_evicts_in_the_next_round() -> None:
    cluster = Cluster(node(), [pod("a", node="n-1"), daemon(node="n-1")])
    executor = executor_of(cluster)

    first = drained(executor)
    second = drained(executor)
    third = drained(executor)

    assert (first.left, first.waiting_for) == (1, "the scheduler to see the cordon")
    assert second.left == 1, "evicted, and not yet seen to be gone"
    assert third == Drained()
    assert cluster.log == ["change", "evict a"]
    assert cluster.here is not None
    assert cluster.here.spec.unschedulable
    assert cordon_owners(cluster.here) == {"act"}


def test_an_empty_node_also_waits_until_its_cordon_was_seen() -> None:
    executor = executor_of(Cluster(node()))

    assert drained(executor).left
    assert drained(executor) == Drained()


@pytest.mark.parametrize(
    ("must_stay", "names"),
    [
        (pod("vip", node="n-1", priority_class="system-cluster-critical"), "system-cluster-critical"),
        (pod("dns", node="n-1", namespace="kube-system"), "kube-system"),
        (pod("bare", node="n-1", owner=""), "no controller"),
    ],
)
def test_a_node_with_a_pod_that_must_stay_is_not_touched_at_all(must_stay: Pod, names: str) -> None:
    cluster = Cluster(node(), [pod("a", node="n-1"), must_stay])

    answer = drained(executor_of(cluster))

    assert names in answer.blocked_by
    assert cluster.log == []


def test_a_budget_is_asked_before_the_node_is_touched() -> None:
    full = Evicted(Eviction.REFUSED, "the disruption budget b needs 2 healthy pods and has 2")
    cluster = Cluster(node(), [pod("a", node="n-1")], {"a": full})

    answer = drained(executor_of(cluster))

    assert "needs 2 healthy pods" in answer.blocked_by
    assert cluster.log == []


def test_once_begun_a_drain_waits_for_a_budget_and_says_for_which_pod() -> None:
    full = Evicted(Eviction.REFUSED, "needs 1 healthy pods and has 1")
    cluster = Cluster(node(cordon_owners=["act"]), [pod("a", node="n-1"), pod("b", node="n-1")], {"b": full})

    answer = drained(executor_of(cluster))

    assert answer.blocked_by == ""
    assert "shop/b: needs 1 healthy pods" in answer.waiting_for
    assert cluster.log == ["evict a", "evict b"]


class Crowd(Cluster):
    """As many nodes as are asked for, each with two pods; it sees how many evictions it has at once."""

    def __init__(self, meanwhile: Callable[[], object], refuses: dict[str, Evicted] | None = None) -> None:
        super().__init__(None, refuses=refuses or {})
        self.at_once = self.most_at_once = 0
        self.meanwhile = meanwhile

    def node(self, name: str) -> KubeNode | None:
        return node(name, instance_id=f"i-{name}", cordon_owners=["act"])

    def pods(self, node_name: str | None = None) -> Sequence[Pod]:
        return [pod(f"{node_name}-{n}", node=node_name or "", labels={"app": "web"}) for n in (1, 2)]

    def evict(self, pod: Pod, *, grace_s: int | None = None, dry_run: bool = False) -> Evicted:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        self.log.append(pod.metadata.name)
        self.meanwhile()
        self.at_once -= 1
        return self.refuses.get(pod.metadata.name, Evicted(Eviction.ACCEPTED))


class Standing(Clock):
    """Real threads wait for each other, and no time passes by it."""

    def sleep(self, seconds: float) -> None:
        give_way()


CROWD = 6


def give_way() -> None:
    """A chance for all others to come in between."""
    sleep(0.002)


def drain_crowd(cluster: Crowd, budgets: Sequence[Budget], made: type[Executor] = Executor) -> list[Drained]:
    """All nodes at once, each in a thread."""
    executor = executor_of(cluster, made=made)
    executor.names = {f"i-n-{n}": f"n-{n}" for n in range(CROWD)}
    executor.budgets, executor.together, executor.clock = budgets, side_by_side, Standing()
    outcomes = executor.perform([Drain(instance_id, "act") for instance_id in executor.names])
    assert all(isinstance(outcome, Happened) for outcome in outcomes), outcomes
    return [cast("Any", outcome).answer for outcome in outcomes]


def test_evictions_that_one_budget_covers_come_one_after_the_other() -> None:
    cluster = Crowd(give_way)
    drain_crowd(cluster, [budget(selector={"app": "web"}, allowed=20)])
    assert len(cluster.log) == 2 * CROWD
    assert cluster.most_at_once == 1


def test_evictions_that_no_budget_covers_do_not_wait_for_each_other() -> None:
    cluster = Crowd(Barrier(CROWD, timeout=30).wait)  # no thread gets on unless all are there
    drain_crowd(cluster, [budget(selector={"app": "other"})])
    assert len(cluster.log) == 2 * CROWD


def test_a_budget_that_has_refused_is_not_asked_again_in_the_same_round() -> None:
    full = Evicted(Eviction.REFUSED, "needs 1 healthy pods and has 1")
    cluster = Crowd(give_way, {f"n-{node}-{n}": full for node in range(CROWD) for n in (1, 2)})
    answers = drain_crowd(cluster, [budget(selector={"app": "web"}, allowed=1)])
    assert len(cluster.log) == 1
    assert all("needs 1 healthy pods" in answer.waiting_for and answer.left == 2 for answer in answers)


def test_two_budgets_on_one_pod_end_the_drain() -> None:
    never = Evicted(Eviction.IMPOSSIBLE, "more than one budget")
    cluster = Cluster(node(cordon_owners=["act"]), [pod("a", node="n-1")], {"a": never})

    assert "more than one budget" in drained(executor_of(cluster)).blocked_by


def test_a_tick_that_read_the_record_too_long_ago_evicts_no_pod() -> None:
    cluster = Cluster(node(cordon_owners=["act"]), [pod("a", node="n-1")])
    executor = executor_of(cluster, read_s=NOW_S - EVICT_WITHIN_S - 1)

    outcome = do(executor, Drain("i-1", "act"))

    assert isinstance(outcome, Busy)
    assert cluster.log == []


def test_a_tick_that_read_the_record_too_long_ago_opens_no_node() -> None:
    """Its machine may have been condemned meanwhile, and a condemnation does not look for pods."""
    tainted = node(joining=True)
    cluster = Cluster(tainted)

    outcome = do(executor_of(cluster, read_s=NOW_S - ADMIT_WITHIN_S - 1), Admit("i-1"))

    assert isinstance(outcome, Busy)
    assert cluster.here == tainted
    do(executor_of(cluster, read_s=NOW_S - ADMIT_WITHIN_S), Admit("i-1"))
    assert cluster.log == ["change"]
    assert ADMIT_WITHIN_S < ADMISSION_S, "clocks differ a little"


def test_a_node_whose_name_another_machine_has_taken_is_not_drained() -> None:
    cluster = Cluster(node(instance_id="i-other"), [pod("a", node="n-1")])

    assert drained(executor_of(cluster)) == Drained("its node is not listed")
    assert cluster.log == []


def test_an_interrupted_node_is_emptied_whatever_must_stay_with_the_grace_that_is_left() -> None:
    pods = [pod("a", node="n-1", grace_s=600), pod("dns", node="n-1", namespace="kube-system")]
    cluster = Cluster(node(), pods)

    drained(executor_of(cluster), Drain("i-1", "interruption-i-1", int(NOW_S) + 100))

    assert cluster.log == ["change", "evict a 100", "evict dns 30"]


def test_near_the_deadline_no_budget_is_asked_any_more() -> None:
    full = Evicted(Eviction.REFUSED, "no")
    cluster = Cluster(node(), [pod("a", node="n-1")], {"a": full})

    drained(executor_of(cluster), Drain("i-1", "interruption-i-1", int(NOW_S + HARD_S) - 10))

    assert cluster.log == ["change", "delete a 30"]


def test_critical_pods_of_an_interrupted_node_can_be_left_where_they_are() -> None:
    cluster = Cluster(node(), [pod("dns", node="n-1", namespace="kube-system")])
    executor = executor_of(cluster, interruption_moves_critical=False)

    assert drained(executor, Drain("i-1", "interruption-i-1", int(NOW_S) + 100)) == Drained()
    assert cluster.log == ["change"]


def test_a_cordon_opens_when_its_last_owner_lets_go() -> None:
    cluster = Cluster(node())
    executor = executor_of(cluster)
    for action in ("one", "two"):
        do(executor, CordonNode("i-1", action))

    def closed() -> tuple[bool, frozenset[str]]:
        assert cluster.here is not None
        return cluster.here.spec.unschedulable, cordon_owners(cluster.here)

    do(executor, Uncordon("i-1", "one"))
    assert closed() == (True, frozenset({"two"})), "the other one still wants it closed"
    do(executor, Uncordon("i-1", "two"))

    assert closed() == (False, frozenset())


def test_a_cordon_that_a_person_made_stays_after_us() -> None:
    cluster = Cluster(node(cordoned=True))
    executor = executor_of(cluster)

    do(executor, CordonNode("i-1", "act"))
    do(executor, Uncordon("i-1", "act"))

    assert cluster.here is not None
    assert cluster.here.spec.unschedulable
    assert CORDON_FOUND not in cluster.here.metadata.annotations


def test_uncordoning_for_an_action_that_owns_nothing_changes_nothing() -> None:
    cluster = Cluster(node(cordoned=True))

    do(executor_of(cluster), Uncordon("i-1", "act"))

    assert cluster.log == []


def test_an_admission_lifts_the_joining_taint_and_no_other() -> None:
    cluster = Cluster(node(joining=True, taints=[{"key": "gpu", "effect": "NoSchedule"}]))
    executor = executor_of(cluster)

    do(executor, Admit("i-1"))
    do(executor, Admit("i-1"))

    assert cluster.here is not None
    assert [taint.key for taint in cluster.here.spec.taints] == ["gpu"]
    assert JOINING_TAINT not in str(cluster.here.spec.taints)
    assert cluster.log == ["change"], "twice is once"


def test_terminations_are_one_request_and_each_has_its_own_outcome() -> None:
    executor = executor_of(Cluster(None))

    outcomes = executor.perform([Terminate("i-1"), Admit("i-1"), Terminate("i-new")])

    assert outcomes[0] == outcomes[1] == Happened(None)
    assert isinstance(outcomes[2], Busy), "what the cloud does not know yet is not gone"


def test_a_machine_that_the_role_may_not_end_is_told_with_the_fix() -> None:
    executor = executor_of(Cluster(None))

    outcomes = executor.perform([Terminate("i-1"), Terminate("i-retagged")])

    assert outcomes == [Happened(None), Happened(Termination.DENIED)]
    (told,) = executor.problems
    assert told.startswith("EC2 refuses to end i-retagged: the role may not: give i-retagged its tags back")


def test_a_lost_answer_to_a_termination_is_unknown_for_all_of_them() -> None:
    outcomes = executor_of(Cluster(None)).perform([Terminate("i-lost"), Terminate("i-1")])

    assert all(isinstance(outcome, Unknown) for outcome in outcomes)


def test_a_refusal_for_good_is_told_and_holds_up_no_other_effect() -> None:
    cluster = Cluster(node(joining=True))
    executor = executor_of(cluster)

    refused, admitted = executor.perform([DeleteNode("i-9", "n-9", "uid"), Admit("i-1")])

    assert isinstance(refused, Busy)
    assert admitted == Happened(None)
    assert executor.problems == ["grant verb `delete` on `nodes`"]


def test_what_a_machine_printed_that_never_joined_is_kept() -> None:
    executor = executor_of(Cluster(None))

    told = executor.perform([Terminate("i-1", keep_console=True), Terminate("i-mute", keep_console=True)])

    assert told[0] == Happened("NOT JOINING: the token is wrong")
    assert told[1] == Happened("(its console cannot be read: throttled)"), "it is ended all the same"
