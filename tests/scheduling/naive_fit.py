"""What a node has left, and what the end of lesser pods would leave, the slow and obvious way."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from holdfast.autoscaler.scheduling.match import selects_node, tolerates
from holdfast.cloud.kubernetes import KubeNode, Pod
from holdfast.cloud.quantity import cpu_m, whole
from holdfast.cloud.volumes import VolumeLists
from tests.scheduling.naive import Namespaces, allows
from tests.scheduling.naive_volumes import volumes_allow

Where = Mapping[str, list[Pod]]


def takers(
    pod: Pod, nodes: list[KubeNode], where: Where, of: Namespaces, lists: VolumeLists
) -> tuple[list[str], list[str]]:
    """The nodes that take the pod, and if there is none, those that would once lesser pods have ended."""
    free = [node.metadata.name for node in nodes if _fits(pod, node, nodes, where, of, lists)]
    if free or pod.spec.preemption_policy == "Never":
        return free, []
    found = []
    for node in nodes:
        name = node.metadata.name
        stay = [each for each in where[name] if each.spec.priority >= pod.spec.priority]
        if len(stay) < len(where[name]) and _fits(pod, node, nodes, {**where, name: stay}, of, lists):
            found.append(name)
    return free, found


def _fits(
    pod: Pod, node: KubeNode, nodes: list[KubeNode], where: Where, of: Namespaces, lists: VolumeLists
) -> bool:
    there = where[node.metadata.name]
    return (
        _is_chosen(pod, node)
        and _has_room(pod, node, there)
        and not _ports(pod) & {port for each in there for port in _ports(each)}
        and not _clashes(pod, there)
        and allows(pod, node, where, nodes, of)
        and volumes_allow(pod, node, where, lists)
    )


def _is_chosen(pod: Pod, node: KubeNode) -> bool:
    spec, labels = pod.spec, node.metadata.labels
    if node.spec.unschedulable or any(labels.get(key) != value for key, value in spec.node_selector.items()):
        return False
    required = spec.affinity.node_affinity.required if spec.affinity and spec.affinity.node_affinity else None
    if required is not None and not selects_node(required, node.metadata.name, labels):
        return False
    hard = [taint for taint in node.spec.taints if taint.effect != "PreferNoSchedule"]
    return all(any(tolerates(each, taint) for each in spec.tolerations) for taint in hard)


def _asked(pods: Iterable[Pod]) -> Counter[str]:
    total: Counter[str] = Counter()
    for pod in pods:
        total["pods"] += 1
        for container in pod.spec.containers:
            for name, value in container.resources.requests.items():
                total[name] += cpu_m(value) if name == "cpu" else whole(value)
    return total


def _has_room(pod: Pod, node: KubeNode, there: Sequence[Pod]) -> bool:
    wants, used, has = _asked([pod]), _asked(there), node.status.allocatable
    return all(
        used[name] + amount <= (cpu_m(has[name]) if name == "cpu" else whole(has.get(name, 0)))
        for name, amount in wants.items()
    )


def _ports(pod: Pod) -> set[tuple[int, str, str]]:
    return {
        (port.host_port, port.protocol, port.host_ip)
        for container in pod.spec.containers
        for port in container.ports
        if port.host_port
    }


def _clashes(pod: Pod, there: Sequence[Pod]) -> bool:
    """An absent address means all of them."""
    taken = {port for each in there for port in _ports(each)}
    return any(
        (number, protocol) == (other, its_protocol) and "" in (address, its_address)
        for number, protocol, address in _ports(pod)
        for other, its_protocol, its_address in taken
    )
