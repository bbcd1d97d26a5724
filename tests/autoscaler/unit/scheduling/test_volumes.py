"""Pods with volumes: where they may go, and which new nodes they ask for."""

from typing import Any

import msgspec
import pytest

from holdfast.autoscaler.scheduling.fit import Doubt
from holdfast.autoscaler.scheduling.node_info import NodeInfo
from holdfast.autoscaler.scheduling.pack import Packed, pack, unplaceable
from holdfast.autoscaler.scheduling.topology import Topology
from holdfast.autoscaler.scheduling.volumes.needs import VolumeDoubt
from holdfast.autoscaler.snapshot.volumes import look_at_volumes
from holdfast.cloud.kubernetes import POOL_LABEL, Pod
from holdfast.cloud.volumes import VolumeLists
from holdfast.kernel import Busy, HoldfastError, Invalid
from tests.autoscaler.unit.scheduling.test_pack import ZONE, pool, room
from tests.cli.small_world import SmallWorld
from tests.scheduling.drawn_volumes import CLASSES, DRIVER
from tests.workloads import pending, pod

EPHEMERAL = {"volumeClaimTemplate": {"spec": {"storageClassName": "waits"}}}


def claim(name: str = "data", of_class: str = "waits", *, bound: bool = False, **spec: Any) -> dict[str, Any]:
    annotations = {"pv.kubernetes.io/bind-completed": "yes"} if bound else {}
    meta = {"name": name, "namespace": "shop", "uid": f"uid-{name}", "annotations": annotations}
    volume = {"volumeName": f"pv-{name}"} if bound else {}
    return {"metadata": meta, "spec": {"storageClassName": of_class, **volume, **spec}}


def volume(name: str = "pv-data", zone: str = "b", **spec: Any) -> dict[str, Any]:
    terms = [{"matchExpressions": [{"key": ZONE, "operator": "In", "values": [zone]}]}]
    affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}
    source = {"csi": {"driver": DRIVER, "volumeHandle": name}}
    return {
        "metadata": {"name": name},
        "spec": {**affinity, **source, **spec},
        "status": {"phase": "Available"},
    }


def lists(**said: Any) -> VolumeLists:
    return msgspec.convert({"classes": CLASSES, **said}, VolumeLists)


def with_claim(name: str = "db-0", *claims: str, node: str = "", **said: Any) -> Pod:
    volumes = [{"name": each, "persistentVolumeClaim": {"claimName": each}} for each in claims or ("data",)]
    spec = {"volumes": volumes}
    return pod(name, node=node, spec=spec, **said) if node else pending(name, spec=spec, **said)


def packed(
    pods: list[Pod], known: VolumeLists | None, *rooms: Any, limit: int = 10, **of_pool: Any
) -> Packed:
    topology = Topology([(each, NodeInfo()) for each in rooms], pods, None, known)
    return pack(pods, rooms, (pool(**of_pool),), limit, topology=topology)


def asked(pods: list[Pod], known: VolumeLists | None, **of_pool: Any) -> list[tuple[int, str]]:
    return [(need.count, need.zone) for need in packed(pods, known, **of_pool).needs]


def test_a_bound_claim_asks_for_a_node_in_its_volumes_zone() -> None:
    known = lists(claims=[claim(bound=True)], volumes=[volume(zone="b")])

    assert asked([with_claim()], known) == [(1, "b")]
    moving = with_claim(node="n-1")
    there = [room("n-1", zone="b"), room("n-2", zone="a")]
    topology = Topology([(there[0], NodeInfo([moving])), (there[1], NodeInfo())], (), None, known)
    assert "its volume is tied to other nodes" in unplaceable([moving], there[1:], topology)
    assert unplaceable([moving], [room("n-1", zone="b")], topology) == "", "no doubt is left"


def test_a_claim_that_waits_for_its_pod_asks_for_a_node_where_its_volume_can_be_made() -> None:
    assert asked([with_claim()], lists(claims=[claim()])) == [(1, "")]
    assert asked([with_claim()], lists(claims=[claim(of_class="waits-ab")]), zones="bc") == [(1, "b")]
    assert asked([with_claim()], lists(claims=[claim(of_class="waits-ab")]), zones="c") == []


