"""What the record alone says, for the time in which the cluster or the cloud does not answer."""

from dataclasses import asdict, dataclass
from typing import Any

from holdfast.autoscaler.operator import mode
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.report.doing import Action, doing, open_action
from holdfast.autoscaler.report.status import Soon, holder_of_lock, to_come
from holdfast.autoscaler.settings import Settings
from holdfast.cloud.kubernetes import UNREACHABLE
from holdfast.cloud.text import lasting


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    cluster: str
    mode: str
    unreachable: str
    """What did not answer, and that nothing is changed meanwhile."""
    doing: str
    why: str
    action: Action | None
    workers_at_last_look: int
    min_workers: int
    max_workers: int
    soon: tuple[Soon, ...]
    lock_owner: str
    lock_left_s: int

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def unseen(cluster: Cluster, settings: Settings, now_s: float, *, why: str, lasted_s: float) -> Unseen:
    """`why` the look failed, and for how long it was tried."""
    action = open_action(cluster, now_s)
    owner, left_s = holder_of_lock(cluster, now_s)
    return Unseen(
        cluster=settings.cluster_name,
        mode=mode(cluster, observe=settings.observe, now_s=now_s),
        unreachable=in_vain(why, lasted_s),
        doing=doing(cluster, action),
        why=action.why if action else cluster.hold_reason,
        action=action,
        workers_at_last_look=cluster.worker_count,
        min_workers=settings.min_workers,
        max_workers=settings.max_workers,
        soon=tuple(to_come(cluster, settings, None, now_s)),
        lock_owner=owner,
        lock_left_s=left_s,
    )


def in_vain(why: str, lasted_s: float) -> str:
    """`Kubernetes API unreachable for 20 s; nothing is changed (GET /…: connection refused)`."""
    how_long = f" for {lasting(lasted_s)}" if lasted_s >= 1 else ""
    _, is_the_api, detail = why.partition(f"{UNREACHABLE}: ")
    if is_the_api:
        return f"{UNREACHABLE}{how_long}; nothing is changed ({detail})"
    return f"{why}{how_long}; nothing is changed"
