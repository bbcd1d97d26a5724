"""How busy each node is, and the counters that rise with it.

A counter is the integral of the load over time: between two looks at the cluster the
load is taken to be what the earlier look saw.  A node that is new starts at zero, as
after a boot, and one that is gone is forgotten.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tools.parts.exporter.kubernetes_api import Object
from tools.parts.exporter.quantity import amount

USAGE_ANNOTATION = "holdfast.test/cpu-usage"


@dataclass(frozen=True)
class Load:
    cores: int
    used_cores: float

    @property
    def busy_part(self) -> float:
        return min(1.0, self.used_cores / self.cores)


@dataclass(frozen=True)
class Spent:
    """Seconds of one CPU of a node; all CPUs of a node are equally busy."""

    busy_s: float = 0.0
    idle_s: float = 0.0


class CpuCounters:
    def __init__(self) -> None:
        self._spent: dict[str, Spent] = {}
        self._load: dict[str, Load] = {}
        self._seen_s = 0.0

    def advance(self, loads: Mapping[str, Load], now_s: float) -> Mapping[str, Spent]:
        """Count the time since the last look, remember the new loads; what each node has spent."""
        passed_s = now_s - self._seen_s
        self._spent = {name: self._spent_by(name, passed_s) for name in loads}
        self._load, self._seen_s = dict(loads), now_s
        return self._spent

    def _spent_by(self, name: str, passed_s: float) -> Spent:
        before, load = self._spent.get(name), self._load.get(name)
        if before is None or load is None:
            return Spent()
        busy_s = passed_s * load.busy_part
        return Spent(before.busy_s + busy_s, before.idle_s + passed_s - busy_s)


def loads_of(nodes: Iterable[Object], pods: Iterable[Object]) -> dict[str, Load]:
    """The load of every node that has CPUs and is heard of."""
    used: dict[str, float] = {}
    for pod in pods:
        node = pod["spec"].get("nodeName")
        if node and pod.get("status", {}).get("phase") == "Running":
            used[node] = used.get(node, 0.0) + used_cores(pod)
    return {
        node["metadata"]["name"]: Load(cores, used.get(node["metadata"]["name"], 0.0))
        for node in nodes
        if (cores := cores_of(node)) and is_heard_of(node)
    }


def used_cores(pod: Object) -> float:
    """What the annotation says, else what the containers request."""
    told = pod["metadata"].get("annotations", {}).get(USAGE_ANNOTATION)
    if told is not None:
        return amount(told)
    requests = (container.get("resources", {}).get("requests", {}) for container in pod["spec"]["containers"])
    return sum(amount(request["cpu"]) for request in requests if "cpu" in request)


def cores_of(node: Object) -> int:
    """Whole CPUs; 0 while the kubelet has not told yet."""
    return int(amount(node.get("status", {}).get("capacity", {}).get("cpu", "0")))


def is_heard_of(node: Object) -> bool:
    """A machine whose kubelet has fallen silent answers no scrape either."""
    conditions = node.get("status", {}).get("conditions", [])
    return not any(c["type"] == "Ready" and c["status"] == "Unknown" for c in conditions)
