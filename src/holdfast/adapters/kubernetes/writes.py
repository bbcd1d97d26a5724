"""What is sent to change something, and the answers to an eviction as outcomes."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from holdfast.adapters.kubernetes.calls import EVICT_POD
from holdfast.adapters.kubernetes.errors import Answer, lacks_permission, status_of, translate_answer
from holdfast.cloud.announcements import Announcement
from holdfast.cloud.kubernetes import CORDON_FOUND, CORDON_OWNERS, Evicted, Eviction, KubeNode, Pod
from holdfast.cloud.text import plain

COMPONENT = "holdfast-autoscaler"
MESSAGE_MAX = 1_000
"""Kubernetes takes 1,024."""
OUR_ANNOTATIONS = (CORDON_OWNERS, CORDON_FOUND)
ANNOTATIONS, TAINTS = "/metadata/annotations", "/spec/taints"

Patch = list[dict[str, Any]]


def node_patch(node: KubeNode, changed: KubeNode) -> Patch:
    """From one to the other, as JSON patch: only cordon, taints and our annotations, and only what differs.

    The first line is the precondition.  Taints are taken out one by one, because what we do
    not decode of the others (since when they are there) must stay.
    """
    return [
        {"op": "test", "path": "/metadata/resourceVersion", "value": node.metadata.resource_version},
        *_annotations(node.metadata.annotations, changed.metadata.annotations),
        *_taints(node, changed),
        *(
            [{"op": "add", "path": "/spec/unschedulable", "value": changed.spec.unschedulable}]
            if node.spec.unschedulable != changed.spec.unschedulable
            else []
        ),
    ]


def _annotations(before: Mapping[str, str], after: Mapping[str, str]) -> Patch:
    patch: Patch = []
    for name in OUR_ANNOTATIONS:
        path = f"{ANNOTATIONS}/{name.replace('~', '~0').replace('/', '~1')}"
        if name in after and before.get(name) != after[name]:
            if not before and not patch:
                patch.append({"op": "add", "path": ANNOTATIONS, "value": {}})
            patch.append({"op": "add", "path": path, "value": after[name]})
        elif name in before and name not in after:
            patch.append({"op": "remove", "path": path})
    return patch


def _taints(node: KubeNode, changed: KubeNode) -> Patch:
    before, after = node.spec.taints, changed.spec.taints
    gone = [n for n, taint in enumerate(before) if taint not in after]
    new = [
        {"key": taint.key, "value": taint.value, "effect": taint.effect}
        for taint in after
        if taint not in before
    ]
    patch: Patch = [{"op": "remove", "path": f"{TAINTS}/{n}"} for n in reversed(gone)]
    if new and not before:
        return [{"op": "add", "path": TAINTS, "value": new}]
    return patch + [{"op": "add", "path": f"{TAINTS}/-", "value": taint} for taint in new]


def is_failed_precondition(answer: Answer) -> bool:
    """Whether a patch was refused because the node is not the one that was read.

    A patch that cannot be applied is answered by 422 without a cause.  Made from the very
    node that its first line demands, ours can always be applied to that one.
    """
    return answer.status in (404, 409) or (answer.status == 422 and not status_of(answer).details.causes)


def delete_options(uid: str, grace_s: int | None, *, dry_run: bool = False) -> dict[str, Any]:
    """Only the very object that was seen is meant, not another that has its name by now."""
    options: dict[str, Any] = {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": uid}}
    if grace_s is not None:
        options["gracePeriodSeconds"] = grace_s
    if dry_run:
        options["dryRun"] = ["All"]
    return options


def eviction(pod: Pod, grace_s: int | None, *, dry_run: bool) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.metadata.name, "namespace": pod.metadata.namespace},
        "deleteOptions": delete_options(pod.metadata.uid, grace_s, dry_run=dry_run),
    }


def event(announcement: Announcement, at_s: float) -> dict[str, Any]:
    """An Event of the core group, which every version knows.  Nodes have theirs in `default`."""
    at = datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    namespace = announcement.namespace or "default"
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{announcement.name}.", "namespace": namespace},
        "involvedObject": {
            "apiVersion": "v1",
            "kind": announcement.kind,
            "name": announcement.name,
            "namespace": announcement.namespace,
            "uid": announcement.uid,
        },
        "reason": announcement.reason,
        "message": plain(announcement.message)[:MESSAGE_MAX],
        "type": "Warning" if announcement.warning else "Normal",
        "source": {"component": COMPONENT},
        "firstTimestamp": at,
        "lastTimestamp": at,
        "count": 1,
    }


def is_another(answer: Answer) -> bool:
    """Whether a UID precondition failed.  Other conflicts are collisions over a budget."""
    message = status_of(answer).message
    return answer.status == 409 and "UID" in message and "precondition" in message


def translate_eviction(pod: Pod, answer: Answer, *, writes: bool = True) -> Evicted:
    """Raises what `translate_answer` says for answers that are not about this pod and its budgets."""
    status = status_of(answer)
    retry_s = answer.retry_after_s or float(status.details.retry_after_seconds)
    if answer.is_success:
        return Evicted(Eviction.ACCEPTED)
    if answer.status == 404 or is_another(answer):
        return Evicted(Eviction.GONE, status.message)
    if answer.status == 500 and "more than one PodDisruptionBudget" in status.message:
        return Evicted(Eviction.IMPOSSIBLE, status.message)
    if answer.status == 429 and (budget := status.cause("DisruptionBudget")):
        return Evicted(Eviction.REFUSED, budget.message or status.message, retry_s)
    if answer.status == 403 and status.cause("NamespaceTerminating") and pod.metadata.deletion_timestamp:
        return Evicted(Eviction.ACCEPTED, status.message)
    if answer.status == 403 and not lacks_permission(status):
        return Evicted(Eviction.REFUSED, status.message, retry_s)
    if answer.status == 409 or (answer.status == 504 and "due to conflicts" in status.message):
        return Evicted(Eviction.REFUSED, status.message, retry_s)
    raise translate_answer(EVICT_POD, answer, writes=writes)
