"""Which pods keep a node from leaving, and which pods a drain moves.

Every rule has a name, a reason and its remedy.  Never touched, and never in the way:
DaemonSet pods, static pods, finished pods, and pods that are on their way out already.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from holdfast.autoscaler.scheduling.budgets import Budgets
from holdfast.autoscaler.settings import DrainRules
from holdfast.cloud.kubernetes import DO_NOT_DISRUPT, DO_NOT_EVICT, FINISHED, Budget, Owner, Pod, Volume

MIRROR = "kubernetes.io/config.mirror"
SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"
"""The annotation that other autoscalers obey: pods that carry it are understood here too."""
NODE_CRITICAL = "system-node-critical"
CLUSTER_CRITICAL = "system-cluster-critical"


class Rule(StrEnum):
    """Why a node stays, by the name that people see."""

    NODE_CRITICAL = "system-node-critical pod"
    CLUSTER_CRITICAL = "system-cluster-critical pod"
    KUBE_SYSTEM = "kube-system pod"
    BUDGET = "exhausted budget"
    TWO_BUDGETS = "two budgets on one pod"
    UNMANAGED = "unmanaged pod"
    LOCAL_STORAGE = "local storage"
    DO_NOT_EVICT = "do-not-evict annotation"
    DO_NOT_DISRUPT = "do-not-disrupt annotation"
    # The rules above look at pods alone; those below also at the fleet and the record.
    NOWHERE_ELSE = "pod that fits nowhere else"
    SPARE = "headroom"
    LAST_OF_ZONE = "last node of its zone"
    FLOOR = "floor"
    POOL_FLOOR = "floor of its pool"
    JUST_FAILED = "just failed to drain"
    NOT_OURS = "not launched by Holdfast"
    CONTROL_PLANE = "control plane"
    CORDONED = "cordoned by a person"
    DISABLED = "scale-down-disabled annotation"
    NOT_IN_SERVICE = "not in service"
    LEAVING = "leaving already"


KEPT_BY = (
    (Rule.DO_NOT_EVICT, DO_NOT_EVICT, "true"),
    (Rule.DO_NOT_DISRUPT, DO_NOT_DISRUPT, "true"),
    (Rule.DO_NOT_EVICT, SAFE_TO_EVICT, "false"),
)
"""Annotations of pods that keep their node, with the value that does."""


@dataclass(frozen=True, slots=True)
class Blocker:
    """One reason why a node stays."""

    rule: Rule
    pod: str
    """namespace/name; empty if no single pod is the reason."""
    reason: str
    remedy: str
    """What an operator would do about it."""

    def __str__(self) -> str:
        return f"{self.rule}: {self.reason}"


def controller_of(pod: Pod) -> Owner | None:
    return next((owner for owner in pod.metadata.owner_references if owner.controller), None)


def is_daemon(pod: Pod) -> bool:
    for owner in pod.metadata.owner_references:
        if owner.controller:
            return owner.kind == "DaemonSet"
    return False


def is_bound_to_its_node(pod: Pod) -> bool:
    """It comes and goes with the node: a DaemonSet's, or a static pod."""
    return MIRROR in pod.metadata.annotations or is_daemon(pod)


def remaining(pods: Iterable[Pod]) -> list[Pod]:
    """Pods that must have left before the node is empty, those on their way out among them."""
    return [pod for pod in pods if pod.status.phase not in FINISHED and not is_bound_to_its_node(pod)]


def to_evict(pods: Iterable[Pod]) -> list[Pod]:
    """The pods that a drain evicts, in the order in which it does."""
    return sorted((pod for pod in remaining(pods) if not _is_terminating(pod)), key=_name)


def to_move(pods: Iterable[Pod], moves_critical: bool) -> list[Pod]:
    """The pods that leave a machine which dies anyway; those that the cluster lives by come last."""
    movable = [pod for pod in to_evict(pods) if pod.spec.priority_class_name != NODE_CRITICAL]
    ordinary = [pod for pod in movable if not _cluster_lives_by(pod)]
    return [*ordinary, *(pod for pod in movable if _cluster_lives_by(pod))] if moves_critical else ordinary


def grace_s(pod: Pod, now_s: float, deadline_s: float) -> int:
    """The pod's own grace, as far as the deadline leaves it.  Without a deadline (0) all of it."""
    own = pod.spec.termination_grace_period_seconds
    return max(1, min(own, int(deadline_s - now_s)) if deadline_s else own)


def blockers(
    pods: Iterable[Pod], budgets: Budgets | Iterable[Budget], rules: DrainRules
) -> tuple[Blocker, ...]:
    """All reasons why the node of these pods may not be drained, by pod."""
    known = budgets if isinstance(budgets, Budgets) else Budgets(budgets)
    return tuple(blocker for pod in to_evict(pods) for blocker in _of_pod(pod, known, rules))


