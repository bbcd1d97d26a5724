"""The whole decision over 5,000 nodes and 150,000 pods, beside merely parsing the same pods.

All from the decoded lists to what is begun: machines and nodes are joined, pods counted by the rules that a
tenth of them have about each other, volumes by their claims, and new nodes are asked for, or workers chosen
that may leave.  The same at a tenth of the size says how the cost grows.  CPU time of this process.
"""

import gc
import time
from collections.abc import Iterator
from dataclasses import replace
from statistics import median
from typing import Any, Final

import msgspec

from bench import Row
from bench.grounds import lists
from holdfast.adapters.kubernetes.lists import Page
from holdfast.autoscaler.ports import Load
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.snapshot.build import Listings, build
from holdfast.autoscaler.workflow import conclude
from holdfast.cloud import Instance, Market, Shape, State
from holdfast.cloud.kubernetes import KubeNode, Pod
from holdfast.cloud.launches import launch_token
from holdfast.cloud.volumes import VolumeLists

NODES: Final = 5_000
PODS_EACH: Final = 30
PENDING_EACH: Final = 100
"""One pod waits for so many that run."""
RATIO_MAX: Final = 1.0
GROWTH_MAX: Final = 12.0
TIMES: Final = 3
"""A decision is taken so often, and the median counts: it is bound by memory, which others use too."""
NOW_S: Final = 1_800_000_000.0
LONG_IDLE: Final = Cluster(idle_since_s=int(NOW_S) - 7_200)
SUBNETS: Final = {f"subnet-{zone}": zone for zone in lists.ZONES}
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
UNSCHEDULABLE: Final = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/5000 nodes are available: 5000 Insufficient cpu. preemption: 0/5000 nodes are available",
}

_pods = msgspec.json.Decoder(Page[Pod])
_nodes = msgspec.json.Decoder(Page[KubeNode])


def run() -> list[Row]:
    small, parsing_s = _listings(NODES // 10)
    up_small, down_small = _decided_s(small, 0.9), _decided_s(_idle(small), 0.1)
    del small
    large, parsing_s = _listings(NODES)
    up, down = _decided_s(large, 0.9), _decided_s(_idle(large), 0.1)
    what = f"{NODES:,} nodes, {NODES * PODS_EACH:,} pods"
    beside, smaller = "parsing these pods", "a tenth of the size"
    return [
        _row(f"decision to scale up, {what}", up, beside, parsing_s, RATIO_MAX),
        _row(f"decision to scale down, {what}", down, beside, parsing_s, RATIO_MAX),
        _row(f"decision to scale up, {what}", up, smaller, up_small, GROWTH_MAX),
        _row(f"decision to scale down, {what}", down, smaller, down_small, GROWTH_MAX),
    ]


def _row(what: str, ours_s: float, beside: str, beside_s: float, ratio_max: float) -> Row:
    return Row(what, 1 / ours_s, beside, 1 / beside_s, ours_s / beside_s, ratio_max)


def _idle(listings: Listings) -> Listings:
    return replace(listings, pods=[pod for pod in listings.pods if pod.spec.node_name])


def _decided_s(listings: Listings, cpu: float) -> float:
    listings = replace(listings, load=Load(cpu, peak=cpu))
    took_s = []
    for _ in range(TIMES):
        gc.collect()
        began_s = time.process_time()
        snapshot = build(listings)
        decision = conclude(LONG_IDLE, snapshot, listings.settings, NOW_S)
        took_s.append(time.process_time() - began_s)
        assert type(decision).__name__ in ("AddWorkers", "RemoveWorkers"), decision
        del snapshot, decision
    return median(took_s)


def _listings(nodes: int) -> tuple[Listings, float]:
    """As one look brings them, and the CPU time in which the pods were parsed."""
    pods, took_s = list[Pod](), 0.0
    for page in _pages(nodes):
        began_s = time.process_time()
        pods += _pods.decode(page).items or []
        took_s += time.process_time() - began_s
    found = [
        node
        for page in lists.pages("NodeList", lists.node, nodes)
        for node in _nodes.decode(page).items or []
    ]
    machines = [
        Instance(
            lists.instance_id(n),
            State.RUNNING,
            lists.ZONES[n % 3],
            "t3.medium",
            Market.SPOT,
            launched_s=1_700_000_000,
            pool="default",
            action_id=lists.ACTION,
            token=launch_token(lists.ACTION, 1, 1),
        )
        for n in range(nodes)
    ]
    pool = Pool(subnet_ids=tuple(SUBNETS), max_workers=2 * nodes)
    listings = Listings(
        at_s=NOW_S,
        instances=machines,
        nodes=found,
        pods=pods,
        volumes=_volumes(nodes),
        settings=Settings(pools=(pool,), max_workers=2 * nodes, region="us-east-1"),
        shapes={"t3.medium": Shape(2_000, 4 << 30)},
        zones=SUBNETS,
    )
    return listings, took_s


def _pages(nodes: int) -> Iterator[bytes]:
    """One by one: all of them at once would take a gigabyte."""
    count = nodes * PODS_EACH
    for start in range(0, count, lists.PAGE):
        items = [_pod(n, nodes) for n in range(start, start + lists.PAGE)]
        yield json_of({"items": items})


json_of = msgspec.json.Encoder().encode


def _pod(n: int, nodes: int) -> dict[str, Any]:
    """Of the kinds a twentieth spreads over zones and another stays apart; each hundredth pod has a claim."""
    pod = lists.pod(n, nodes)
    kind, labels = n % 97, {"matchLabels": {"app": f"app-{n % 97}"}}
    if kind % 20 == 0:
        rule = {"topologyKey": "topology.kubernetes.io/zone", "maxSkew": 5, "labelSelector": labels}
        pod["spec"]["topologySpreadConstraints"] = [{**rule, "whenUnsatisfiable": "DoNotSchedule"}]
    if kind % 20 == 1:
        term = {"topologyKey": "kubernetes.io/hostname", "labelSelector": labels}
        pod["spec"]["affinity"] = {"podAntiAffinity": {REQUIRED: [term]}}
    if n % 100 == 7:
        pod["spec"]["volumes"].append({"name": "data", "persistentVolumeClaim": {"claimName": f"data-{n}"}})
    if n % PENDING_EACH == 3:
        pod["spec"]["nodeName"] = ""
        pod["status"] = {"phase": "Pending", "conditions": [UNSCHEDULABLE]}
        pod["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "800m", "memory": "64Mi"}
    return pod


def _volumes(nodes: int) -> VolumeLists:
    names = [(n, f"data-{n}", f"team-{n % 23}") for n in range(7, nodes * PODS_EACH, 100)]
    return msgspec.convert(
        {
            "claims": [
                {
                    "metadata": {
                        "name": name,
                        "namespace": space,
                        "uid": name,
                        "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
                    },
                    "spec": {"volumeName": f"pv-{name}", "storageClassName": "gp3"},
                }
                for _, name, space in names
            ],
            "volumes": [_volume(f"pv-{name}", lists.ZONES[n % nodes % 3]) for n, name, _ in names],
        },
        VolumeLists,
    )


def _volume(name: str, zone: str) -> dict[str, Any]:
    wanted = [{"key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone]}]
    return {
        "metadata": {"name": name},
        "spec": {
            "csi": {"driver": "ebs.csi.aws.com", "volumeHandle": name},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": wanted}]}},
        },
    }
