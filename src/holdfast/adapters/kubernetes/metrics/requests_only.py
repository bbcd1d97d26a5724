"""How busy the workers are where nothing measures them: by what their pods have reserved."""

from collections.abc import Iterable, Sequence

from holdfast.autoscaler.ports import Load
from holdfast.cloud.kubernetes import FINISHED, KubeNode, Pod
from holdfast.cloud.quantity import cpu_m
from holdfast.cloud.requests import requests_of

SOURCE = "requests"


class RequestsOnly:
    """See `holdfast.autoscaler.ports.Metrics`.  Nothing is asked, and no history known."""

    def load(self, nodes: Sequence[KubeNode], pods: Sequence[Pod], window_s: int) -> Load:
        return load_by_requests(nodes, pods)


def load_by_requests(nodes: Sequence[KubeNode], pods: Iterable[Pod]) -> Load:
    """CPU that pods on these workers have requested, as a part of what they may request there."""
    names = {node.metadata.name for node in nodes}
    try:
        room_m = sum(cpu_m(node.status.allocatable.get("cpu", "0")) for node in nodes)
        asked_m = sum(
            requests_of(pod).cpu_m
            for pod in pods
            if pod.spec.node_name in names and pod.status.phase not in FINISHED
        )
    except ValueError as error:
        return Load(None, problem=f"{SOURCE}: {error}", source=SOURCE)
    if room_m <= 0:
        return Load(None, problem=f"{SOURCE}: the workers have no allocatable cpu", source=SOURCE)
    return Load(asked_m / room_m, source=SOURCE)
