"""Where pods would go: first fit, the largest first, and pods that go with others after these.

Free room of nodes that stand or are on their way is filled first; what is left opens new nodes.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from holdfast.autoscaler.scheduling.fit import Room, is_vouched_for, misfit, shortage, taken_port
from holdfast.autoscaler.scheduling.machines.choice import Kind, Waiting
from holdfast.autoscaler.scheduling.machines.spare import Spares, placed_in, taken_away
from holdfast.autoscaler.scheduling.new_nodes import (
    Candidate,
    Pool,
    cheapest_first,
    in_order,
    promising_types,
)
from holdfast.autoscaler.scheduling.node_bins import NodeBin, NodeBins, Placed, fill
from holdfast.autoscaler.scheduling.node_info import NodeInfo
from holdfast.autoscaler.scheduling.pod_groups import (
    PodGroup,
    PodTemplates,
    greediest_first,
    group_pods,
    largest_first,
    leaders_first,
)
from holdfast.autoscaler.scheduling.topology import Topology
from holdfast.autoscaler.scheduling.topology.asked import Asked
from holdfast.autoscaler.snapshot import Need
from holdfast.cloud.kubernetes import Pod

NO_SPARES: Final[Spares] = MappingProxyType({})
NOTHING_MISSING: Final[Mapping[str, int]] = MappingProxyType({})


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
    pools: frozenset[str] = frozenset()
    """Those whose new nodes would take them, whether they may have more or not."""
    helped: int = 0
    """So many of them wait for a new node."""
    in_vain: bool = False
    """A node as they ask for stands empty, or stood so: no other would help."""


@dataclass(frozen=True, slots=True)
class Packed:
    needs: tuple[Need, ...]
    fates: tuple[Fate, ...]
    opened: tuple[Room, ...] = ()
    """The new nodes, as they would be without the pods."""

    @property
    def usd(self) -> float:
        """What the new nodes are expected to cost an hour."""
        return sum(room.usd for room in self.opened)

    @property
    def left(self) -> int:
        return sum(fate.left for fate in self.fates)

    @property
    def placed(self) -> tuple[tuple[Placed, Pod], ...]:
        """With one of the pods that were placed there."""
        return tuple((placed, fate.group.example) for fate in self.fates for placed in fate.placed)

    @property
    def unsatisfiable(self) -> tuple[str, ...]:
        return tuple(
            f"{fate.group.called}: {fate.why}" + (f" (the scheduler: {says})" if says else "")
            for fate in self.fates
            if fate.unsatisfiable
            for says in (fate.group.example.scheduler_says,)
        )

    @property
    def promising(self) -> int:
        """Pods that wait for a node that is on its way, or for a new one."""
        return sum(fate.helped for fate in self.fates)

    @property
    def since(self) -> str:
        """Since when the first of the pods waits to which that applies, by its own condition."""
        pods = (pod for fate in self.fates if fate.helped for pod in fate.group.pods)
        return min(filter(None, (pod.unscheduled_since for pod in pods)), default="")

    @property
    def pools(self) -> frozenset[str]:
        """For which of them pods wait."""
        return frozenset(pool for fate in self.fates if fate.helped for pool in fate.pools)

    @property
    def in_vain(self) -> dict[str, str]:
        """By their owner: those for which a node stands empty in vain, with the scheduler's own words."""
        return {
            fate.group.owner: f"{fate.why}; the scheduler: {fate.group.example.scheduler_says}"
            for fate in self.fates
            if fate.in_vain
        }


def pack(
    pods: PodTemplates | Iterable[Pod],
    rooms: Sequence[Room],
    candidates: Sequence[Candidate],
    limit: int,
    left_alone: frozenset[str] = frozenset(),
    topology: Topology | None = None,
    offerings_min: int = 1,
    spares: Spares = NO_SPARES,
) -> Packed:
    """Place the pods in the rooms, then on new nodes of the candidates, `limit` of each pool at most.

    `left_alone`: owners whose pods a new node did not help.  `topology`: where pods are already; it is
    given back as it was.  `offerings_min`: over so many offerings a request is spread.  `spares`: what is
    wanted beside the pods.
    """
    pods = pods if isinstance(pods, PodTemplates) else PodTemplates(pods)
    topology = topology if topology is not None else Topology(to_place=pods.asking)
    with topology.trial():
        for room in rooms:
            if room.name not in topology:
                topology.add_node(room)
        groups = largest_first(group_pods(pods, topology))

        def packed(preferred: Kind | None = None) -> tuple[Packed, list[Pool]]:
            name = preferred.name if preferred is not None else ""
            ordered = greediest_first(groups, preferred.least) if preferred is not None else groups
            ordered = leaders_first(ordered, topology)
            with topology.trial():
                pools = in_order(candidates, rooms, limit, topology, offerings_min, name)
                return _pack(ordered, rooms, pools, left_alone, topology, spares), pools

        best, pools = packed()
        for preferred in promising_types(pools, best.usd)[:PLANS_MAX]:
            other, _ = packed(preferred)
            if other.left <= best.left and other.usd < best.usd:
                best = other
        return best


PLANS_MAX: Final = 2
"""So many other plans are tried, each with one type wherever it will do: a greedy choice is short-sighted."""


