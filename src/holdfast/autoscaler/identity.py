"""Which cluster this is.  A record is about one: another that answers in its place is left alone.

Rule 1: the uid of the namespace kube-system is the cluster's identity.  The record learns it before anything
        is touched, and only from a look that makes sense.
Rule 2: while another identity answers, no step is taken at all: its nodes are not ours, and the absence of
        ours says nothing.
Rule 3: a rebuilt cluster has another identity.  Only an operator can say that it is the same fleet.
"""

from dataclasses import replace

from holdfast.autoscaler.events import AutoscalerEvent
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.sweep.joined import open_workers
from holdfast.cloud import NoticeKind
from holdfast.kernel import FREE, Event, Write

ACCEPT = "holdfast autoscaler accept-cluster"
ANNOUNCED = (NoticeKind.INTERRUPTION, NoticeKind.GONE)
"""By the cloud, for certain."""


def refusal(cluster: Cluster, cluster_uid: str) -> str:
    """Why nothing may be done with the cluster that answers; empty if it is the right one."""
    if not cluster_uid or not cluster.cluster_uid or cluster_uid == cluster.cluster_uid:
        return ""
    return (
        f"another cluster answers: its kube-system has the uid {cluster_uid}, and the record is about "
        f"{cluster.cluster_uid}. Nothing is changed. Check KUBECONFIG, K8S_API_URL and the state table; "
        f"if the cluster was rebuilt, run `{ACCEPT}`"
    )


def know(cluster: Cluster, snapshot: Snapshot, now_s: float) -> Write[Cluster] | None:
    """Write down which cluster answers, where the record does not say so yet."""
    uid = snapshot.cluster_uid
    if refusal(cluster, uid):
        return _refused(cluster, uid, now_s) if cluster.refused_uid != uid else None
    if cluster.refused_uid and uid:
        event = Event(AutoscalerEvent.CLUSTER_BACK, now_s, about=uid, reason=f"{cluster.refused_uid} is gone")
        return Write(replace(cluster, refused_uid=""), (event,))
    if uid and not snapshot.troubles and not (cluster.cluster_uid and cluster.joined_since_s):
        return _known(cluster, snapshot, uid, now_s)
    return None


def _refused(cluster: Cluster, uid: str, now_s: float) -> Write[Cluster]:
    event = Event(AutoscalerEvent.CLUSTER_REFUSED, now_s, about=uid, reason=refusal(cluster, uid))
    return Write(replace(cluster, refused_uid=uid), (event,))


def _known(cluster: Cluster, snapshot: Snapshot, uid: str, now_s: float) -> Write[Cluster]:
    """From here on the record also remembers which machines have joined."""
    joined = tuple(dict.fromkeys((*cluster.joined, *open_workers(snapshot))))
    known = replace(cluster, cluster_uid=uid, joined=joined, joined_since_s=int(now_s))
    numbers = {"joined": len(joined)}
    return Write(known, (Event(AutoscalerEvent.CLUSTER_KNOWN, now_s, about=uid, numbers=numbers),))


def accept(
    cluster: Cluster, uid: str, now_s: float, *, forget_workers: bool = False
) -> Write[Cluster] | None:
    """An operator says that this is the cluster now.  None if the record says so already.

    With `forget_workers`, machines of the old cluster count as never joined: those that do not join the new
    one are swept by and by.
    """
    if cluster.cluster_uid == uid and not forget_workers:
        return None
    accepted = replace(cluster, cluster_uid=uid, refused_uid="", nodeless=())
    why = f"before: {cluster.cluster_uid or 'none'}"
    if forget_workers:
        accepted = replace(accepted, joined=(), joined_since_s=1)
        why += "; the workers of the old one are forgotten"
    return Write(accepted, (Event(AutoscalerEvent.CLUSTER_ACCEPTED, now_s, about=uid, reason=why),))


def restored(
    cluster: Cluster, stored: int, last: int, now_s: float, joined: tuple[str, ...] | None = None
) -> Write[Cluster]:
    """The record is older than its log: go on behind the log.

    `joined` is what its log says has joined; None: what is older than now may have.  Who holds the lock is
    not known.  An action that was open then has long gone on, and its next request would bear the token of
    another: it is given up.  What was not seen then may have been seen since: absence, silence and idleness
    are noted anew, and count from now.  What the cloud has announced for certain stays, and is drained anew:
    its node may have taken pods since.  Hints come again, and so does what is replaced by choice.
    """
    action = cluster.scale_up or cluster.scale_down
    why = f"it was of version {stored}, and its log goes on to {last}: "
    if joined is None:
        why += "what happened between is not known to it"
    else:
        why += "of what happened between it knows which machines have joined"
    if action is not None:
        why += f"; {action.action_id} is given up"
    given_up_id = action.action_id if action is not None else ""
    given_up = replace(
        cluster,
        scale_up=None,
        scale_down=None,
        last_action_id=given_up_id or cluster.last_action_id,
        interrupted=tuple(
            replace(row, drained=False, replacement="" if row.replacement == given_up_id else row.replacement)
            for row in cluster.interrupted
            if row.kind in ANNOUNCED
        ),
        pending_since_s=0,
        idle_since_s=0,
        pools_idle=(),
        underused=(),
        nodeless=(),
        missing=(),
        not_ready=(),
        joined=cluster.joined if joined is None else joined,
        joined_since_s=int(now_s) if joined is None else cluster.joined_since_s,
        lock=FREE,
    )
    numbers = {"stored": stored, "last": last}
    event = Event(AutoscalerEvent.RECORD_RESTORED, now_s, reason=why, numbers=numbers)
    return Write(given_up, (event,))
