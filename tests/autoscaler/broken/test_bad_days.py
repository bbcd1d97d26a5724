"""Days on which the listings are wrong altogether: nothing that serves is ended because of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler import interruption, record, sweep
from holdfast.autoscaler.ports import DeleteNode, Terminate
from holdfast.autoscaler.record import Cluster, Interrupted, Missing
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import build as shipped
from holdfast.autoscaler.workflow import step
from holdfast.cloud import Instance, NoticeKind
from holdfast.cloud.kubernetes import KubeNode
from holdfast.kernel import Do, Write
from tests.autoscaler.unit.snapshots import snapshot, worker
from tests.proof import prove
from tests.variants import broken
from tests.workloads import instance, node

NOW_S = 100_000.0
LONG_AGO_S = 1_000
SETTINGS = Settings(min_workers=2, max_workers=40)
MACHINES = [instance(f"i-{n}", zone="abc"[n % 3], launched_s=LONG_AGO_S) for n in range(30)]
NODES = [node(f"n-{n}", zone="abc"[n % 3]) for n in range(30)]
STEPS_MAX = 50


def a_day(
    module: Any, machines: Sequence[Instance], nodes: Sequence[KubeNode], cluster: Cluster | None = None
) -> list[str]:
    """What would be ended or deleted if this look stayed the same for a while."""
    snapshot = module.build(module.Listings(instances=machines, nodes=nodes, settings=SETTINGS, at_s=NOW_S))
    cluster, ended = cluster or Cluster(), list[str]()
    for _ in range(STEPS_MAX):
        ahead = step(cluster, snapshot, SETTINGS, NOW_S)
        if isinstance(ahead, Write):
            cluster = ahead.value
            continue
        if isinstance(ahead, Do):
            ended += [each.instance_id for each in ahead.effects if isinstance(each, Terminate | DeleteNode)]
        break
    return sorted({*ended, *(one.instance_id for one in cluster.condemned)})


def no_machine_ends_for_missing_nodes(module: Any) -> None:
    """The kubeconfig points at another cluster, or the API answers with empty lists."""
    assert a_day(module, MACHINES, []) == []
    assert a_day(module, MACHINES, NODES[:15]) == []
    assert a_day(module, MACHINES[:2], []) == []


def no_node_goes_for_missing_machines(module: Any) -> None:
    """Another region, or tags that were changed: the nodes are Ready, and the machines are not listed."""
    missing = tuple(Missing(f"i-{n}", LONG_AGO_S) for n in range(30))
    assert a_day(module, [], NODES, Cluster(missing=missing)) == []


def a_ready_node_stays(deletes: Any) -> None:
    """One machine is not listed any more, and its node is Ready: the listing is wrong, not the node."""
    snapshot = shipped.build(
        shipped.Listings(instances=MACHINES[1:], nodes=NODES, settings=SETTINGS, at_s=NOW_S)
    )
    cluster = Cluster(missing=(Missing("i-0", LONG_AGO_S),))
    assert deletes.effects(cluster, snapshot, SETTINGS, NOW_S) == ()


def a_loss_is_made_good_once(module: Any) -> None:
    """A machine died, a new one was asked for, and only then its notice came: the fleet is full already."""
    gone = Interrupted("i-9", NoticeKind.GONE, int(NOW_S) - 60, int(NOW_S) - 60)
    full = Settings(min_workers=1, max_workers=3)
    crowded = snapshot(*(worker(f"i-{n}") for n in (1, 2, 3)), fits_without=lambda *_: "no room")
    cluster = Cluster(interrupted=(gone,))
    assert module.needed(cluster, crowded, cluster.interrupted, full) == ([], [gone])
    roomy = replace(full, max_workers=4)
    assert module.needed(cluster, crowded, cluster.interrupted, roomy) == ([gone], [])


def two_actions_have_two_ids(module: Any) -> None:
    """A tick ends one action and begins the next within a second, on one look."""
    first = module.Cluster().next_action_id("req-1", NOW_S)
    assert module.Cluster(last_action_id=first).next_action_id("req-1", NOW_S) != first


CLAIMS = {
    two_actions_have_two_ids: record,
    a_loss_is_made_good_once: interruption,
    no_machine_ends_for_missing_nodes: shipped,
    no_node_goes_for_missing_machines: shipped,
    a_ready_node_stays: sweep,
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_shipped_one_ends_nothing(claim: Any) -> None:
    assert claim(CLAIMS[claim]) is None


def test_a_single_surplus_is_still_swept() -> None:
    assert a_day(shipped, MACHINES, NODES[1:]) == ["i-0"]


def test_what_it_looks_like_is_said() -> None:
    seen = shipped.build(shipped.Listings(instances=MACHINES, settings=SETTINGS, at_s=NOW_S))
    assert seen.troubles == (
        "30 of 30 machines have no node at once: another cluster behind the kubeconfig, or nodes that were "
        "deleted",
    )
    foreign = shipped.build(shipped.Listings(nodes=NODES, settings=SETTINGS, at_s=NOW_S))
    assert foreign.troubles == (
        "30 Ready nodes have no listed machine at once: another region, or tags that were changed",
    )


VARIANTS = {
    "S-A1: two actions of one second share an id": (
        "holdfast.autoscaler.record",
        {'            return f"{first}.2"\n': "            return first\n"},
        two_actions_have_two_ids,
    ),
    "bad day: a loss is made good again when its notice comes late": (
        "holdfast.autoscaler.interruption",
        {"        if full or (above_floor": "        if (above_floor"},
        a_loss_is_made_good_once,
    ),
    "bad day: all machines without a node are swept as surplus": (
        "holdfast.autoscaler.snapshot.build",
        {"    if _many(without_node, len(settled), settings):": "    if False:"},
        no_machine_ends_for_missing_nodes,
    ),
    "bad day: a Ready node is deleted because its machine is not listed": (
        "holdfast.autoscaler.sweep",
        {" and ghost.instance_id in since_s and not ghost.ready": " and ghost.instance_id in since_s"},
        a_ready_node_stays,
    ),
}


@pytest.mark.parametrize("title", VARIANTS)
def test_a_bad_day_without(title: str) -> None:
    module, changes, claim = VARIANTS[title]
    with pytest.raises(AssertionError):
        claim(broken(module, changes))
    prove("variant", title, caught_by="a bad day")
