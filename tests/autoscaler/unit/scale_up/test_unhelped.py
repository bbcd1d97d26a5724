"""Pods that an empty node did not help: proven after a while, and not for ever."""

from dataclasses import replace

from holdfast.autoscaler.record import Cluster, Unhelped
from holdfast.autoscaler.scale_up import unhelped
from holdfast.autoscaler.scale_up.unhelped import LEFT_ALONE_S, PROVEN_S, ROWS_MAX
from tests.autoscaler.unit.snapshots import NOW_S, snapshot

AT_S = int(NOW_S)
PODS = "ReplicaSet shop/web"
SEEN = snapshot(unhelped={PODS: "n-9 stands empty"}, waiting=frozenset({PODS}))
GONE = snapshot()


def since(ago_s: int) -> Cluster:
    return Cluster(unhelped=(Unhelped(PODS, AT_S - ago_s),))


def left(cluster: Cluster, seen: object = SEEN) -> list[str]:
    write = unhelped.note(cluster, seen, NOW_S)  # type: ignore[arg-type]
    return [one.pods for one in (write.value if write else cluster).unhelped]


def test_the_scheduler_has_its_time_to_use_the_empty_node() -> None:
    assert left(Cluster()) == [PODS]
    assert unhelped.left_alone(since(PROVEN_S - 1), NOW_S) == frozenset()
    assert unhelped.left_alone(since(PROVEN_S), NOW_S) == {PODS}


def test_what_is_proven_outlives_the_empty_node_and_nothing_else_does() -> None:
    waits = replace(SEEN, unhelped={})

    assert left(since(PROVEN_S), waits) == [PODS]
    assert left(since(PROVEN_S - 1), waits) == []
    assert left(since(PROVEN_S), GONE) == []


def test_after_some_hours_they_may_ask_again() -> None:
    assert left(since(LEFT_ALONE_S - 1), replace(SEEN, unhelped={})) == [PODS]
    assert left(since(LEFT_ALONE_S), replace(SEEN, unhelped={})) == []


def test_no_more_are_remembered_than_a_record_holds() -> None:
    many = snapshot(unhelped={f"Job shop/j-{n:03}": "" for n in range(ROWS_MAX + 5)})

    assert len(left(Cluster(), many)) == ROWS_MAX
