"""What of a machine, its node and its pods keeps it where it is, guard by guard."""

from typing import Any

import pytest

from holdfast.autoscaler.scheduling.budgets import Budgets
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.snapshot.build import build
from holdfast.cloud.kubernetes import DO_NOT_DISRUPT, SCALE_DOWN_DISABLED
from tests.workloads import budget, instance, listings, node, pod

NONE = frozenset[str]()


def two(first: dict[str, Any], *pods: Any, **machine: Any) -> Snapshot:
    """A node as told, and an ordinary one."""
    machines = [instance("i-1", **machine), instance("i-2")]
    return build(listings(node("n-1", **first), node("n-2"), pods=pods, instances=machines))


@pytest.mark.parametrize(
    ("first", "machine", "why"),
    [
        ({}, {}, ""),
        ({"control_plane": True}, {}, "control plane"),
        ({"cordoned": True}, {}, "cordoned by a person"),
        ({"cordon_owners": ["1-a"]}, {}, ""),
        ({"cordon_owners": ["1-a"], "cordon_found": True}, {}, "cordoned by a person"),
        ({"annotations": {SCALE_DOWN_DISABLED: "true"}}, {}, SCALE_DOWN_DISABLED),
        ({"annotations": {DO_NOT_DISRUPT: "true"}}, {}, DO_NOT_DISRUPT),
        ({"annotations": {DO_NOT_DISRUPT: "false"}}, {}, ""),
        ({}, {"action_id": ""}, "not launched by Holdfast"),
        ({}, {"token": "another's"}, "not launched by Holdfast"),
    ],
)
def test_a_node_stays_for_what_it_is(first: dict[str, Any], machine: dict[str, Any], why: str) -> None:
    seen = two(first, **machine)

    for found in (seen.stays_put("i-1"), seen.must_stay("i-1")):
        assert why in found
        assert bool(found) == bool(why)


def test_a_node_stays_if_its_pods_fit_nowhere_else() -> None:
    small, large = pod("a", node="n-1", cpu="500m"), pod("b", node="n-1", cpu="500m")
    filling = pod("c", node="n-2", cpu="1500m")

    assert two({}, small, large).must_stay("i-1") == ""
    assert "fits on no other node" in two({}, small, large, filling).must_stay("i-1")
    assert "do-not-disrupt" in two({}, pod("a", node="n-1", annotations={DO_NOT_DISRUPT: "true"})).must_stay(
        "i-1"
    )


def test_what_leaves_or_joins_offers_no_room() -> None:
    moving = pod("a", node="n-1", cpu="500m")
    assert two({}, moving).fits_without(frozenset({"i-1"}), NONE) == ""
    assert two({}, moving).fits_without(frozenset({"i-1"}), frozenset({"i-2"})) != ""
    assert two({}, moving).fits_without(frozenset({"i-1", "i-2"}), NONE) != ""
    for spec in ({}, {"tolerations": [{"operator": "Exists"}]}):
        pods = [pod("a", node="n-1", spec=spec)]
        joining = build(listings(node("n-1"), node("n-2", joining=True), pods=pods))
        assert joining.fits_without(frozenset({"i-1"}), NONE) != "", "whatever it tolerates"


def test_a_replacement_comes_in_the_zone_of_the_old_one_and_takes_what_only_that_could() -> None:
    tied = pod("a", node="n-1", spec={"nodeSelector": {"kubernetes.io/hostname": "n-1"}})

    assert two({}, pod("a", node="n-1")).fits_on_new("i-1") == ""
    assert "no label kubernetes.io/hostname" in two({}, tied).fits_on_new("i-1"), "the old one does not count"
    assert "no new node can come in zone z" in two({}, pod("a", node="n-1"), zone="z").fits_on_new("i-1")


def test_a_budget_covers_pods_of_its_namespace_that_have_all_of_its_labels() -> None:
    here = budget("here", selector={"app": "web", "tier": "front"})
    budgets = Budgets(
        [
            here,
            budget("elsewhere", namespace="bank", selector={"app": "web"}),
            budget("all"),
            budget("none", matches_nothing=True),
        ]
    )

    def covering(**labels: str) -> list[str]:
        return [each.metadata.name for each in budgets.covering(pod(labels=labels))]

    assert covering(app="web", tier="front") == ["all", "here"]
    assert covering(app="web") == ["all"]
    assert covering() == ["all"]
