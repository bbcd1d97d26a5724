"""Pods by the domains of their nodes: which of them count, and on which nodes."""

from typing import Any

from holdfast.autoscaler.scheduling.fit import HOSTNAME, Room
from holdfast.autoscaler.scheduling.node_info import NodeInfo
from holdfast.autoscaler.scheduling.topology import Topology
from holdfast.cloud.kubernetes import Pod, Taint
from tests.autoscaler.unit.scheduling.test_pack import ZONE, room
from tests.autoscaler.unit.scheduling.test_pod_rules import affine, apart, spread
from tests.workloads import pending, pod

RACK = "example.com/rack"


def web(name: str = "web-9", node: str = "", **said: Any) -> Pod:
    return pod(name, labels={"app": "web"}, node=node, **said)


def waits(spec: dict[str, Any]) -> Pod:
    return pending("web-1", labels={"app": "web"}, spec=spec)


def refusal(asking: Pod, at: Room, *others: tuple[Room, list[Pod]]) -> str:
    nodes = [(room, NodeInfo(pods)) for room, pods in others]
    asked = Topology(nodes, [asking]).asked(asking)
    assert asked is not None
    return asked.refusal(at)


A, B = room("n-a", zone="a"), room("n-b", zone="b")


def test_a_pod_on_its_way_out_counts_for_no_spread() -> None:
    """The scheduler passes it over, as if it had gone."""
    there = [web(node="n-a", terminating=True)]

    assert refusal(waits(spread()), A, (A, there), (B, [])) == ""
    assert "topology spread" in refusal(waits(spread()), A, (A, [web(node="n-a")]), (B, []))


def test_a_pod_on_its_way_out_counts_for_no_spread_whenever_it_is_seen() -> None:
    asking = waits(spread())
    topology = Topology([(A, NodeInfo()), (B, NodeInfo())], [asking])
    asked = topology.asked(asking)
    assert asked is not None

    topology.put("n-a", topology.class_of(web(terminating=True)), 1)
    assert asked.refusal(A) == ""
    topology.put("n-a", topology.class_of(web()), 1)
    assert "topology spread" in asked.refusal(A)


def test_a_pod_on_its_way_out_still_keeps_others_off() -> None:
    there = [web(node="n-a", terminating=True)]
    lonely = [pod("lonely", node="n-a", spec=apart(), terminating=True)]

    assert "pod anti-affinity" in refusal(waits(apart()), A, (A, there))
    assert "keeps it off" in refusal(waits(apart()), A, (A, lonely))
    assert refusal(waits(affine(ZONE)), A, (A, there)) == ""


def test_a_node_counts_for_a_spread_if_it_has_the_labels_of_all_of_the_pods_spreads() -> None:
    both = {"topologySpreadConstraints": [*_rules(spread(ZONE)), *_rules(spread(RACK))]}
    with_rack = room("n-a", labels={ZONE: "a", RACK: "1", HOSTNAME: "n-a"})
    without, asking = room("n-b", zone="b"), waits(both)

    assert refusal(asking, with_rack, (with_rack, [web(node="n-a")]), (without, [])) == "", "one domain"
    assert "topology spread" in refusal(waits(spread(ZONE)), with_rack, (with_rack, [web()]), (without, []))


def _rules(spec: dict[str, Any]) -> list[Any]:
    return list(spec["topologySpreadConstraints"])


def test_fewer_domains_than_wanted_count_as_an_empty_one_more() -> None:
    asking = waits(spread(minDomains=2))

    assert "the least is 0" in refusal(asking, A, (A, [web(node="n-a")]))
    assert refusal(asking, A, (A, [web(node="n-a")]), (B, [web("web-8", node="n-b")])) == ""


def test_a_tainted_node_is_a_domain_unless_the_rule_honors_taints() -> None:
    tainted = room("n-b", zone="b", taints=(Taint("dedicated", "x", "NoExecute"),))
    nodes = ((A, [web(node="n-a")]), (tainted, list[Pod]()))

    assert "topology spread" in refusal(waits(spread()), A, *nodes)
    assert refusal(waits(spread(nodeTaintsPolicy="Honor")), A, *nodes) == ""


def test_a_node_without_the_label_takes_no_pod_that_goes_with_another() -> None:
    nowhere = room("n-x", labels={HOSTNAME: "n-x"})

    assert refusal(waits(affine(ZONE)), nowhere, (A, [])) == f"no label {ZONE}"
    assert refusal(waits(spread()), nowhere, (A, [])) == f"no label {ZONE}"


def test_the_first_of_its_kind_is_first_in_the_whole_cluster() -> None:
    asking = waits(affine(ZONE))

    assert refusal(asking, B, (A, []), (B, [])) == ""
    assert "pod affinity" in refusal(asking, B, (A, [web(node="n-a")]), (B, []))


def test_a_node_that_is_taken_back_is_no_domain_any_more() -> None:
    asking = waits(spread())
    topology = Topology([(A, NodeInfo([web(node="n-a")]))], [asking])
    asked = topology.asked(asking)
    assert asked is not None

    with topology.trial():
        topology.add_node(B)
        assert "topology spread" in asked.refusal(A), "the new one is emptier"
    assert asked.refusal(A) == ""


def test_pods_count_for_a_spread_only_on_nodes_that_the_pod_may_choose() -> None:
    def ssd(name: str, zone: str) -> Room:
        return room(name, labels={ZONE: zone, HOSTNAME: name, "disk": "ssd"})

    here = ssd("n-a", "a")
    nodes = ((here, list[Pod]()), (ssd("n-b", "b"), list[Pod]()), (room("n-c", zone="a"), [web(node="n-c")]))
    chosen = {"nodeSelector": {"disk": "ssd"}}

    assert refusal(waits({**chosen, **spread()}), here, *nodes) == ""
    assert "topology spread" in refusal(
        waits({**chosen, **spread(nodeAffinityPolicy="Ignore")}), here, *nodes
    )
