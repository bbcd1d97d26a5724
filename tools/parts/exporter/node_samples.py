"""What the node-exporters of all nodes would say, each under its own `instance`."""

from collections.abc import Iterable, Iterator, Mapping

from tools.parts.exporter.cpu import Spent, cores_of
from tools.parts.exporter.kubernetes_api import Object
from tools.parts.exporter.text import Sample

PORT = 9100
# All the modes of the kernel, so that a query which averages over modes is seen to be wrong.
BUSY_SHARES = {"user": 0.75, "system": 0.25, "nice": 0, "iowait": 0, "irq": 0, "softirq": 0, "steal": 0}


def node_samples(nodes: Iterable[Object], spent: Mapping[str, Spent]) -> Iterator[Sample]:
    for node in nodes:
        name = node["metadata"]["name"]
        if name not in spent:
            continue
        by_mode = {mode: share * spent[name].busy_s for mode, share in BUSY_SHARES.items()}
        by_mode["idle"] = spent[name].idle_s
        instance = f"{internal_ip(node) or name}:{PORT}"
        for cpu in range(cores_of(node)):
            for mode, seconds in by_mode.items():
                labels = {"cpu": str(cpu), "mode": mode, "instance": instance, "node": name}
                yield Sample("node_cpu_seconds_total", labels, seconds)


def internal_ip(node: Object) -> str:
    addresses = node.get("status", {}).get("addresses", [])
    return next((str(a["address"]) for a in addresses if a["type"] == "InternalIP"), "")
