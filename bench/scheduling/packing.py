"""What it costs to find machines for pods that wait, beside parsing the pods; and what the machines cost.

CPU time of this process, turn by turn in one run.  "Packing" is all from the decoded pods to the requests:
which of them wait, what they ask of each other, their groups, the nodes that stand, and the machines.
"""

import gc
import time
from collections.abc import Callable, Sequence
from random import Random
from statistics import median
from typing import Any, Final

import msgspec

from bench import Row
from bench.grounds import lists
from holdfast.adapters.kubernetes.lists import Page
from holdfast.autoscaler.scheduling.pack import Packed
from holdfast.autoscaler.scheduling.pod_groups import PodTemplates, group_pods, largest_first
from holdfast.autoscaler.scheduling.simulation import Simulation
from holdfast.autoscaler.scheduling.topology import Topology
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.snapshot import Place
from holdfast.cloud import Shape
from holdfast.cloud.kubernetes import Pod
from holdfast.cloud.requests import Amount, requests_of

ALIKE: Final = 51_000
ALIKE_RATIO_MAX: Final = 0.5
DIVERSE: Final = 2_000
TYPES: Final = 400
DIVERSE_PER_S_MIN: Final = 1_500
DEARER_MAX: Final = 1.1
ROUNDS: Final = 3
GIB: Final = 1 << 30
ZONES: Final = ("a", "b", "c")
UNSCHEDULABLE: Final = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/3 nodes are available: 3 Insufficient cpu. preemption: 0/3 nodes are available.",
}
SIZES: Final = (1, 2, 4, 8, 16, 24, 32, 48)
"""In large ones: two vCPUs each."""
FAMILIES: Final = {f"{letter}{n}": gib for letter, gib in (("c", 2), ("m", 4), ("r", 8)) for n in range(17)}

_pods = msgspec.json.Decoder(Page[Pod])


def run() -> list[Row]:
    return [_alike(), *_diverse()]


def _pending(n: int, requests: dict[str, str], **spec: Any) -> dict[str, Any]:
    pod = lists.pod(n, 1)
    pod["spec"] |= {"nodeName": "", **spec}
    pod["spec"]["volumes"][0]["name"] = f"kube-api-access-{n:05x}"
    pod["spec"]["containers"][0]["resources"]["requests"] = requests
    pod["status"] = {"phase": "Pending", "conditions": [UNSCHEDULABLE], "qosClass": "Burstable"}
    return pod


def shapes() -> tuple[dict[str, Shape], dict[str, float]]:
    """Types of three kinds, each family at its own price; dollars an hour."""
    random, found, usd = Random(7), dict[str, Shape](), dict[str, float]()
    for family, gib in FAMILIES.items():
        dear = random.uniform(0.8, 1.25)
        for size in SIZES:
            if len(found) < TYPES:
                name = f"{family}.{size}x"
                found[name] = Shape(2_000 * size, int(2 * gib * size * GIB * 0.92), pods=110)
                usd[name] = dear * size * (0.063 + 2 * gib * 0.0042)
    return found, usd


def packed(pods: Sequence[Pod], of: dict[str, Shape], usd: dict[str, float]) -> Packed:
    pool = Pool(instance_types=tuple(of), subnet_ids=ZONES, max_workers=100_000)
    simulation = Simulation(
        settings=Settings(max_workers=100_000, pools=(pool,)),
        workers=(),
        nodes={},
        other_nodes=(),
        pods=pods,
        budgets=(),
        shapes=of,
        places=[Place("default", zone, zone) for zone in ZONES],
        usd=lambda offering: usd[offering.instance_type],
    )
    return simulation.packed(0)


def _alike() -> Row:
    kinds = ({"cpu": "250m", "memory": "512Mi"}, {"cpu": "1", "memory": "3Gi"})
    pages = lists.pages("PodList", lambda n: _pending(n, kinds[n % 2]), ALIKE)
    of, usd = shapes()
    parsing, packing = [], []
    for _ in range(ROUNDS):
        seconds, pods = _cpu_s(lambda: [pod for page in pages for pod in _pods.decode(page).items or ()])
        parsing.append(seconds)
        seconds, result = _cpu_s(lambda pods=pods: packed(pods, of, usd))  # type: ignore[misc]
        packing.append(seconds)
        assert not any(fate.left for fate in result.fates)
    ratio = median(ours / theirs for ours, theirs in zip(packing, parsing, strict=True))
    what = f"machines for {ALIKE:,} pods of two kinds, {TYPES} types"
    return Row(what, 1 / median(packing), "parsing them", 1 / median(parsing), ratio, ALIKE_RATIO_MAX)


