"""Pods that the scheduler makes room for ask for no node."""

from typing import Any

import pytest

from holdfast.autoscaler.report.explain_pods import explain_pods
from holdfast.autoscaler.scheduling.preemption import FORESEEN_MAX
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.snapshot.build import build, join, simulate
from holdfast.cloud.kubernetes import Pod
from tests.workloads import UNSCHEDULABLE, listings, node, pending, pod

AT_S = 1_767_225_630.0
JUST_NOW, LONG_AGO = "2026-01-01T00:00:10Z", "2025-12-31T23:00:00Z"
SMALL = pod("batch", node="n-1", cpu="1500m", spec={"priority": -10})


def urgent(said: str = "0/1 nodes are available", since: str = JUST_NOW, **spec: Any) -> Pod:
    condition = {**UNSCHEDULABLE, "message": said, "lastTransitionTime": since}
    return pod("urgent", cpu="1", spec={"priority": 1_000, **spec}, status={"conditions": [condition]})


def seen(*pods: Pod) -> Snapshot:
    return build(listings(node("n-1"), pods=pods, at_s=AT_S))


def test_a_pod_that_will_preempt_asks_for_no_node() -> None:
    assert seen(SMALL, urgent()).needs(0) == ()
    assert seen(SMALL, urgent()).pending == 0


@pytest.mark.parametrize(
    "waits",
    [
        urgent(preemptionPolicy="Never"),
        urgent(
            said="0/1 nodes are available. preemption: 0/1 nodes are available: 1 No preemption victims found"
        ),
        urgent(since=LONG_AGO),
        urgent(since="never"),
        urgent(priority=-10),
        urgent(nodeSelector={"disk": "ssd"}),
    ],
    ids=[
        "polite",
        "the scheduler found no victims",
        "long ago",
        "unknown since when",
        "no lesser pod",
        "elsewhere",
    ],
)
def test_a_pod_that_will_not_preempt_is_counted(waits: Pod) -> None:
    found = seen(SMALL, waits)

    assert found.unschedulable == 1
    assert found.needs(0) or found.unsatisfiable


def test_explain_says_where_it_will_preempt() -> None:
    look = listings(node("n-1"), pods=(SMALL, urgent()), at_s=AT_S)
    (told,) = explain_pods(simulate(look, join(look)), 0)

    assert told.example == "shop/urgent"
    assert told.why == "the scheduler will end pods of lower priority for it on n-1"


def test_one_pod_preempts_on_a_node_and_others_ask_for_more() -> None:
    two = [
        urgent(),
        pod(
            "second",
            cpu="1",
            spec={"priority": 1_000},
            status={"conditions": [{**UNSCHEDULABLE, "lastTransitionTime": JUST_NOW}]},
        ),
    ]

    assert [need.count for need in seen(SMALL, *two).needs(0)] == [1]


def test_a_nominated_pod_takes_the_room_that_is_made_for_it() -> None:
    """What is free there is not given away a second time."""
    coming = pod("coming", cpu="1800m", spec={"priority": 1_000}, status={"nominatedNodeName": "n-1"})

    assert seen(pending("web", cpu="500m")).needs(0) == ()
    assert [need.count for need in seen(coming, pending("web", cpu="500m")).needs(0)] == [1]


def test_of_very_many_pods_none_is_foreseen_to_preempt() -> None:
    """Each is asked of every node, and the tick has no time for that: they are counted."""

    def many(count: int) -> Snapshot:
        condition = {**UNSCHEDULABLE, "lastTransitionTime": JUST_NOW}
        alike: dict[str, Any] = {"spec": {"priority": 1_000}, "status": {"conditions": [condition]}}
        return seen(SMALL, *(pod(f"urgent-{n}", cpu="1", **alike) for n in range(count)))

    assert many(FORESEEN_MAX).pending == FORESEEN_MAX - 1, "one preempts"
    assert many(FORESEEN_MAX + 1).pending == FORESEEN_MAX + 1


def test_a_pod_that_finds_room_as_it_is_takes_it_and_preempts_none() -> None:
    small: dict[str, Any] = {"containers": [{"resources": {"requests": {"cpu": "500m"}}}]}

    assert seen(SMALL, urgent(**small)).needs(0) == ()
    assert [need.count for need in seen(SMALL, urgent(**small), pending("web", cpu="500m")).needs(0)] == [1]
