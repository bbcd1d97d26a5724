"""GPUs and their like: expected of a type, told by a node."""

from holdfast.autoscaler.snapshot.build import build
from holdfast.cloud import Shape
from holdfast.cloud.kubernetes import KubeNode
from tests.workloads import instance, listings, node, pending

GPU = "nvidia.com/gpu"
GPU_SHAPES = {"t3.medium": Shape(2_000, 4 << 30, pods=17, devices=((GPU, 1),))}


def gpu_needs(*nodes: KubeNode, at_s: float = 10_000.0, launched_s: int = 0) -> list[int]:
    """How many nodes two pods with a GPU each ask for."""
    waiting = [pending(f"train-{n}", requests={"cpu": "100m", GPU: "1"}) for n in range(2)]
    machines = [instance(f"i-{n + 1}", launched_s=launched_s) for n in range(len(nodes))]
    found = build(listings(*nodes, pods=waiting, shapes=GPU_SHAPES, at_s=at_s, instances=machines))
    return [need.count for need in found.needs(0)]


def test_gpus_are_expected_of_a_type_before_the_first_node_has_joined() -> None:
    assert gpu_needs() == [2]
    assert gpu_needs(node("n-1", resources={GPU: "1"})) == [1]


def test_a_young_node_is_expected_to_tell_of_its_gpus_and_an_old_one_is_believed() -> None:
    assert gpu_needs(node("n-1"), launched_s=9_500) == [1], "one of both waits for its device plugin"
    assert gpu_needs(node("n-1"), launched_s=1_000) == [], "it has no device plugin, nor would the next"
