"""Pods that ask something of each other: where they go, and which new nodes they ask for."""

from typing import Any

import pytest

from holdfast.autoscaler.scheduling.fit import HOSTNAME, Doubt
from holdfast.autoscaler.scheduling.node_info import NodeInfo
from holdfast.autoscaler.scheduling.pack import pack, unplaceable
from holdfast.autoscaler.scheduling.pod_groups import PodTemplates, group_pods
from holdfast.autoscaler.scheduling.terms import needs_namespaces
from holdfast.autoscaler.scheduling.topology import Topology
from tests.autoscaler.unit.scheduling.test_pack import ZONE, needs, pool, room, some
from tests.workloads import pending, pod

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
WEB = {"matchLabels": {"app": "web"}}


def affine(key: str = ZONE, **more: Any) -> dict[str, Any]:
    return {"affinity": {"podAffinity": {REQUIRED: [{"topologyKey": key, "labelSelector": WEB, **more}]}}}


def apart(key: str = HOSTNAME, **more: Any) -> dict[str, Any]:
    return {"affinity": {"podAntiAffinity": {REQUIRED: [{"topologyKey": key, "labelSelector": WEB, **more}]}}}


def spread(key: str = ZONE, **more: Any) -> dict[str, Any]:
    rule = {"topologyKey": key, "maxSkew": 1, "labelSelector": WEB, "whenUnsatisfiable": "DoNotSchedule"}
    return {"topologySpreadConstraints": [{**rule, **more}]}


def web(count: int, spec: dict[str, Any], **said: Any) -> list[Any]:
    return some(count, labels={"app": "web"}, spec=spec, **said)


def test_pods_that_stay_apart_ask_for_a_node_each() -> None:
    assert needs(*web(3, apart())) == [("default", 3, "")]
    assert needs(*web(3, apart()), rooms=(room("n-1"),)) == [("default", 2, "")], "what stands is used"


def test_pods_that_stay_apart_by_zone_ask_for_one_in_each_and_no_fourth() -> None:
    packed = pack(web(4, apart(ZONE)), (), (pool(),), 10)

    assert [(need.count, need.zone) for need in packed.needs] == [(1, "a"), (1, "b"), (1, "c")]
    assert packed.fates[0].left == 1
    assert "pod anti-affinity" in packed.fates[0].why


def test_pods_that_spread_over_zones_take_turns() -> None:
    assert needs(*web(6, spread(), cpu="900m")) == [
        ("default", 1, "a"),
        ("default", 1, "b"),
        ("default", 1, "c"),
    ]
    full = tuple(room(f"n-{zone}", zone=zone, cpu_m=0) for zone in "ab")
    assert needs(*web(2, spread(), cpu="900m"), rooms=(*full, room("n-c", zone="c"))) == [("default", 1, "a")]


def test_a_pod_that_goes_with_another_asks_for_a_node_in_its_zone() -> None:
    there, running = room("n-b", zone="b", cpu_m=0), pod("web-9", labels={"app": "web"}, node="n-b")
    waiting = [pending("api", spec=affine())]
    topology = Topology([(there, NodeInfo([running]))], waiting)

    packed = pack(waiting, (there,), (pool(),), 10, topology=topology)

    assert [(need.count, need.zone) for need in packed.needs] == [(1, "b")]
    alone = pack(waiting, (there,), (pool(),), 10, topology=Topology([(there, NodeInfo())], waiting))
    assert alone.needs == ()
    assert "pod affinity" in alone.fates[0].why


def test_the_first_of_its_kind_may_go_anywhere_and_the_others_follow() -> None:
    assert needs(*web(4, affine(), cpu="900m")) == [("default", 2, "a")]


def test_a_pod_that_runs_keeps_others_off_by_its_own_anti_affinity() -> None:
    there = room("n-1")
    lonely = pod("lonely", node="n-1", spec=apart())
    waiting = web(1, {})

    assert (
        pack(waiting, (there,), (), 10, topology=Topology([(there, NodeInfo([lonely]))], waiting))
        .fates[0]
        .left
        == 1
    )
    assert (
        pack(waiting, (there,), (), 10, topology=Topology([(there, NodeInfo())], waiting)).fates[0].left == 0
    )


