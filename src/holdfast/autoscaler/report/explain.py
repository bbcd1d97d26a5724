"""Answers, out of one look and the record: may this node leave, where would this pod go, what
would have to change for the fleet to scale up or down.  Values only: others put them before people."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from holdfast.autoscaler.fleet import on_its_way, serving
from holdfast.autoscaler.record import OPEN, READY, Cluster
from holdfast.autoscaler.report.explain_fleet import FleetVerdict, explain_fleet
from holdfast.autoscaler.report.explain_pods import PodVerdict, explain_pods
from holdfast.autoscaler.scale_down.drain import Blocker, Rule
from holdfast.autoscaler.scale_down.leavers import empties_a_zone
from holdfast.autoscaler.scheduling import fleet_blockers
from holdfast.autoscaler.scheduling.machines.spare import SPARE
from holdfast.autoscaler.scheduling.simulation import Simulation, is_control_plane
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Ghost, Snapshot, Worker
from holdfast.autoscaler.snapshot.build import Joined, Listings, join, simulate, snapshot_of
from holdfast.cloud import ALIVE, NoticeKind
from holdfast.cloud.kubernetes import KubeNode
from holdfast.cloud.text import lasting


@dataclass(frozen=True, slots=True)
class NodeVerdict:
    """Whether a node may leave, and everything that keeps it."""

    node: str
    instance_id: str = ""
    zone: str = ""
    pool: str = ""
    blockers: tuple[Blocker, ...] = ()

    @property
    def may_leave(self) -> bool:
        return not self.blockers

    def as_json(self) -> dict[str, Any]:
        return {
            "node": self.node,
            "instance_id": self.instance_id,
            "zone": self.zone,
            "pool": self.pool,
            "may_leave": self.may_leave,
            "blockers": [
                {"rule": str(b.rule), "pod": b.pod, "reason": b.reason, "remedy": b.remedy}
                for b in self.blockers
            ],
        }


@dataclass(frozen=True, slots=True)
class Explanation:
    nodes: tuple[NodeVerdict, ...]
    pods: tuple[PodVerdict, ...]
    fleet: FleetVerdict

    def as_json(self) -> dict[str, Any]:
        return {
            "nodes": [node.as_json() for node in self.nodes],
            "pods": [pod.as_json() for pod in self.pods],
            "fleet": self.fleet.as_json(),
        }


def explain(cluster: Cluster, view: Listings, settings: Settings, now_s: float) -> Explanation:
    """`settings` decide, also where they differ from those of the look: what if?"""
    listings = replace(view, settings=settings)
    joined = join(listings)
    simulation = simulate(listings, joined)
    snapshot = snapshot_of(listings, joined, simulation)
    nodes = explain_nodes(cluster, joined, simulation, snapshot, settings, now_s)
    return Explanation(
        nodes=nodes,
        pods=explain_pods(simulation, on_its_way(cluster, snapshot), snapshot.pool_problems),
        fleet=explain_fleet(cluster, snapshot, settings, now_s, sum(node.may_leave for node in nodes)),
    )


def explain_nodes(
    cluster: Cluster,
    joined: Joined,
    simulation: Simulation,
    snapshot: Snapshot,
    settings: Settings,
    now_s: float,
) -> tuple[NodeVerdict, ...]:
    """Every machine and every node, those of the fleet first."""
    crowd = _Crowd(cluster, snapshot, settings)
    verdicts = [
        NodeVerdict(
            worker.node_name or "(not joined)",
            worker.instance_id,
            worker.instance.zone,
            worker.instance.pool,
            tuple(_keeps(worker, cluster, crowd, simulation, now_s)),
        )
        for worker in joined.workers
        if worker.instance.state in ALIVE
    ]
    verdicts.sort(key=lambda verdict: (verdict.zone, verdict.node, verdict.instance_id))
    ghosts = (NodeVerdict(g.name, g.instance_id, blockers=(_ghost(g),)) for g in joined.ghosts)
    return (*verdicts, *(_foreign(node) for node in joined.others), *ghosts)


class _Crowd:
    """Who is in service, and so counts for floors and zones; as removing nodes counts them."""

    def __init__(self, cluster: Cluster, snapshot: Snapshot, settings: Settings) -> None:
        there = [w for w in serving(cluster, snapshot) if cluster.interruption_of(w.instance_id) is None]
        self.ids = {worker.instance_id for worker in there}
        self.closed = frozenset(affected.instance_id for affected in cluster.interrupted)
        self._zones = Counter(worker.instance.zone for worker in there)
        self._pools = Counter(worker.instance.pool for worker in there)
        self._settings = settings

    def keeps(self, worker: Worker) -> Iterable[Blocker]:
        machine = worker.instance
        if len(self.ids) <= self._settings.min_workers:
            yield fleet_blockers.floor(len(self.ids), self._settings.min_workers)
        pool = self._settings.pool(machine.pool)
        if pool is not None and self._pools[machine.pool] <= pool.min_workers:
            yield fleet_blockers.pool_floor(pool.name, self._pools[pool.name], pool.min_workers)
        if self._settings.keep_last_of_zone and empties_a_zone(machine.zone, self._zones):
            yield fleet_blockers.last_of_zone(machine.zone)


def _keeps(
    worker: Worker, cluster: Cluster, crowd: _Crowd, simulation: Simulation, now_s: float
) -> Iterable[Blocker]:
    standing = simulation.standing(worker.instance_id)
    yield from standing
    if any(blocker.rule in (Rule.NOT_OURS, Rule.CONTROL_PLANE) for blocker in standing):
        return  # nothing else could make it leave
    if why := _leaving(worker.instance_id, cluster, now_s):
        yield fleet_blockers.leaving(why)
        return
    if worker.instance_id in crowd.ids:
        yield from crowd.keeps(worker)
    else:
        yield _out_of_service(worker)
    for skip in cluster.skipped:
        if skip.instance_id == worker.instance_id and now_s < skip.until_s:
            yield fleet_blockers.just_failed(skip.reason, skip.until_s - now_s)
    yield from simulation.blockers(worker.instance_id)
    if why := simulation.fits_without(frozenset({worker.instance_id}), crowd.closed):
        about_headroom = why.startswith(f"{SPARE} of")
        yield fleet_blockers.spare(why) if about_headroom else fleet_blockers.nowhere_else(why)


def _leaving(instance_id: str, cluster: Cluster, now_s: float) -> str:
    if cluster.is_gone(instance_id):
        return "it was removed, and is listed for a little longer"
    for one in cluster.condemned:
        if one.instance_id == instance_id:
            return f"it is terminating ({one.reason}, action {one.action_id})"
    affected = cluster.interruption_of(instance_id)
    if affected is not None and affected.kind is NoticeKind.REPLACE:
        ready = "its replacement is ready" if affected.replacement == READY else "a new one joins first"
        return f"it is being replaced ({affected.why}): {ready}"
    if affected is not None:
        left = f" in {lasting(affected.deadline_s - now_s)}" if affected.deadline_s else ""
        return f"the cloud takes it back{left} ({affected.kind})"
    action = cluster.scale_down
    if action is not None and instance_id in action.having(*OPEN):
        return f"action {action.action_id} is removing it"
    return ""


def _out_of_service(worker: Worker) -> Blocker:
    if not worker.node_name:
        return fleet_blockers.not_in_service(
            "its machine has not joined yet", "wait; it is ended if it never joins"
        )
    if worker.joining:
        return fleet_blockers.not_in_service("its node has joined and is not admitted yet", "wait")
    return fleet_blockers.not_in_service(
        "its node is not ready",
        f"see kubectl describe node {worker.node_name}; only nodes in service scale down",
    )


def _foreign(node: KubeNode) -> NodeVerdict:
    why = fleet_blockers.control_plane() if is_control_plane(node) else fleet_blockers.not_ours()
    return NodeVerdict(node.metadata.name, blockers=(why,))


def _ghost(ghost: Ghost) -> Blocker:
    state = f"is {ghost.state}" if ghost.state else "is not listed"
    return fleet_blockers.leaving(f"its machine {ghost.instance_id} {state}: only the node object is left")
