"""Headroom: reckoned with, never there, and given up first."""

from dataclasses import replace
from typing import Any

from holdfast.autoscaler.decide import AddWorkers, decide
from holdfast.autoscaler.reasons import Reason
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.settings.spare import Spare
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.snapshot.build import build
from holdfast.cloud.kubernetes import KubeNode
from tests.workloads import ZONES, instance, listings, node, pending, pod

NOW_S = 1_730_000_000.0


def keeping(count: int, cpu_m: int = 1_000, memory: int = 0, **said: Any) -> Settings:
    pools = (
        Pool(subnet_ids=tuple(ZONES), spare=Spare(count, cpu_m, memory)),
        Pool(name="other", subnet_ids=tuple(ZONES)),
    )
    return Settings(**{"min_workers": 0, "pools": pools, **said})


def look(*nodes: KubeNode, settings: Settings, **said: Any) -> Snapshot:
    machines = [instance(f"i-{n}", pool=pool_of(each)) for n, each in enumerate(nodes, 1)]
    return build(listings(*nodes, settings=settings, instances=machines, **said))


def pool_of(each: KubeNode) -> str:
    return each.metadata.labels["holdfast.dev/pool"]


def asked(snapshot: Snapshot, coming: int = 0) -> list[tuple[str, int]]:
    return [(need.pool, need.count) for need in snapshot.needs(coming)]


def test_room_that_is_there_is_not_asked_for_and_what_is_short_is() -> None:
    assert asked(look(node("n-1"), settings=keeping(2))) == []
    taken = [pod("web", node="n-1", cpu="500m")]
    assert asked(look(node("n-1"), settings=keeping(2), pods=taken)) == [("default", 1)]
    assert asked(look(node("n-1"), settings=keeping(2), pods=taken), coming=1) == [], "one is on its way"
    large = [pod("web", node="n-1", memory="3Gi")]
    assert asked(look(node("n-1"), settings=keeping(1, memory=2 << 30), pods=large)) == [("default", 1)]
    assert asked(look(node("n-1", cordoned=True), settings=keeping(1))) == [("default", 1)]
    assert asked(look(node("n-1", pool="other"), settings=keeping(1))) == [("default", 1)]


def test_real_pods_take_it_first_and_it_is_no_pod_that_waits() -> None:
    seen = look(node("n-1"), settings=keeping(2), pods=[pending(cpu="2")])

    assert (seen.pending, seen.unschedulable, seen.waiting_pods()[0].name) == (0, 1, "web-1")
    assert asked(seen) == [("default", 1)], "the pod has the node, and the headroom a new one"
    alone = look(node("n-1"), settings=keeping(2))
    assert (alone.pending, alone.unschedulable, alone.waiting_pods()) == (0, 0, ())


def test_short_headroom_is_a_reason_to_scale_up_within_the_same_bounds() -> None:
    settings = keeping(2, max_batch_up=1)
    short = look(settings=settings)
    decision = decide(Cluster(), short, settings, NOW_S)

    assert isinstance(decision, AddWorkers)
    assert decision.code is Reason.SPARE_SHORT
    cooling = decide(Cluster(last_up_s=int(NOW_S) - 10), short, settings, NOW_S)
    assert cooling.code is Reason.SCALE_UP_COOLING_DOWN
    full = replace(settings, max_workers=0)
    assert decide(Cluster(), short, full, NOW_S).code is Reason.AT_MAXIMUM


def leaves(snapshot: Snapshot, instance_id: str) -> str:
    return snapshot.fits_without(frozenset({instance_id}), frozenset())


def test_a_node_stays_while_headroom_needs_it_and_leaves_when_it_does_not() -> None:
    two = (node("n-1"), node("n-2"))

    assert leaves(look(*two, settings=keeping(2)), "i-1") == ""
    why = leaves(look(*two, settings=keeping(3)), "i-1")
    assert why == "spare of pool default: the others have room for 2 of it"


def test_headroom_keeps_no_node_that_it_does_not_need() -> None:
    other = (node("n-1"), node("n-2", pool="other"))
    assert leaves(look(*other, settings=keeping(2)), "i-2") == "", "a node of another pool"
    never = look(node("n-1"), node("n-2"), settings=keeping(1, cpu_m=8_000))
    assert leaves(never, "i-1") == "", "it would fit nowhere anyway"
    full = [pod("a", node="n-1", cpu="1800m"), pod("b", node="n-2", cpu="1800m")]
    gone = look(node("n-1"), node("n-2"), node("n-3", cpu="4"), settings=keeping(9), pods=full)
    assert leaves(gone, "i-1") != "", "its pod would take what is there of it"
    assert "spare" in leaves(gone, "i-3") or "fits on no other" in leaves(gone, "i-3")
