"""Every machine, node and cordon accounted for: who owns it, and what a sweep will do about it."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from holdfast.autoscaler import sweep
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.report.gauges import state_of
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Ghost, Snapshot, Worker
from holdfast.autoscaler.sweep import joined
from holdfast.cloud import State
from holdfast.cloud.text import lasting


@dataclass(frozen=True, slots=True)
class Found:
    """Something without an owner, or on its way out."""

    what: str
    """`machine`, `node` or `cordon`."""
    name: str
    finding: str
    fate: str
    """What becomes of it, and when."""


@dataclass(frozen=True, slots=True)
class Account:
    owned: int
    """Machines that an action of ours launched and that are in order."""
    foreign: int
    """Workers that another tool or a person made: counted, never touched."""
    found: tuple[Found, ...]
    troubles: tuple[str, ...]
    """With any, nothing is swept."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def account(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Account:
    found = [
        *(
            _machine(cluster, worker, settings, now_s)
            for worker in snapshot.workers
            if _is_loose(cluster, worker)
        ),
        *(_node(cluster, ghost, settings, now_s) for ghost in snapshot.ghosts),
        *(
            Found("cordon", stray.instance_id, f"of the ended action {stray.action_id}", "is lifted")
            for stray in sorted(sweep.strays(cluster, snapshot))
        ),
    ]
    alive = [worker for worker in snapshot.workers if worker.alive]
    owned = sum(worker.ours and not _is_loose(cluster, worker) for worker in alive)
    foreign = sum(not worker.ours for worker in alive)
    return Account(owned, foreign, tuple(found), snapshot.troubles)


def _is_loose(cluster: Cluster, worker: Worker) -> bool:
    """Ours, and either condemned, stopped, or not in the record and without a node that takes pods."""
    if not worker.ours or cluster.is_gone(worker.instance_id):
        return False
    if cluster.is_condemned(worker.instance_id) or worker.instance.state is State.STOPPED:
        return True
    if worker.alive and not worker.node_name and cluster.has_joined(worker.instance):
        return True
    idle = worker.alive and (not worker.node_name or worker.joining)
    return idle and worker.instance_id not in _named(cluster)


def _named(cluster: Cluster) -> frozenset[str]:
    up = cluster.scale_up
    return frozenset(
        (
            *(one.instance_id for one in cluster.recent),
            *(one.instance_id for one in cluster.interrupted),
            *(up.instance_ids if up else ()),
        )
    )


def _machine(cluster: Cluster, worker: Worker, settings: Settings, now_s: float) -> Found:
    one = next((c for c in cluster.condemned if c.instance_id == worker.instance_id), None)
    if one is not None:
        fate = "is ended again and again until that is confirmed"
        return Found("machine", worker.instance_id, f"terminating: {one.reason}", fate)
    if joined.counts_as_joined(cluster, worker) and worker.alive and not worker.node_name:
        return _lost_its_node(cluster, worker, settings, now_s)
    left_s = settings.sweep_after_s - (now_s - worker.instance.launched_s)
    when = f"in {lasting(left_s)} at the latest" if left_s > 0 else "now"
    finding = f"{state_of(cluster, worker)}, launched by {worker.instance.action_id}, named by no record"
    stopped = worker.instance.state is State.STOPPED
    fate = f"is ended {when}" if stopped else f"is adopted if it is needed, else ended, {when}"
    return Found("machine", worker.instance_id, "stopped" if stopped else finding, fate)


def _lost_its_node(cluster: Cluster, worker: Worker, settings: Settings, now_s: float) -> Found:
    if worker.namesake:
        finding = f"node {worker.namesake} bears its name or address, and does not name it"
        return Found("machine", worker.instance_id, finding, "stays")
    since_s = next((row.since_s for row in cluster.nodeless if row.instance_id == worker.instance_id), now_s)
    left_s = settings.absent_s - (now_s - since_s)
    when = f"in {lasting(left_s)}, if it is still so," if left_s > 0 else "now,"
    fate = f"is ended {when} unless many are without a node"
    return Found("machine", worker.instance_id, joined.without_its_node(cluster, worker.instance_id), fate)


def _node(cluster: Cluster, ghost: Ghost, settings: Settings, now_s: float) -> Found:
    if ghost.ready:
        state = f"is {ghost.state}" if ghost.state is not None else "is not listed"
        return Found(
            "node", ghost.name, f"its machine {ghost.instance_id} {state}", "stays while it is Ready"
        )
    if ghost.state is not None:
        fate = (
            "is deleted" if ghost.state is State.TERMINATED else "is deleted once the machine is terminated"
        )
        return Found("node", ghost.name, f"its machine {ghost.instance_id} is {ghost.state}", fate)
    since_s = next((m.since_s for m in cluster.missing if m.instance_id == ghost.instance_id), now_s)
    left_s = settings.absent_s - (now_s - since_s)
    fate = f"is deleted if it is still missing in {lasting(left_s)}" if left_s > 0 else "is deleted"
    return Found("node", ghost.name, f"its machine {ghost.instance_id} is not listed", fate)


def in_words(account: Account) -> Iterable[str]:
    yield f"{account.owned} machines of ours are in order, {account.foreign} of others are left alone"
    for each in account.found:
        yield f"{each.what} {each.name}: {each.finding}; it {each.fate}"
