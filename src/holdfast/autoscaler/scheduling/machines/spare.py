"""Headroom of pools, as pods that are only reckoned with: they never exist in the cluster.

They come last in every reckoning, so that real pods take their room first.  A new node is asked for where
they find none.  A node may leave unless the others then have room for fewer of them than all have now: what
was never there is no reason to keep a node.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from holdfast.autoscaler.scheduling.fit import Room
from holdfast.autoscaler.scheduling.node_bins import NodeBin, Placed, fill
from holdfast.autoscaler.scheduling.pod_groups import PodGroup
from holdfast.autoscaler.scheduling.topology import Topology
from holdfast.autoscaler.settings import Pool
from holdfast.cloud.kubernetes import Container, Meta, Pod, PodSpec, Resources, Toleration
from holdfast.cloud.requests import requests_of

Spares = Mapping[str, PodGroup]
"""By pool."""


def spares_of(pools: Sequence[Pool]) -> Spares:
    return {pool.name: _group(pool) for pool in pools if pool.spare is not None}


def _group(pool: Pool) -> PodGroup:
    assert pool.spare is not None
    asked = Resources(requests={"cpu": f"{pool.spare.cpu_m}m", "memory": pool.spare.memory})
    pod = Pod(
        metadata=Meta(namespace="(spare)", name=pool.name),
        spec=PodSpec(
            containers=(Container(resources=asked),),
            tolerations=tuple(
                Toleration(key=taint.key, operator="Exists", effect=taint.effect) for taint in pool.taints
            ),
        ),
    )
    return PodGroup((pod,) * pool.spare.count, requests_of(pod), (), frozenset())


@cache
def _no_rules() -> Topology:
    return Topology()


def placed_in(pool: str, group: PodGroup, node_bins: Iterable[NodeBin]) -> tuple[tuple[Placed, ...], int]:
    """Where they find room on nodes of the pool, and how many do not."""
    return fill(group, (each for each in node_bins if each.room.pool == pool), _no_rules())


def missing(spares: Spares, rooms: Iterable[Room]) -> dict[str, int]:
    """By pool: for how many there is no room."""
    node_bins = [NodeBin(room) for room in rooms]
    return {pool: placed_in(pool, group, node_bins)[1] for pool, group in spares.items()}


def taken_away(spares: Spares, node_bins: Sequence[NodeBin], missing_now: Mapping[str, int]) -> str:
    """Which pool would have less headroom than now; empty if none would."""
    for pool, group in spares.items():
        _, left = placed_in(pool, group, node_bins)
        if left > missing_now[pool]:
            return f"{SPARE} of pool {pool}: the others have room for {len(group.pods) - left} of it"
    return ""


SPARE = "spare"
"""How a reason begins that is about headroom."""
