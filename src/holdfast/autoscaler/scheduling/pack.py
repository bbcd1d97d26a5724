"""Where pods would go: first fit, the largest first.

Free room of nodes that stand or are on their way is filled first; what is left opens new nodes.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from holdfast.autoscaler.scheduling.fit import Room, is_vouched_for, misfit, shortage
from holdfast.autoscaler.scheduling.new_nodes import Candidate, Pool, in_order
from holdfast.autoscaler.scheduling.pod_groups import (
    NodeBin,
    NodeBins,
    Placed,
    PodGroup,
    fill,
    group_pods,
    largest_first,
)
from holdfast.autoscaler.snapshot import Need
from holdfast.cloud.kubernetes import Pod


@dataclass(frozen=True, slots=True)
class Fate:
    """What becomes of pods that are alike."""

    group: PodGroup
    placed: tuple[Placed, ...]
    left: int = 0
    why: str = ""
    """Why those that are left found no place."""
    unsatisfiable: bool = False
    """No template of ours could run them."""


@dataclass(frozen=True, slots=True)
class Packed:
    needs: tuple[Need, ...]
    fates: tuple[Fate, ...]
    opened: tuple[Room, ...] = ()
    """The new nodes, as they would be without the pods."""

    @property
    def placed(self) -> tuple[tuple[Placed, Pod], ...]:
        """With one of the pods that were placed there."""
        return tuple((placed, fate.group.example) for fate in self.fates for placed in fate.placed)

    @property
    def unsatisfiable(self) -> tuple[str, ...]:
        return tuple(f"{fate.group.called}: {fate.why}" for fate in self.fates if fate.unsatisfiable)

    @property
    def promising(self) -> int:
        """Pods that there is a place for, or that a new node could run."""
        return sum(len(fate.group.pods) - (fate.left if fate.unsatisfiable else 0) for fate in self.fates)


def pack(pods: Iterable[Pod], rooms: Sequence[Room], candidates: Sequence[Candidate], limit: int) -> Packed:
    """Place the pods in the rooms, then on new nodes of the candidates, `limit` of each pool at most."""
    node_bins = NodeBins(rooms)
    pools = in_order(candidates, rooms, limit)
    fates = []
    for group in largest_first(group_pods(pods)):
        placed, left = fill(group, node_bins)
        fates.append(_on_new_nodes(group, placed, left, pools) if left else Fate(group, placed))
    there = Counter(room.zone for room in rooms)
    return Packed(
        tuple(need for pool in pools for need in pool.needs(there)),
        tuple(fates),
        tuple(room for pool in pools for room in pool.opened()),
    )


def _on_new_nodes(group: PodGroup, placed: tuple[Placed, ...], left: int, pools: Sequence[Pool]) -> Fate:
    could, reasons = False, []
    for pool in pools:
        taken = pool.take(group, left)
        placed, left, could = (*placed, *taken.placed), taken.left, could or taken.could
        if not left:
            return Fate(group, placed)
        reasons.append(f"pool {pool.candidate.pool}: {taken.why}" if len(pools) > 1 else taken.why)
    why = "; ".join(reasons) or "there is no pool that could scale up"
    return Fate(group, placed, left, why, unsatisfiable=not could)


def unplaceable(pods: Iterable[Pod], rooms: Iterable[Room]) -> str:
    """The first of these pods that finds no place in the rooms, with the reason; empty if all do."""
    node_bins = NodeBins(rooms)
    for group in largest_first(group_pods(pods)):
        _, left = fill(group, node_bins, vouched=is_vouched_for(group.example))
        if left:
            return f"{group.example.called} fits on no other node: {_tally(group, node_bins)}"
    return ""


def _tally(group: PodGroup, node_bins: Iterable[NodeBin]) -> str:
    """Why none of them takes it: the most frequent kinds of reasons, with their number."""
    reasons = [_refusal(group, node_bin) for node_bin in node_bins]
    if not reasons:
        return "there is no other node"
    if len(reasons) == 1:
        return reasons[0]
    kinds = Counter(reason.partition(":")[0] for reason in reasons).most_common(4)
    return ", ".join(f"{kind} ({number} of {len(reasons)} nodes)" for kind, number in kinds)


def _refusal(group: PodGroup, node_bin: NodeBin) -> str:
    vouched = is_vouched_for(group.example)
    taken = group.ports & node_bin.ports
    return (
        misfit(group.example, node_bin.room, vouched=vouched)
        or (f"host port taken: {min(taken)}" if taken else "")
        or shortage(group.wants, node_bin.free)
    )
