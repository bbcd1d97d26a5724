"""What keeps a pod with volumes off a node, guard by guard."""

from typing import Any

import pytest

from holdfast.cloud.kubernetes import POOL_LABEL
from tests.autoscaler.unit.scheduling.test_pack import ZONE, room
from tests.autoscaler.unit.scheduling.test_volumes import (
    EPHEMERAL,
    claim,
    lists,
    packed,
    volume,
    with_claim,
)
from tests.scheduling.drawn_volumes import CLASSES
from tests.workloads import pending

FREE = room("n-1", zone="b")
SIZE = {"resources": {"requests": {"storage": "1Gi"}}}


def local(name: str = "pv-1", phase: str = "Available", **spec: Any) -> dict[str, Any]:
    usual = {"storageClassName": "local", "capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"]}
    return {**volume(name, "b", **{**usual, **spec}), "status": {"phase": phase}}


def takes(of_claim: dict[str, Any], *volumes: dict[str, Any]) -> bool:
    """Whether the node that stands does."""
    done = packed([with_claim()], lists(claims=[of_claim], volumes=list(volumes)), FREE, limit=0)
    return done.left == 0


def wants(**spec: Any) -> dict[str, Any]:
    return claim(of_class="local", **{**SIZE, "accessModes": ["ReadWriteOnce"], **spec})


def test_a_volume_that_is_there_does_if_it_is_whole_and_free() -> None:
    gone = local()
    gone = {**gone, "metadata": {**gone["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}}

    assert takes(wants(), local())
    assert not takes(wants(), gone)
    for phase in ("Released", "Failed", "Pending"):
        assert not takes(wants(), local(phase=phase))


@pytest.mark.parametrize(
    "differs",
    [
        {"volumeMode": "Block"},
        {"accessModes": ["ReadWriteMany"]},
        {"resources": {"requests": {"storage": "2Gi"}}},
        {"volumeAttributesClassName": "fast"},
        {"selector": {"matchLabels": {"tier": "fast"}}},
    ],
    ids=lambda each: next(iter(each)),
)
def test_a_volume_that_is_there_does_only_if_it_is_as_the_claim_asks(differs: dict[str, Any]) -> None:
    assert not takes(wants(**differs), local())


def test_a_volume_that_is_kept_for_another_claim_is_not_free() -> None:
    def kept(name: str, uid: str = "") -> dict[str, Any]:
        return local(claimRef={"namespace": "shop", "name": name, "uid": uid})

    assert takes(wants(), kept("data"))
    assert takes(wants(), kept("data", "uid-data"))
    assert not takes(wants(), kept("data", "uid of one before"))
    assert not takes(wants(), kept("other"))


def test_a_claim_whose_node_is_chosen_goes_nowhere_else() -> None:
    """The scheduler's provisioner makes the volume for that node."""

    def chosen(name: str, node: str) -> dict[str, Any]:
        made = claim(name)
        return {
            **made,
            "metadata": {
                **made["metadata"],
                "annotations": {"volume.kubernetes.io/selected-node": node},
            },
        }

    assert takes(chosen("data", "n-1"))
    assert not takes(chosen("data", "n-2"))
    two = lists(claims=[chosen("data", "n-1"), chosen("logs", "n-2")])
    fate = packed([with_claim("db-0", "data", "logs")], two, FREE, limit=0).fates[0]
    assert (fate.left, fate.why) == (1, "volumes are being made for it on several nodes")


def test_a_claim_of_the_same_name_that_another_pod_owns_is_not_taken() -> None:
    waiting = pending("job", spec={"volumes": [{"name": "scratch", "ephemeral": EPHEMERAL}]})
    fate = packed([waiting], lists(claims=[claim("job-scratch")]), FREE).fates[0]

    assert fate.why == "its claim belongs to another: job-scratch"


def test_volumes_of_an_old_plugin_count_for_the_driver_that_does_its_work() -> None:
    old = {
        "metadata": {"name": "old"},
        "provisioner": "kubernetes.io/aws-ebs",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    there = room("n-1", labels={ZONE: "b", POOL_LABEL: "default"})
    known = lists(
        classes=[*CLASSES, old],
        claims=[claim(f"data-{n}", "old") for n in range(2)],
        csi_nodes=[
            {
                "metadata": {"name": "n-1"},
                "spec": {"drivers": [{"name": "ebs.csi.aws.com", "allocatable": {"count": 1}}]},
            }
        ],
    )
    two = [with_claim(f"db-{n}", f"data-{n}") for n in range(2)]

    assert packed(two, known, there, limit=0).left == 1
