"""What a node has left and which pods it takes, guard by guard."""

from typing import Any

import pytest

from holdfast.autoscaler.scheduling.fit import host_ports, is_vouched_for, refusal
from holdfast.autoscaler.scheduling.match import meets
from holdfast.autoscaler.scheduling.node_info import NodeInfo
from holdfast.cloud.kubernetes import Requirement
from tests.autoscaler.unit.scheduling.test_fit import room
from tests.autoscaler.unit.scheduling.test_pack import CLAIM
from tests.workloads import daemon, pod

SAFE_TO_EVICT = "cluster-autoscaler.kubernetes.io/safe-to-evict"


@pytest.mark.parametrize("number", ["1_0", " 10", "10 ", "1e1", "0x9", "9.5", "9223372036854775808"])
@pytest.mark.parametrize("operator", ["Gt", "Lt"])
def test_what_the_scheduler_does_not_read_as_a_number_is_greater_and_less_than_none(
    number: str, operator: str
) -> None:
    assert not meets(Requirement(key="cpus", operator=operator, values=("9",)), {"cpus": number})
    assert not meets(Requirement(key="cpus", operator=operator, values=(number,)), {"cpus": "9"})


def test_numbers_of_64_bits_are_compared_with_their_sign() -> None:
    above = Requirement(key="cpus", operator="Gt", values=("-1",))

    assert meets(above, {"cpus": "0"})
    assert meets(above, {"cpus": "9223372036854775807"})
    assert not meets(above, {"cpus": "-1"})


def test_an_init_container_that_ends_gives_its_host_port_back() -> None:
    starting = {"initContainers": [{"ports": [{"hostPort": 80}]}]}

    assert host_ports(pod(spec=starting)) == frozenset()


def test_only_a_plain_yes_vouches_for_a_pod() -> None:
    said: list[tuple[str, bool]] = [("true", True), ("false", False), ("True", False), ("", False)]
    for value, vouched in said:
        assert is_vouched_for(pod(annotations={SAFE_TO_EVICT: value})) is vouched


@pytest.mark.parametrize(
    "says",
    [
        "pod has unbound immediate PersistentVolumeClaims. preemption: not eligible",
        'persistentvolumeclaim "data-0" not found',
    ],
)
def test_a_claim_of_which_the_scheduler_says_that_it_is_not_bound_asks_for_no_node(says: str) -> None:
    def waits(spec: dict[str, Any]) -> str:
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": says}
        return refusal(pod(spec=spec, status={"conditions": [condition]}), room(new=True))

    assert waits(CLAIM) == "a claim of its is not bound, and no node changes that"
    assert waits({}) == "", "a pod without a claim waits for something else"


def test_a_node_with_none_but_static_and_daemon_pods_is_empty() -> None:
    static = pod("kube-proxy", owner="", annotations={"kubernetes.io/config.mirror": "x"}, node="n-1")

    assert NodeInfo([static, daemon(node="n-1")]).empty
    assert not NodeInfo([static, pod(node="n-1")]).empty
