"""What a commit means for the pods and nodes that it concerns: told on the objects themselves."""

from dataclasses import replace

from holdfast.autoscaler.events import AutoscalerEvent
from holdfast.autoscaler.execute import Executor
from holdfast.autoscaler.reasons import Reason
from holdfast.autoscaler.report.announcements import ANNOUNCED_MAX, announced
from holdfast.autoscaler.snapshot import Ghost
from holdfast.autoscaler.snapshot.build import build
from holdfast.cloud import State
from holdfast.cloud.announcements import Announcement, WaitingPod
from holdfast.kernel import Event, Invalid
from tests.autoscaler.unit.snapshots import SETTINGS, snapshot, worker
from tests.workloads import listings, node, pending

LOOK = snapshot(worker("i-1"), worker("i-2"))


def told(kind: AutoscalerEvent, about: str = "", reason: str = "") -> list[tuple[str, str, str]]:
    found = announced([Event(kind, 1.0, about=about, reason=reason)], LOOK)
    return [(each.name, each.reason, each.message) for each in found]


def test_nodes_are_told_what_is_done_to_them_and_why() -> None:
    assert told(AutoscalerEvent.BEGIN_SCALE_DOWN, "1-me", "i-1 i-2") == [
        ("n-i-1", "ScaleDown", "it is cordoned and drained"),
        ("n-i-2", "ScaleDown", "it is cordoned and drained"),
    ]
    assert told(AutoscalerEvent.DRAIN_SKIPPED, "i-1", "shop/db") == [
        ("n-i-1", "ScaleDownAborted", "it stays in service: shop/db")
    ]
    assert [reason for _, reason, _ in told(AutoscalerEvent.INTERRUPTED, "i-2", "interruption")] == [
        "SpotInterruption"
    ]
    assert [reason for _, reason, _ in told(AutoscalerEvent.INTERRUPTED, "i-2", "rebalance")] == [
        "RebalanceRecommendation"
    ]
    assert told(AutoscalerEvent.TERMINATING, "i-1", "its node is gone") == [
        ("n-i-1", "ScaleDown", "its machine is being terminated: its node is gone")
    ]
    assert told(AutoscalerEvent.TERMINATING, "i-9") == [], "no node, no reader"
    assert told(AutoscalerEvent.LOCK_TAKEN, "i-1") == []


def test_a_machine_that_is_lost_is_told_on_the_node_that_it_leaves_behind() -> None:
    look = replace(LOOK, workers=(), ghosts=(Ghost("i-1", "n-1", "uid-1", State.TERMINATED),))

    (found,) = announced([Event(AutoscalerEvent.LOST, 1.0, about="i-1", reason="Spot interruption")], look)

    assert (found.name, found.warning) == ("n-1", True)
    assert found.message == "its machine is gone: Spot interruption"


def test_pods_are_told_of_the_scale_up_that_is_for_them_or_why_there_is_none() -> None:
    waiting = (
        WaitingPod("shop", "web-1", "u-1", True),
        WaitingPod("shop", "gpu-1", "u-2", False, "no pool offers nvidia.com/gpu"),
    )
    look = replace(LOOK, waiting_pods=lambda: waiting)
    up = Event(
        AutoscalerEvent.BEGIN_SCALE_UP, 1.0, about="1-me", reason="pods are pending: 1 x spot/m5.large/a"
    )
    hold = Event(AutoscalerEvent.DECISION, 1.0, about="hold", reason="cooling down")

    assert announced([up], look) == (
        Announcement("Pod", "web-1", "u-1", "TriggeredScaleUp", up.reason, "shop"),
    )
    assert announced([hold], look) == (
        Announcement(
            "Pod", "gpu-1", "u-2", "NotTriggerScaleUp",
            "no new worker would take it: no pool offers nvidia.com/gpu", "shop",
        ),
    )  # fmt: skip
    full = replace(hold, reason="the fleet has its maximum size", code=Reason.AT_MAXIMUM)
    assert [(each.name, each.reason, each.message) for each in announced([full], look)] == [
        ("web-1", "NotTriggerScaleUp", "the fleet has its maximum size"),
        ("gpu-1", "NotTriggerScaleUp", "no new worker would take it: no pool offers nvidia.com/gpu"),
    ], "a pod that a new worker would take hears what keeps that worker from coming"


def test_pods_that_wait_are_named_with_what_a_new_node_would_do_for_them() -> None:
    pods = [pending("small", cpu="1900m"), pending("huge", cpu="900")]
    nodes = [node(f"n-{n}", zone=zone) for n, zone in enumerate("abc")]

    found = {pod.name: pod.helped for pod in build(listings(*nodes, pods=pods)).waiting_pods()}

    assert found["huge"] is False


def test_a_storm_is_told_of_its_first_few() -> None:
    events = [Event(AutoscalerEvent.DRAINED, 1.0, about="i-1")] * 50

    assert len(announced(events, LOOK)) == ANNOUNCED_MAX


def test_an_api_that_takes_no_event_holds_nothing_up() -> None:
    asked: list[Announcement] = []

    class Api:
        def announce(self, announcement: Announcement, at_s: float) -> None:
            asked.append(announcement)
            raise Invalid("grant verb `create` on `events`")

    class Clock:
        def now_s(self) -> float:
            return 1.0

    executor = Executor(SETTINGS, None, Api(), None, Clock())  # type: ignore[arg-type]

    executor.announce([Event(AutoscalerEvent.DRAINED, 1.0, about=i) for i in ("i-1", "i-2")], LOOK)

    assert len(asked) == 1
    assert executor.problems == []
