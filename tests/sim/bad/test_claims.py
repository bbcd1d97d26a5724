"""Pods with claims in the simulated world: they follow their volumes, and pin no node."""

from holdfast.sim.kubernetes.pods import Owned, Workload
from tests.sim.bad.days import CALM, a_day
from tests.sim.test_sim_cluster import Here, where


def test_a_pod_waits_for_a_node_in_the_zone_of_its_volume() -> None:
    here = Here(nodes=1)
    store = here.api.deploy(Workload(name="db", kind=Owned.STATEFUL_SET, claims=True))
    here.wait(20)
    (volume,) = here.api.volumes().volumes
    here.api.add_node("elsewhere", zone="b", ready=True)
    here.cordon(here.nodes[0])
    here.api.evict(next(iter(store.pods.values())).value())
    here.wait(120)

    assert volume.spec.node_affinity is not None
    assert where(store) == {"db-0": ""}, "the other zone has room, and not its volume"
    here.api.add_node("near", zone="a", ready=True)
    here.wait(20)
    assert where(store) == {"db-0": "near"}


def test_the_fleet_shrinks_under_pods_with_claims_and_grows_where_their_volumes_are() -> None:
    day = a_day()
    web = day.cluster.deploy(Workload(name="web", cpu_m=1_500, replicas=6, busy=0.9))
    day.until(lambda: day.serving >= 6, 3_600)
    store = day.cluster.deploy(
        Workload(name="db", kind=Owned.STATEFUL_SET, claims=True, cpu_m=200, replicas=3, busy=0.05)
    )
    day.until(lambda: all(pod.ready for pod in store.pods.values()), 1_800)
    zones = {pod.name: pod.node.zone for pod in store.pods.values() if pod.node}
    day.cluster.scale(web, 1)
    day.until(lambda: day.serving <= CALM.min_workers + 1, 4 * 3_600)

    assert day.serving <= CALM.min_workers + 1, day.record.hold_reason
    assert {pod.name: pod.node.zone for pod in store.pods.values() if pod.node} == zones
    day.cluster.scale(store, 12)
    took_s = day.until(lambda: len(store.pods) == 12 and all(pod.node for pod in store.pods.values()), 3_600)
    assert took_s <= 3_600, day.record.hold_reason