def _pack(
    groups: Sequence[PodGroup],
    rooms: Sequence[Room],
    pools: Sequence[Pool],
    left_alone: frozenset[str],
    topology: Topology,
    spares: Spares,
) -> Packed:
    node_bins = NodeBins(rooms)
    to_come = {room.name for room in rooms if room.new}
    fates = []
    waiting = Waiting(groups)
    for group in waiting:
        placed, left = fill(group, node_bins.roomy_for(group), topology)
        coming = sum(each.count for each in placed if each.room in to_come)
        if not left:
            fates.append(Fate(group, placed, helped=coming, pools=_takers(group, pools) if coming else NONE))
        elif group.owner in left_alone and group.doubts:
            fates.append(Fate(group, placed, left, LEFT_ALONE, helped=coming))
        else:
            fates.append(_on_new_nodes(group, placed, left, pools, coming, waiting))
    for pool in pools:
        spare = spares.get(pool.candidate.pool)
        if spare is not None:  # after all pods: what they leave is counted
            _, left = placed_in(pool.candidate.pool, spare, node_bins)
            pool.take(spare, left)
    there = Counter(room.zone for room in rooms)
    return Packed(
        tuple(need for pool in pools for need in pool.needs(there)),
        tuple(fates),
        tuple(room for pool in pools for room in pool.opened()),
    )


def _on_new_nodes(
    group: PodGroup,
    placed: tuple[Placed, ...],
    left: int,
    pools: Sequence[Pool],
    coming: int,
    ahead: Waiting,
) -> Fate:
    could, in_vain, waiting, why_of = False, False, left, dict[str, str]()
    for pool in pools:
        taken = pool.take(group, left, ahead, opens=False)
        placed, left = (*placed, *taken.placed), taken.left
    for pool in cheapest_first(pools, group, left, ahead) if left else ():
        taken = pool.take(group, left, ahead)
        placed, left, could = (*placed, *taken.placed), taken.left, could or taken.could
        in_vain = in_vain or taken.in_vain
        why_of[pool.candidate.pool] = taken.why
        if not left:
            break
    if not left:
        return Fate(group, placed, helped=coming + waiting, pools=_takers(group, pools))
    names = [pool.candidate.pool for pool in pools]
    reasons = [f"pool {name}: {why_of[name]}" if len(pools) > 1 else why_of[name] for name in names]
    why = "; ".join(reasons) or "there is no pool that could scale up"
    opened = waiting - left
    # Where a node stands empty in vain, those that found no new one are not helped by any.
    helped = coming + (opened if in_vain or not could else waiting)
    takers = _takers(group, pools) if could else NONE
    return Fate(
        group,
        placed,
        left,
        why,
        unsatisfiable=not could,
        pools=takers,
        helped=helped,
        in_vain=in_vain and not opened,
    )


NONE: frozenset[str] = frozenset()
LEFT_ALONE = "a new node did not help it"


def _takers(group: PodGroup, pools: Sequence[Pool]) -> frozenset[str]:
    """Those that could ever take them, whether a node of theirs stands empty now or not."""
    return frozenset(pool.candidate.pool for pool in pools if pool.suits(group).could)


def unplaceable(
    pods: Sequence[Pod],
    rooms: Iterable[Room],
    topology: Topology | None = None,
    spares: Spares = NO_SPARES,
    missing_now: Mapping[str, int] = NOTHING_MISSING,
) -> str:
    """The first of these pods that finds no place in the rooms, with the reason; empty if all do.

    `topology`: where pods are now, these among them; it is given back as it was.  `spares`: headroom that
    must not become less; `missing_now`: how much of it is not there anyway.
    """
    rooms = list(rooms)
    topology = topology if topology is not None else Topology([(room, NodeInfo()) for room in rooms], pods)
    with topology.trial():
        for pod in pods if not topology.is_idle else ():
            if pod.spec.node_name in topology:
                topology.put(pod.spec.node_name, topology.class_of(pod), -1)
        node_bins = NodeBins(rooms)
        groups = largest_first(group_pods(PodTemplates(pods), topology))
        for group in leaders_first(groups, topology):
            vouched = is_vouched_for(group.example)
            _, left = fill(group, node_bins.roomy_for(group), topology, vouched=vouched)
            if left:
                return f"{group.example.called} fits on no other node: {_tally(group, node_bins, topology)}"
    return taken_away(spares, list(node_bins), missing_now) if spares else ""


def _tally(group: PodGroup, node_bins: Iterable[NodeBin], topology: Topology) -> str:
    """Why none of them takes it: the most frequent kinds of reasons, with their number."""
    asked = topology.asked(group.example)
    reasons = [_refusal(group, node_bin, asked) for node_bin in node_bins]
    if not reasons:
        return "there is no other node"
    if len(reasons) == 1:
        return reasons[0]
    kinds = Counter(reason.partition(":")[0] for reason in reasons).most_common(4)
    return ", ".join(f"{kind} ({number} of {len(reasons)} nodes)" for kind, number in kinds)


def _refusal(group: PodGroup, node_bin: NodeBin, asked: Asked | None) -> str:
    vouched = is_vouched_for(group.example)
    return (
        misfit(group.example, node_bin.room, vouched=vouched, rules=group.rules)
        or taken_port(group.ports, node_bin.ports)
        or shortage(group.wants, node_bin.free)
        or (asked.refusal(node_bin.room) if asked is not None else "")
    )