def diverse(seed: int = 5) -> list[Pod]:
    """Every pod asks for something else; a third keep apart, or are spread over zones, or go together."""
    random = Random(seed)
    made = []
    for n in range(DIVERSE):
        cpu = random.choice((50, 100, 250, 500, 900, 1_700, 3_500)) + random.randrange(50)
        memory = int(cpu * random.choice((1, 2, 4, 8, 12)) * random.uniform(0.7, 1.1))
        spec, app = dict[str, Any](), f"app-{n % 97}"
        if n % 3 == 0:
            spec = _rules(n // 3 % 3, app)
        pod = _pending(n, {"cpu": f"{cpu}m", "memory": f"{memory}Mi"}, **spec)
        pod["metadata"]["labels"]["app"] = app
        pod["metadata"]["namespace"] = f"team-{n % 97 % 23}"
        made.append(pod)
    pages = lists.pages("PodList", made.__getitem__, DIVERSE)
    return [pod for page in pages for pod in _pods.decode(page).items or ()]


def _rules(kind: int, app: str) -> dict[str, Any]:
    selector = {"matchLabels": {"app": app}}
    if kind == 1:
        spread = {
            "topologyKey": "topology.kubernetes.io/zone",
            "maxSkew": 2,
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": selector,
        }
        return {"topologySpreadConstraints": [spread]}
    key = "kubernetes.io/hostname" if kind == 0 else "topology.kubernetes.io/zone"
    what = "podAntiAffinity" if kind == 0 else "podAffinity"
    term = {"topologyKey": key, "labelSelector": selector}
    return {"affinity": {what: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _diverse() -> list[Row]:
    of, usd = shapes()
    pods, taken = diverse(), []
    for _ in range(ROUNDS):
        seconds, result = _cpu_s(lambda: packed(pods, of, usd))
        taken.append(seconds)
    placed = sum(each.count for fate in result.fates for each in fate.placed)
    per_s = placed / median(taken)
    bill = sum(room.usd for room in result.opened)
    theirs = first_fit(pods[: len(pods)], of, usd)
    what = f"{DIVERSE:,} diverse pods, {TYPES} types"
    return [
        Row(f"{what}: pods a second", per_s, "at least", DIVERSE_PER_S_MIN, DIVERSE_PER_S_MIN / per_s, 1.0),
        Row(f"{what}: dollars an hour", bill, "first fit", theirs, bill / theirs, DEARER_MAX, ""),
        Row(
            f"{what}: pods that found none", DIVERSE - placed, "at most", 1, float(DIVERSE - placed), 0.0, ""
        ),
    ]


def first_fit(pods: Sequence[Pod], of: dict[str, Shape], usd: dict[str, float]) -> float:
    """What plain first fit would pay, the largest first, with the best single type: rules are not asked."""
    groups = largest_first(group_pods(PodTemplates(pods), Topology(to_place=())))
    wants = [requests_of(pod) for group in groups for pod in group.pods]
    most = max(each.cpu_m for each in wants), max(each.memory for each in wants)
    hold_all = [name for name, shape in of.items() if shape.cpu_m >= most[0] and shape.memory >= most[1]]
    promising = sorted(hold_all, key=lambda name: usd[name] / worth_of(of[name], wants))[:12]
    return min(_first_fit(wants, of[name]) * usd[name] for name in promising)


def worth_of(shape: Shape, wants: Sequence[Amount]) -> float:
    """How much of all of them one machine could hold at best."""
    return min(shape.cpu_m / sum(each.cpu_m for each in wants), shape.memory / sum(w.memory for w in wants))


def _first_fit(wants: Sequence[Amount], shape: Shape) -> int:
    nodes: list[list[int]] = []
    for each in wants:
        for node in nodes:
            if node[0] >= each.cpu_m and node[1] >= each.memory and node[2]:
                break
        else:
            node = [shape.cpu_m, shape.memory, shape.pods]
            nodes.append(node)
        node[0] -= each.cpu_m
        node[1] -= each.memory
        node[2] -= 1
    return len(nodes)


def _cpu_s(work: Callable[[], Any]) -> tuple[float, Any]:
    gc.collect()
    begun_s = time.process_time()
    result = work()
    return time.process_time() - begun_s, result
