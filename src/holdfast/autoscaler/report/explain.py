"""Answers, out of one look and the record: may this node leave, where would this pod go, what
would have to change for the fleet to grow or shrink.  Values only: others put them before people."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from holdfast.autoscaler.drain import Blocker, Rule
from holdfast.autoscaler.fleet import on_its_way, serving
from holdfast.autoscaler.place import empties_a_zone
from holdfast.autoscaler.record import OPEN, Cluster
from holdfast.autoscaler.report.explain_fleet import FleetVerdict, explain_fleet
from holdfast.autoscaler.report.explain_pods import PodVerdict, explain_pods
from holdfast.autoscaler.see import Joined, Raw, join, sight_of, weigh
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.sight import Ghost, Sight, Worker
from holdfast.autoscaler.weighing import stays
from holdfast.autoscaler.weighing.weigh import Scales, is_control_plane
from holdfast.cloud import ALIVE
from holdfast.cloud.kubernetes import KubeNode


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
                {"rule": str(b.rule), "pod": b.pod, "reason": b.reason, "lift": b.lift} for b in self.blockers
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


def explain(cluster: Cluster, view: Raw, settings: Settings, now_s: float) -> Explanation:
    """`settings` decide, also where they differ from those of the look: what if?"""
    raw = replace(view, settings=settings)
    joined = join(raw)
    scales = weigh(raw, joined)
    sight = sight_of(raw, joined, scales)
    nodes = explain_nodes(cluster, joined, scales, sight, settings, now_s)
    return Explanation(
        nodes=nodes,
        pods=explain_pods(scales, on_its_way(cluster, sight)),
        fleet=explain_fleet(cluster, sight, settings, now_s, sum(node.may_leave for node in nodes)),
    )


def explain_nodes(
    cluster: Cluster, joined: Joined, scales: Scales, sight: Sight, settings: Settings, now_s: float
) -> tuple[NodeVerdict, ...]:
    """Every machine and every node, those of the fleet first."""
    crowd = _Crowd(cluster, sight, settings)
    verdicts = [
        NodeVerdict(
            worker.node_name or "(not joined)",
            worker.instance_id,
            worker.instance.zone,
            worker.instance.pool,
            tuple(_keeps(worker, cluster, crowd, scales, now_s)),
        )
        for worker in joined.workers
        if worker.instance.state in ALIVE
    ]
    verdicts.sort(key=lambda verdict: (verdict.zone, verdict.node, verdict.instance_id))
    ghosts = (NodeVerdict(g.name, g.instance_id, blockers=(_ghost(g),)) for g in joined.ghosts)
    return (*verdicts, *(_foreign(node) for node in joined.others), *ghosts)


class _Crowd:
    """Who is in service, and so counts for floors and zones; as removing nodes counts them."""

    def __init__(self, cluster: Cluster, sight: Sight, settings: Settings) -> None:
        there = [w for w in serving(cluster, sight) if cluster.doom_of(w.instance_id) is None]
        self.ids = {worker.instance_id for worker in there}
        self.closed = frozenset(doom.instance_id for doom in cluster.doomed)
        self._zones = Counter(worker.instance.zone for worker in there)
        self._pools = Counter(worker.instance.pool for worker in there)
        self._settings = settings

    def keeps(self, worker: Worker) -> Iterable[Blocker]:
        machine = worker.instance
        if len(self.ids) <= self._settings.min_workers:
            yield stays.floor(len(self.ids), self._settings.min_workers)
        pool = self._settings.pool(machine.pool)
        if pool is not None and self._pools[machine.pool] <= pool.min_workers:
            yield stays.pool_floor(pool.name, self._pools[pool.name], pool.min_workers)
        if empties_a_zone(machine.zone, self._zones):
            yield stays.last_of_zone(machine.zone)


def _keeps(
    worker: Worker, cluster: Cluster, crowd: _Crowd, scales: Scales, now_s: float
) -> Iterable[Blocker]:
    standing = scales.standing(worker.instance_id)
    yield from standing
    if any(blocker.rule in (Rule.NOT_OURS, Rule.CONTROL_PLANE) for blocker in standing):
        return  # nothing else could make it leave
    if why := _leaving(worker.instance_id, cluster, now_s):
        yield stays.leaving(why)
        return
    if worker.instance_id in crowd.ids:
        yield from crowd.keeps(worker)
    else:
        yield _out_of_service(worker)
    for skip in cluster.skipped:
        if skip.instance_id == worker.instance_id and now_s < skip.until_s:
            yield stays.just_failed(skip.reason, skip.until_s - now_s)
    yield from scales.blockers(worker.instance_id)
    if why := scales.fits_without(frozenset({worker.instance_id}), crowd.closed):
        yield stays.nowhere_else(why)


def _leaving(instance_id: str, cluster: Cluster, now_s: float) -> str:
    if cluster.is_gone(instance_id):
        return "it was removed, and is listed for a little longer"
    for one in cluster.condemned:
        if one.instance_id == instance_id:
            return f"it is condemned ({one.reason}, action {one.action_id})"
    doom = cluster.doom_of(instance_id)
    if doom is not None:
        left = f" in {max(0, doom.deadline_s - now_s):.0f} s" if doom.deadline_s else ""
        return f"the cloud takes it back{left} ({doom.kind})"
    action = cluster.scale_down
    if action is not None and instance_id in action.having(*OPEN):
        return f"action {action.action_id} is removing it"
    return ""


def _out_of_service(worker: Worker) -> Blocker:
    if not worker.node_name:
        return stays.not_in_service("its machine has not joined yet", "wait; it is ended if it never joins")
    if worker.joining:
        return stays.not_in_service("its node has joined and is not admitted yet", "wait")
    return stays.not_in_service(
        "its node is not ready", f"see kubectl describe node {worker.node_name}; only nodes in service shrink"
    )


def _foreign(node: KubeNode) -> NodeVerdict:
    why = stays.control_plane() if is_control_plane(node) else stays.not_ours()
    return NodeVerdict(node.metadata.name, blockers=(why,))


def _ghost(ghost: Ghost) -> Blocker:
    state = f"is {ghost.state}" if ghost.state else "is not listed"
    return stays.leaving(f"its machine {ghost.instance_id} {state}: only the node object is left")