def test_a_local_volume_ties_its_pod_to_its_node() -> None:
    known = lists(claims=[claim(of_class="local")], volumes=[volume("pv-1", storageClassName="local")])

    fate = packed([with_claim()], known, room("n-1", zone="a")).fates[0]
    assert (fate.left, fate.unsatisfiable) == (0, False), (
        "a volume is free in zone b, and a new node may be there"
    )
    nothing = packed([with_claim()], lists(claims=[claim(of_class="local")])).fates[0]
    assert nothing.unsatisfiable
    assert nothing.why == "no volume for it is there or can be made"


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ([], "its claim is not there: data"),
        ([claim(of_class="at-once")], "its claim is not bound, and no node changes that: data"),
        ([claim(of_class="unknown")], "its claim is not bound, and no node changes that: data"),
        ([claim(bound=True)], "the volume of its claim is not there: data"),
        ([{**claim(), "status": {"phase": "Lost"}}], "the volume of its claim is lost: data"),
        (
            [{**claim(), "metadata": {**claim()["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}],
            "its claim is being deleted: data",
        ),
    ],
)
def test_a_claim_that_no_node_helps_asks_for_none(claims: list[dict[str, Any]], why: str) -> None:
    fate = packed([with_claim()], lists(claims=claims)).fates[0]

    assert (fate.unsatisfiable, fate.why) == (True, why)


def test_one_pod_at_a_time_uses_a_claim_that_only_one_may() -> None:
    known = lists(claims=[claim(accessModes=["ReadWriteOncePod"], bound=True)], volumes=[volume(zone="a")])
    two = [with_claim("db-0"), with_claim("db-1")]

    done = packed(two, known)
    assert [(need.count, need.zone) for need in done.needs] == [(1, "a")]
    assert sum(fate.left for fate in done.fates) == 1
    moving = with_claim("db-0", node="n-1")
    topology = Topology([(room("n-1"), NodeInfo([moving])), (room("n-2"), NodeInfo())], (), None, known)
    assert unplaceable([moving], [room("n-2")], topology) == "", "it is not in its own way"


def test_a_node_takes_so_many_volumes_of_a_driver() -> None:
    """Nodes to come are expected to take what the pool's others do."""
    labels = {ZONE: "a", POOL_LABEL: "default"}
    full = room("n-1", cpu_m=0, labels=labels)
    drivers = {"drivers": [{"name": DRIVER, "allocatable": {"count": 2}}]}
    three = [with_claim(f"db-{n}", f"data-{n}") for n in range(3)]
    known = lists(
        claims=[claim(f"data-{n}") for n in range(3)],
        csi_nodes=[{"metadata": {"name": "n-1"}, "spec": drivers}],
    )
    done = packed(three, known, full, zones="a", labels=labels)

    assert [need.count for need in done.needs] == [2]
    assert len(done.fates) == 1, "claims of one kind do not part replicas"
    alone = packed(three, lists(claims=known.claims), room("n-1", cpu_m=0), zones="a", labels=labels)
    assert [need.count for need in alone.needs] == [1]


def test_pods_that_share_a_claim_follow_the_first_of_them() -> None:
    two = [with_claim(f"web-{n}", cpu="1500m") for n in range(2)]

    done = packed(two, lists(claims=[claim()]))
    assert len({need.zone for need in done.needs}) == 1
    assert sum(need.count for need in done.needs) == 2


def test_an_ephemeral_volume_is_claimed_anew_elsewhere() -> None:
    moving = pod("job", node="n-1", spec={"volumes": [{"name": "scratch", "ephemeral": EPHEMERAL}]})
    old = claim("job-scratch", bound=True)
    topology = Topology(
        [(room("n-1"), NodeInfo([moving])), (room("n-2", zone="c"), NodeInfo())],
        (),
        None,
        lists(claims=[old], volumes=[volume("pv-job-scratch", "a")]),
    )

    assert unplaceable([moving], [room("n-2", zone="c")], topology) == ""


@pytest.mark.parametrize(
    ("volumes", "known", "doubt"),
    [
        ({"persistentVolumeClaim": {"claimName": "data"}}, None, Doubt.VOLUME),
        (
            {"persistentVolumeClaim": {"claimName": "data"}},
            lists(
                claims=[claim()],
                csi_drivers=[{"metadata": {"name": DRIVER}, "spec": {"storageCapacity": True}}],
            ),
            VolumeDoubt.CAPACITY,
        ),
        ({"awsElasticBlockStore": {"volumeID": "vol-1"}}, lists(), VolumeDoubt.DISK),
        (
            {"ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "at-once"}}}},
            lists(),
            VolumeDoubt.IMMEDIATE,
        ),
    ],
)
def test_what_is_not_weighed_is_named_and_counts_the_safe_way(
    volumes: dict[str, Any], known: VolumeLists | None, doubt: str
) -> None:
    waiting = pending("db-0", spec={"volumes": [{"name": "data", **volumes}]})

    done = packed([waiting], known, room("n-1"), zones="b")
    assert [(need.count, need.zone) for need in done.needs] == [(1, "")], "a new one is expected to take it"
    assert done.fates[0].group.doubts == (doubt,)
    moving = pod("db-0", node="n-0", spec={"volumes": [{"name": "data", **volumes}]})
    topology = Topology([(room("n-0"), NodeInfo([moving])), (room("n-1"), NodeInfo())], (), None, known)
    assert f"it has {doubt}, which is not considered yet" in unplaceable([moving], [room("n-1")], topology)


class WithoutVolumes(SmallWorld):
    error: HoldfastError = Busy("throttled")

    def volumes(self) -> VolumeLists:
        raise self.error


def test_volumes_are_listed_only_where_a_pod_has_a_claim_and_a_missing_grant_is_no_trouble() -> None:
    world, troubles = WithoutVolumes(), list[str]()

    assert (
        look_at_volumes(world, [pod(spec={"volumes": [{"name": "scratch", "emptyDir": {}}]})], troubles)
        is None
    )
    assert troubles == []
    assert look_at_volumes(world, [with_claim()], troubles) is None
    assert troubles == ["the volumes cannot be listed (throttled)"]
    world.error = Invalid("not allowed")
    assert look_at_volumes(world, [with_claim()], troubles) is None
    assert len(troubles) == 1
    assert look_at_volumes(SmallWorld.of(1), [with_claim()], troubles) == VolumeLists()


def test_a_new_node_is_expected_to_take_as_many_volumes_as_the_least_of_its_pool() -> None:
    labels = {ZONE: "a", POOL_LABEL: "default"}
    full = [room(name, cpu_m=0, labels=labels) for name in ("n-1", "n-2")]
    known = lists(
        claims=[claim(f"data-{n}") for n in range(2)],
        csi_nodes=[
            {
                "metadata": {"name": name},
                "spec": {"drivers": [{"name": DRIVER, "allocatable": {"count": most}}]},
            }
            for name, most in (("n-1", 1), ("n-2", 9))
        ],
    )
    two = [with_claim(f"db-{n}", f"data-{n}") for n in range(2)]

    assert [need.count for need in packed(two, known, *full, zones="a", labels=labels).needs] == [2]
