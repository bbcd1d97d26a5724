"""Which pods keep a node, by rule; and which pods a drain moves."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from holdfast.autoscaler.scale_down.drain import (
    Rule,
    blockers,
    grace_s,
    is_healthy,
    remaining,
    to_evict,
    to_move,
)
from holdfast.autoscaler.settings import DrainRules
from holdfast.cloud.kubernetes import Budget, Pod
from tests.workloads import budget, daemon, pod

SEED = DrainRules()
WEB = {"app": "web"}
SCRATCH = {"volumes": [{"name": "scratch", "emptyDir": {}}]}
HOST = {"volumes": [{"name": "logs", "hostPath": {"path": "/var/log"}}]}
MEMORY = {"volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}]}
SAFE = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}
UNSAFE = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
STAY = {"holdfast.dev/do-not-evict": "true"}
MIRROR = {"kubernetes.io/config.mirror": "hash"}


def rules_of(*pods: Pod, budgets: tuple[Budget, ...] = (), rules: DrainRules = SEED) -> list[Rule]:
    return [blocker.rule for blocker in blockers(pods, budgets, rules)]


def on(name: str = "web-1", **said: Any) -> Pod:
    return pod(name, node="n-1", **said)


@pytest.mark.parametrize(
    ("here", "rules"),
    [
        (on(), []),
        (on(priority_class="system-node-critical"), [Rule.NODE_CRITICAL]),
        (on(priority_class="system-cluster-critical"), [Rule.CLUSTER_CRITICAL]),
        (on(namespace="kube-system"), [Rule.KUBE_SYSTEM]),
        (
            on(namespace="kube-system", priority_class="system-cluster-critical"),
            [Rule.CLUSTER_CRITICAL, Rule.KUBE_SYSTEM],
        ),
        (on(owner=""), [Rule.UNMANAGED]),
        (on(owner="", annotations=SAFE), []),
        (on(spec=SCRATCH), [Rule.LOCAL_STORAGE]),
        (on(spec=HOST), [Rule.LOCAL_STORAGE]),
        (on(spec=MEMORY), []),
        (on(spec=SCRATCH, annotations=SAFE), []),
        (on(annotations=STAY), [Rule.DO_NOT_EVICT]),
        (on(annotations=UNSAFE), [Rule.DO_NOT_EVICT]),
        (on(annotations={**SAFE, **STAY}, owner=""), [Rule.DO_NOT_EVICT]),
        (on(annotations={"holdfast.dev/do-not-evict": "false"}), []),
        (on(namespace="kube-system", annotations=SAFE), [Rule.KUBE_SYSTEM]),
        (
            on(owner="", spec=SCRATCH, annotations=STAY),
            [Rule.UNMANAGED, Rule.LOCAL_STORAGE, Rule.DO_NOT_EVICT],
        ),
    ],
)
def test_each_rule_has_its_pods(here: Pod, rules: list[Rule]) -> None:
    assert rules_of(here) == rules


@pytest.mark.parametrize(
    "here",
    [
        daemon(node="n-1", priority_class="system-node-critical", spec=HOST),
        on(
            namespace="kube-system",
            annotations=MIRROR,
            owner="Node/n-1",
            priority_class="system-node-critical",
        ),
        on(phase="Succeeded", owner="", spec=SCRATCH),
        on(phase="Failed", namespace="kube-system"),
        on(terminating=True, owner="", annotations=STAY),
    ],
)
def test_what_comes_and_goes_with_the_node_or_is_over_blocks_nothing_and_is_not_touched(here: Pod) -> None:
    anything = budget("all", namespace=here.metadata.namespace)

    assert rules_of(here, budgets=(anything,)) == []
    assert to_evict([here]) == []
    assert to_move([here], moves_critical=True) == []


def test_a_daemon_set_counts_only_as_the_controller() -> None:
    mentioned = on(owner="DaemonSet/agent")
    owner = mentioned.metadata.owner_references[0]

    meta = msgspec.structs.replace(
        mentioned.metadata, owner_references=(msgspec.structs.replace(owner, controller=False),)
    )
    assert rules_of(msgspec.structs.replace(mentioned, metadata=meta)) == [Rule.UNMANAGED]


@pytest.mark.parametrize(
    ("switch", "here"),
    [
        ("critical_pods_stay", on(priority_class="system-node-critical")),
        ("critical_pods_stay", on(priority_class="system-cluster-critical")),
        ("kube_system_stays", on(namespace="kube-system")),
        ("unmanaged_pods_stay", on(owner="")),
        ("local_storage_stays", on(spec=SCRATCH)),
        ("local_storage_stays", on(spec=HOST)),
    ],
)
def test_each_rule_can_be_switched_off(switch: str, here: Pod) -> None:
    off = replace(SEED, **{switch: False})

    assert rules_of(here) != []
    assert rules_of(here, rules=off) == []


def test_an_exhausted_budget_blocks_and_says_which_and_by_how_much() -> None:
    exhausted = budget("web-pdb", selector=WEB, allowed=0, healthy=3, desired=3)

    (blocker,) = blockers([on(labels=WEB)], [exhausted], SEED)

    assert blocker.rule is Rule.BUDGET
    assert blocker.pod == "shop/web-1"
    assert "shop/web-pdb" in blocker.reason
    assert "3 healthy pods are needed, 3 there" in blocker.reason
    assert "shop/web-pdb" in blocker.remedy
    assert (
        rules_of(on(labels=WEB), budgets=(exhausted,), rules=replace(SEED, budgets_are_asked_first=False))
        == []
    )


@pytest.mark.parametrize(
    ("matching", "blocks"),
    [
        (budget(selector=WEB), True),
        (budget(selector=WEB, allowed=1), False),
        (budget(), True),
        (budget(matches_nothing=True), False),
        (budget(selector={"app": "db"}), False),
        (budget(selector={**WEB, "tier": "front"}), False),
        (budget(selector=WEB, namespace="other"), False),
        (budget(expressions=[{"key": "app", "operator": "In", "values": ["web", "db"]}]), True),
        (budget(expressions=[{"key": "app", "operator": "NotIn", "values": ["web"]}]), False),
        (budget(expressions=[{"key": "app", "operator": "Exists"}]), True),
        (budget(expressions=[{"key": "app", "operator": "DoesNotExist"}]), False),
        (budget(selector=WEB, expressions=[{"key": "tier", "operator": "Exists"}]), False),
    ],
)
def test_budgets_cover_pods_by_their_selectors(matching: Budget, blocks: bool) -> None:
    assert rules_of(on(labels=WEB), budgets=(matching,)) == ([Rule.BUDGET] if blocks else [])


def test_two_budgets_on_one_pod_block_even_if_both_would_allow_it() -> None:
    both = (budget("b", selector=WEB, allowed=5), budget("a", allowed=5))

    (blocker,) = blockers([on(labels=WEB)], both, SEED)

    assert blocker.rule is Rule.TWO_BUDGETS
    assert "a, b" in blocker.reason
    never_asked = replace(SEED, budgets_are_asked_first=False)
    assert rules_of(on(labels=WEB), budgets=both, rules=never_asked) == [Rule.TWO_BUDGETS]


def test_a_pod_that_is_not_ready_may_go_while_enough_others_are_healthy() -> None:
    unready = {"conditions": [{"type": "Ready", "status": "False"}]}
    enough, too_few = budget(healthy=2, desired=2), budget(healthy=1, desired=2)

    assert rules_of(on(status=unready), budgets=(enough,)) == []
    assert rules_of(on(status=unready), budgets=(too_few,)) == [Rule.BUDGET]
    assert rules_of(on(), budgets=(enough,)) == [Rule.BUDGET], "a ready one may not"


def test_a_budget_that_needs_no_healthy_pod_lets_none_go_for_being_unready() -> None:
    """Kubernetes reads such a budget as one that it has not counted yet."""
    unready = {"conditions": [{"type": "Ready", "status": "False"}]}

    assert rules_of(on(status=unready), budgets=(budget(healthy=0, desired=0),)) == [Rule.BUDGET]


@pytest.mark.parametrize(
    ("here", "healthy"),
    [
        (on(), True),
        (on(status={"conditions": []}), True),
        (on(status={"conditions": [{"type": "Ready", "status": "False"}]}), False),
        (on(phase="Pending"), False),
        (on(phase="Pending", status={"conditions": []}), False),
        (
            on(
                status={
                    "conditions": [
                        {"type": "PodScheduled", "status": "True"},
                        {"type": "Ready", "status": "False"},
                    ]
                }
            ),
            False,
        ),
    ],
)
def test_a_healthy_pod_runs_and_does_not_say_that_it_is_not_ready(here: Pod, healthy: bool) -> None:
    assert is_healthy(here) is healthy


def test_a_pod_that_has_not_started_asks_no_budget() -> None:
    assert rules_of(on(phase="Pending"), budgets=(budget("a"), budget("b"))) == []


def test_all_blockers_are_named_not_only_the_first() -> None:
    here = [
        on("a", owner=""),
        on("b", namespace="kube-system"),
        on("c", labels=WEB),
        on("d", priority_class="system-node-critical"),
    ]
    found = blockers(here, [budget(selector=WEB)], SEED)

    assert [(each.pod, each.rule) for each in found] == [
        ("kube-system/b", Rule.KUBE_SYSTEM),
        ("shop/a", Rule.UNMANAGED),
        ("shop/c", Rule.BUDGET),
        ("shop/d", Rule.NODE_CRITICAL),
    ]
    assert all(each.reason and each.remedy for each in found)
    assert str(found[1]).startswith("unmanaged pod: nothing would start shop/a again")


def test_pods_leave_by_namespace_and_name() -> None:
    here = [on("b"), on("a", namespace="web"), on("a")]

    assert [each.called for each in to_evict(here)] == ["shop/a", "shop/b", "web/a"]


def test_a_node_is_empty_when_what_is_on_its_way_out_is_out() -> None:
    here = [on("a", terminating=True), on("b", phase="Succeeded"), daemon(node="n-1")]

    assert [each.metadata.name for each in remaining(here)] == ["a"]


def test_from_an_interrupted_node_all_move_but_what_only_that_node_needs() -> None:
    here = [
        on("proxy", namespace="kube-system", priority_class="system-node-critical"),
        on("dns", namespace="kube-system", priority_class="system-cluster-critical"),
        on("metrics", namespace="kube-system"),
        on("gate", priority_class="system-cluster-critical"),
        on("bare", owner="", spec=SCRATCH, annotations=STAY),
        on("web"),
    ]

    assert [each.metadata.name for each in to_move(here, moves_critical=False)] == ["bare", "web"]
    assert [each.metadata.name for each in to_move(here, moves_critical=True)] == [
        "bare",
        "web",
        "dns",
        "metrics",
        "gate",
    ], "what the cluster lives by goes last"


@pytest.mark.parametrize(
    ("own", "now_s", "deadline_s", "grace"),
    [
        (30, 100.0, 200, 30),
        (30, 180.0, 200, 20),
        (30, 180.7, 200, 19),
        (30, 199.9, 200, 1),
        (30, 500.0, 200, 1),
        (0, 100.0, 200, 1),
        (600, 100.0, 0, 600),
    ],
)
def test_grace_is_clamped_to_what_the_deadline_leaves(
    own: int, now_s: float, deadline_s: int, grace: int
) -> None:
    assert grace_s(on(grace_s=own), now_s, deadline_s) == grace