def _of_pod(pod: Pod, budgets: Budgets, rules: DrainRules) -> Iterator[Blocker]:
    if rules.critical_pods_stay:
        yield from _critical(pod)
    if rules.kube_system_stays and pod.metadata.namespace == "kube-system":
        yield Blocker(
            Rule.KUBE_SYSTEM,
            pod.called,
            f"{pod.called} is in kube-system, and no DaemonSet runs it",
            "turn off drain.kube_system_stays (DRAIN_KUBE_SYSTEM_STAYS) if it may be restarted elsewhere",
        )
    yield from _budgets(pod, budgets.covering(pod), rules)
    annotations = pod.metadata.annotations
    if annotations.get(SAFE_TO_EVICT) != "true":
        yield from _would_be_lost(pod, rules)
    for rule, name, value in KEPT_BY:
        if annotations.get(name) == value:
            yield Blocker(
                rule,
                pod.called,
                f'{pod.called} carries the annotation {name}: "{value}"',
                "wait until it has finished, or remove the annotation from the pod and its template",
            )


def _critical(pod: Pod) -> Iterator[Blocker]:
    named = {NODE_CRITICAL: Rule.NODE_CRITICAL, CLUSTER_CRITICAL: Rule.CLUSTER_CRITICAL}
    rule = named.get(pod.spec.priority_class_name)
    if rule is not None:
        yield Blocker(
            rule,
            pod.called,
            f"{pod.called} has priority class {pod.spec.priority_class_name}",
            "turn off drain.critical_pods_stay (DRAIN_CRITICAL_PODS_STAY) if it may be restarted, or give it "
            "another priority class",
        )


def _budgets(pod: Pod, matching: Sequence[Budget], rules: DrainRules) -> Iterator[Blocker]:
    if pod.status.phase == "Pending":
        return  # Kubernetes evicts what has not started yet whatever the budgets say.
    names = [budget.metadata.name for budget in matching]
    if len(names) > 1:
        yield Blocker(
            Rule.TWO_BUDGETS,
            pod.called,
            f"{pod.called} is covered by the disruption budgets {', '.join(names)}: "
            "Kubernetes evicts no pod that has more than one",
            "delete all but one of them, or narrow their selectors",
        )
    for budget in matching if rules.budgets_are_asked_first else ():
        if budget.status.disruptions_allowed <= 0 and not _is_spare(pod, budget):
            called, status = f"{budget.metadata.namespace}/{budget.metadata.name}", budget.status
            yield Blocker(
                Rule.BUDGET,
                pod.called,
                f"the disruption budget {called} does not let {pod.called} go now: "
                f"{status.desired_healthy} healthy pods are needed, {status.current_healthy} there",
                _remedy(called, budget),
            )


def _remedy(called: str, budget: Budget) -> str:
    if budget.spec.allows_nothing:
        return f"let {called} allow a disruption: as it is, it forbids every one, however many replicas run"
    return f"run more replicas or wait until more are healthy; or let {called} allow a disruption"


def _is_spare(pod: Pod, budget: Budget) -> bool:
    """It counts for no budget: it may go while enough others are healthy."""
    return not is_healthy(pod) and budget.status.current_healthy >= budget.status.desired_healthy > 0


def is_healthy(pod: Pod) -> bool:
    """Whether budgets count it.  Who is not ready may be let go even by one that is used up."""
    ready = next((c.status for c in pod.status.conditions if c.type == "Ready"), "True")
    return pod.status.phase != "Pending" and ready == "True"


def _would_be_lost(pod: Pod, rules: DrainRules) -> Iterator[Blocker]:
    """Things that do not come back elsewhere, unless the pod says that they need not."""
    vouch = f'annotate it with {SAFE_TO_EVICT}: "true" if it may go'
    if rules.unmanaged_pods_stay and controller_of(pod) is None:
        yield Blocker(
            Rule.UNMANAGED,
            pod.called,
            f"nothing would start {pod.called} again elsewhere: no controller owns it",
            f"run it from a Deployment or delete it by hand; or {vouch}",
        )
    if rules.local_storage_stays:
        local = [f"{volume.name} ({kind})" for volume in pod.spec.volumes if (kind := _local(volume))]
        if local:
            yield Blocker(
                Rule.LOCAL_STORAGE,
                pod.called,
                f"{pod.called} keeps data on this node: {', '.join(local)}",
                f"{vouch}; or turn off drain.local_storage_stays (DRAIN_LOCAL_STORAGE_STAYS)",
            )


def _local(volume: Volume) -> str:
    if volume.host_path is not None:
        return "hostPath"
    if volume.empty_dir is not None and volume.empty_dir.medium != "Memory":
        return "emptyDir"
    return ""


def _cluster_lives_by(pod: Pod) -> bool:
    return pod.metadata.namespace == "kube-system" or pod.spec.priority_class_name == CLUSTER_CRITICAL


def _is_terminating(pod: Pod) -> bool:
    return pod.metadata.deletion_timestamp is not None


def _name(pod: Pod) -> tuple[str, str]:
    return (pod.metadata.namespace, pod.metadata.name)