def test_a_pod_that_moves_is_not_in_its_own_way() -> None:
    """The node that it leaves counts it no more, and the last replica may go where a rule says one a node."""
    rooms = [room("n-1"), room("n-2")]
    moving = pod("web-1", labels={"app": "web"}, node="n-1", spec=apart())
    staying = pod("web-2", labels={"app": "web"}, node="n-2", spec=apart())

    free = Topology([(rooms[0], NodeInfo([moving])), (rooms[1], NodeInfo())])
    assert unplaceable([moving], rooms[1:], free) == ""
    assert unplaceable([moving], rooms[:1], free) == "", "back where it was"
    taken = Topology([(rooms[0], NodeInfo([moving])), (rooms[1], NodeInfo([staying]))])
    why = unplaceable([moving], rooms[1:], taken)
    assert why.startswith("shop/web-1 fits on no other node: pod anti-affinity: ")
    assert unplaceable([moving], rooms[1:], taken) == why, "asking changes nothing"


def test_a_node_to_come_is_seen_with_the_daemons_that_it_will_run() -> None:
    daemon = pod("log", labels={"app": "web"}, owner="DaemonSet/log")

    assert needs(*web(1, apart())) == [("default", 1, "")]
    assert needs(*web(1, apart()), pools=(pool(runs=(daemon,)),)) == []


@pytest.mark.parametrize("known", [True, False])
def test_namespaces_that_are_chosen_by_labels_are_a_doubt_until_they_are_listed(known: bool) -> None:
    chosen = apart(namespaceSelector={"matchLabels": {"team": "a"}})
    (waiting,) = web(1, chosen)

    (group,) = group_pods(
        PodTemplates([waiting]), Topology([], [waiting], {"shop": {"team": "a"}} if known else None)
    )

    assert group.doubts == (() if known else (Doubt.NAMESPACES,))
    assert needs_namespaces([waiting])
    assert not needs_namespaces(web(1, apart(namespaceSelector={})))
    assert not needs_namespaces(some(1))


def test_labels_part_pods_only_where_a_rule_names_them() -> None:
    two = [pending("a", labels={"pod-index": "0"}), pending("b", labels={"pod-index": "1"})]

    assert len(group_pods(PodTemplates(two), Topology([], two))) == 1
    rule = web(1, apart())
    assert len(group_pods(PodTemplates(two), Topology([], [*two, *rule]))) == 1, "no rule names this label"
    named = [*two, pending("c", labels={"app": "web"})]
    assert len(group_pods(PodTemplates(named), Topology([], [*named, *rule]))) == 2


def test_a_node_whose_pods_matter_to_a_zone_is_asked_for_there_whichever_came_first() -> None:
    """The plain pods come first, being larger; a rule that counts them by zone comes after."""
    plain, follower = web(1, {}, cpu="1500m"), [pending("api", cpu="1000m", spec=affine())]

    assert needs(*plain) == [("default", 1, "")]
    assert needs(*plain, *follower) == [("default", 2, "a")]


def test_a_large_pod_that_goes_with_a_small_one_is_placed_after_it() -> None:
    """Large pods come first; this one would find no place before the other has one."""
    small = pod("web-1", labels={"app": "web"}, node="n-1")
    large = pod("api-1", labels={"app": "api"}, node="n-1", cpu="900m", spec=affine(HOSTNAME))
    rooms = [room("n-1"), room("n-2"), room("n-3", cpu_m=950)]
    there = Topology([(rooms[0], NodeInfo([small, large])), *((each, NodeInfo()) for each in rooms[1:])])

    assert unplaceable([large, small], rooms[1:], there) == ""
    assert "pod affinity" in unplaceable([large], rooms[1:], there), "where the small one stays, it stays"
    waiting = [pending("web-1", labels={"app": "web"}), pending("api-1", cpu="900m", spec=affine(HOSTNAME))]
    assert needs(*waiting) == [("default", 1, "")]
    assert pack(waiting, (), (pool(),), 10).left == 0


def test_pods_that_go_with_each_other_alone_find_no_place() -> None:
    """The scheduler places neither before the other; on the node where they are they stay."""
    other = {"labelSelector": {"matchLabels": {"app": "api"}}}
    two = [
        pod("web-1", labels={"app": "web"}, node="n-1", spec=affine(HOSTNAME, **other)),
        pod("api-1", labels={"app": "api"}, node="n-1", spec=affine(HOSTNAME)),
    ]
    rooms = [room("n-1"), room("n-2")]
    there = Topology([(rooms[0], NodeInfo(two)), (rooms[1], NodeInfo())])

    assert "pod affinity" in unplaceable(two, rooms[1:], there)
