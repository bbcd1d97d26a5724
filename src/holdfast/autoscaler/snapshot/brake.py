"""Many that fail at once look like a mistake of ours or a broken control plane: no worker leaves then.

What is missing is compared with what the record remembers.  A machine that never joined is no sign of
anything; one that took pods and has no node any more is either alone, or a listing is wrong.
"""

from collections.abc import Iterator, Sequence

from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Ghost, Worker
from holdfast.cloud import NoticeKind, State

MANY = 2
"""A single node that is not ready or not there is no sign of a wider trouble."""


def brake(workers: Sequence[Worker], cluster: Cluster, settings: Settings) -> Iterator[str]:
    """Nodes that are listed, and not heard of."""
    counted = [worker for worker in _open_nodes(workers) if not _is_given_up(worker, cluster)]
    not_ready = sum(not worker.ready for worker in counted)
    if _many(not_ready, len(counted), settings.brake_not_ready_fraction):
        yield f"{not_ready} of {len(counted)} nodes are not ready at once"


def doubts(
    workers: Sequence[Worker], ghosts: Sequence[Ghost], nodes: int, cluster: Cluster, settings: Settings
) -> Iterator[str]:
    """What is listed and cannot be all, each with what it looks like.  `nodes`: how many are, ours or not."""
    if not nodes and _some_has_joined(workers, cluster):
        yield "the API lists no node at all: another cluster behind the kubeconfig, or lost data"
    settled = [worker for worker in workers if _is_settled(worker, cluster)]
    without_node = sum(_has_lost_its_node(worker) for worker in settled)
    if _many(without_node, len(settled), settings.brake_absent_fraction):
        looks_like = (
            "another cluster behind the kubeconfig, nodes that were deleted, or machines that were stopped"
        )
        yield f"{without_node} of {len(settled)} machines have no node at once: {looks_like}"
    without_machine = sum(ghost.ready and ghost.state is None for ghost in ghosts)
    with_machine = len(_open_nodes(workers))
    if _many(without_machine, without_machine + with_machine, settings.brake_absent_fraction):
        looks_like = "another region, or tags that were changed"
        yield f"{without_machine} Ready nodes have no listed machine at once: {looks_like}"


def _open_nodes(workers: Sequence[Worker]) -> list[Worker]:
    return [worker for worker in workers if worker.alive and worker.node_name and not worker.joining]


def _some_has_joined(workers: Sequence[Worker], cluster: Cluster) -> bool:
    """Or was made by hand, and runs."""
    by_hand = any(worker.instance.state is State.RUNNING and not worker.ours for worker in workers)
    return by_hand or bool(cluster.joined)


def _is_given_up(worker: Worker, cluster: Cluster) -> bool:
    """Not ready for so long that it is replaced, and not ours to end: it says nothing of the present."""
    affected = cluster.interruption_of(worker.instance_id)
    known = affected is not None and affected.kind is NoticeKind.NOT_READY
    return known and not worker.ours and not worker.ready


def _is_settled(worker: Worker, cluster: Cluster) -> bool:
    """A machine of ours that took pods once, or may have, and that is neither leaving nor still to join."""
    i, up = worker.instance_id, cluster.scale_up
    lives = worker.instance.state in (State.RUNNING, State.STOPPED)
    leaving = cluster.is_condemned(i) or cluster.is_gone(i)
    joining = worker.joining or (up is not None and i in up.joining)
    return lives and worker.ours and cluster.may_have_joined(worker.instance) and not leaving and not joining


def _has_lost_its_node(worker: Worker) -> bool:
    return not (worker.node_name or worker.namesake) or worker.instance.state is State.STOPPED


def _many(count: int, of: int, share: float) -> bool:
    return count >= MANY and count > share * of
