"""For every pod that waits: which node would take it, and if none, why."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from holdfast.autoscaler.scale_down.drain import is_daemon
from holdfast.autoscaler.scheduling.fit import Room, not_for_us_to_place
from holdfast.autoscaler.scheduling.pack import Fate, Packed
from holdfast.autoscaler.scheduling.pod_groups import owner_of
from holdfast.autoscaler.scheduling.simulation import Simulation, is_unschedulable
from holdfast.cloud.kubernetes import FINISHED, Pod

NAMED_MAX = 5


@dataclass(frozen=True, slots=True)
class PodVerdict:
    """Pods that are alike, and what becomes of them."""

    example: str
    """namespace/name of one of them."""
    count: int
    owners: tuple[str, ...]
    takers: tuple[str, ...] = ()
    """The nodes that would take them, with how many."""
    why: str = ""
    """Why there is no taker, or not for all; or what is not certain about it."""
    unsatisfiable: bool = False
    """No template of ours could run them."""
    scheduler: str = ""
    """Why the scheduler found no node, in its own words."""

    def as_json(self) -> dict[str, Any]:
        return {
            "example": self.example,
            "count": self.count,
            "owners": list(self.owners),
            "takers": list(self.takers),
            "why": self.why,
            "unsatisfiable": self.unsatisfiable,
            "scheduler": self.scheduler,
        }


def explain_pods(
    simulation: Simulation, on_its_way: int, broken: Mapping[str, str] = MappingProxyType({})
) -> tuple[PodVerdict, ...]:
    """`broken`: pools that cannot be launched from, and why."""
    packed = simulation.packed(on_its_way)
    verdicts = [_verdict(fate, packed, broken) for fate in packed.fates]
    return (*verdicts, *_not_considered(simulation))


def _verdict(fate: Fate, packed: Packed, broken: Mapping[str, str]) -> PodVerdict:
    group = fate.group
    why = fate.why or _kept_from(fate, packed, broken)
    if not why and group.doubts:
        why = f"not certain: it has {group.doubts[0]}, which is not considered yet"
    if not why and not fate.helped:
        why = "it fits there, and the scheduler does not put it there"
    return PodVerdict(
        group.example.called,
        len(group.pods),
        tuple(sorted({owner_of(pod) for pod in group.pods})),
        tuple(_takers(fate, packed.opened, broken)),
        why,
        fate.unsatisfiable,
        group.example.scheduler_says,
    )


def _takers(fate: Fate, opened: Iterable[Room], broken: Mapping[str, str]) -> Iterable[str]:
    pool_of = {room.name: room.pool for room in opened}
    there = [placed for placed in fate.placed if placed.room not in pool_of]
    for placed in there[:NAMED_MAX]:
        yield f"{placed.room}: {_pods(placed.count)}"
    if there[NAMED_MAX:]:
        others = sum(placed.count for placed in there[NAMED_MAX:])
        yield f"{len(there) - NAMED_MAX} more nodes: {_pods(others)}"
    for pool in dict.fromkeys(pool_of.values()):
        new = [placed.count for placed in fate.placed if pool_of.get(placed.room) == pool]
        if new and pool not in broken:
            yield f"{len(new)} new of pool {pool}: {_pods(sum(new))}"


def _kept_from(fate: Fate, packed: Packed, broken: Mapping[str, str]) -> str:
    """A new node of a pool that cannot be launched from does not come."""
    placed = {each.room for each in fate.placed}
    pools = dict.fromkeys(room.pool for room in packed.opened if room.name in placed)
    return "; ".join(
        f"pool {pool} cannot be launched from: {broken[pool]}" for pool in pools if pool in broken
    )


def _pods(count: int) -> str:
    return f"{count} pods" if count > 1 else "1 pod"


def _not_considered(simulation: Simulation) -> Iterable[PodVerdict]:
    """Pods without a node that are no reason to scale up."""
    alike: dict[tuple[str, str], list[Pod]] = {}
    for pod in simulation.unbound:
        if node := simulation.preempting.get(pod.metadata.uid):
            why = f"the scheduler will end pods of lower priority for it on {node}"
            alike.setdefault((owner_of(pod), why), []).append(pod)
        elif not is_unschedulable(pod) and pod.status.phase not in FINISHED:
            alike.setdefault((owner_of(pod), _why_not(pod)), []).append(pod)
    for (owner, why), pods in alike.items():
        yield PodVerdict(pods[0].called, len(pods), (owner,), why=why)


def _why_not(pod: Pod) -> str:
    if pod.metadata.deletion_timestamp is not None:
        return "it is being deleted"
    if is_daemon(pod):
        return "a DaemonSet wants it on one certain node: another node would not help"
    if pod.status.nominated_node_name:
        return f"the scheduler makes room for it on {pod.status.nominated_node_name}"
    return not_for_us_to_place(pod) or "the scheduler has not looked at it yet"
