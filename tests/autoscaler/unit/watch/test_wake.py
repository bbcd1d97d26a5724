"""Which changes wake a tick, and which wait for the next turn."""

from typing import Any

import msgspec
import pytest

from holdfast.autoscaler.watch.wake import reason_to_wake
from holdfast.cloud.kubernetes import DO_NOT_DISRUPT, SCALE_DOWN_DISABLED, BudgetSpec, Meta, Namespace
from tests.workloads import budget, node, pending, pod


def with_status(thing: Any, **said: Any) -> Any:
    return msgspec.structs.replace(thing, status=msgspec.structs.replace(thing.status, **said))


def with_meta(thing: Any, **said: Any) -> Any:
    return msgspec.structs.replace(thing, metadata=msgspec.structs.replace(thing.metadata, **said))


WAKING = {
    "a pod that is unschedulable from the beginning": (None, pending(), "shop/web-1 is unschedulable"),
    "a pod that becomes it": (
        with_status(pending(), conditions=()),
        pending(),
        "shop/web-1 is unschedulable",
    ),
    "a new node": (None, node("n-1"), "node n-1 is new"),
    "a node that is gone": (node("n-1"), None, "node n-1 is gone"),
    "a node that is ready": (node("n-1", ready=False), node("n-1"), "node n-1 has changed"),
    "a node that is not": (node("n-1"), node("n-1", ready=False), "node n-1 has changed"),
    "a cordon": (node("n-1"), node("n-1", cordon_owners=["1-a"]), "node n-1 has changed"),
    "a cordon of a person": (node("n-1"), node("n-1", cordoned=True), "node n-1 has changed"),
    "an owner more of a cordon": (
        node("n-1", cordon_owners=["1-a"]),
        node("n-1", cordon_owners=["1-a", "2-b"]),
        "node n-1 has changed",
    ),
    "a taint that is lifted": (node("n-1", joining=True), node("n-1"), "node n-1 has changed"),
    "a device that a node tells of": (
        node("n-1"),
        node("n-1", resources={"nvidia.com/gpu": "1"}),
        "node n-1 has changed",
    ),
    "a machine that is known": (node("n-1", instance_id="-"), node("n-1"), "node n-1 has changed"),
    "a wish to be left alone": (
        node("n-1"),
        with_meta(node("n-1"), annotations={DO_NOT_DISRUPT: "true"}),
        "node n-1 has changed",
    ),
    "a budget that asks for more": (
        budget("web"),
        msgspec.structs.replace(budget("web"), spec=BudgetSpec(min_available=9)),
        "budget shop/web has changed",
    ),
    "a word of a person": (
        node("n-1"),
        with_meta(node("n-1"), annotations={SCALE_DOWN_DISABLED: "true"}),
        "node n-1 has changed",
    ),
    "a node by the same name": (node("n-1"), with_meta(node("n-1"), uid="another"), "node n-1 has changed"),
    "a new budget": (None, budget("web"), "budget shop/web has changed"),
    "a budget that is gone": (budget("web"), None, "budget shop/web has changed"),
}


@pytest.mark.parametrize("what", WAKING)
def test_what_wakes_a_tick(what: str) -> None:
    before, after, why = WAKING[what]
    assert reason_to_wake(before, after) == why


SLEEPING = {
    "a pod that runs": (None, pod("web", node="n-1")),
    "a pod that is gone": (pending(), None),
    "a pod that still waits": (pending(), with_meta(pending(), resource_version="2")),
    "what a kubelet reports": (node("n-1"), with_meta(node("n-1"), resource_version="2")),
    "a budget that counts": (budget("web"), with_status(budget("web"), current_healthy=7)),
    "a namespace": (None, Namespace(metadata=Meta(name="shop"))),
    "nothing": (None, None),
}


@pytest.mark.parametrize("what", SLEEPING)
def test_what_lets_it_sleep(what: str) -> None:
    assert reason_to_wake(*SLEEPING[what]) == ""
