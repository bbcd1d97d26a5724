"""Requirements of a pool: how they are read, and which types meet them."""

from typing import Any

import pytest

from holdfast.autoscaler.scheduling.machines.resolve import resolved
from holdfast.autoscaler.settings import Pool
from holdfast.autoscaler.settings.load import InvalidSettings, load
from holdfast.autoscaler.settings.requirements import Requirements
from holdfast.autoscaler.settings.spare import Spare
from holdfast.autoscaler.snapshot.pools import look_at_pools
from holdfast.cloud import MachineType, Shape
from holdfast.kernel import Busy, Invalid
from tests.cli.small_world import SmallWorld

GI = 1 << 30


def kind(name: str, vcpus: int = 2, gib: int = 8, **said: Any) -> MachineType:
    shape = Shape(vcpus * 1_000, gib * GI, architecture=said.pop("architecture", "amd64"))
    return MachineType(name, shape, vcpus, gib * 1_024, **said)


TYPES = (
    kind("m5.large", current=False),
    kind("m6i.large"),
    kind("m6i.4xlarge", 16, 64),
    kind("m6id.large", local_disk_gib=118),
    kind("m6g.large", architecture="arm64"),
    kind("c6i.xlarge", 4, 8),
    kind("c7i.metal", 96, 192, bare_metal=True),
    kind("t3.medium", 2, 4, burstable=True),
    kind("g5.xlarge", 4, 16, accelerated=True),
)


def met(architecture: str = "amd64", **said: Any) -> tuple[str, ...]:
    return resolved(Requirements(**said), architecture, TYPES)


def test_types_that_meet_all_are_found_the_smallest_first() -> None:
    assert met() == ("m6i.large", "m6id.large", "c6i.xlarge", "m6i.4xlarge")
    assert met(families=("m6i",)) == ("m6i.large", "m6i.4xlarge")
    assert met(families=("m",)) == ("m5.large", "m6i.large", "m6id.large", "m6i.4xlarge")
    assert met(generations=(5,)) == ("m5.large",)
    assert met(vcpus_min=4, vcpus_max=8) == ("c6i.xlarge",)
    assert met(memory_gib_min=9) == ("m6i.4xlarge",)
    assert met(memory_gib_max=8, excluded_types=("c*", "m6id.*")) == ("m6i.large",)
    assert met(local_disk=True) == ("m6id.large",)
    assert "m6id.large" not in met(local_disk=False)
    assert "t3.medium" in met(burstable=True)
    assert met(families=("g",)) == ("g5.xlarge",)
    assert met("arm64") == ("m6g.large",)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            {"families": ("m6i",), "generations": (7,)},
            "requirements.generations = '7': none of the 2 types that what stands before it leaves meets it; "
            "name others",
        ),
        ({"vcpus_min": 200}, "requirements.vcpus_min = 200: none of the 8 types"),
        ({"vcpus_min": 200}, "; lower it"),
        ({"vcpus_max": 1}, "; raise it"),
        ({"memory_gib_min": 9_999}, "; lower it"),
        ({"memory_gib_max": 1}, "; raise it"),
        ({"families": ("c7i",)}, "bare metal is left out"),
        ({"families": ("c7i",)}, "name a family that has other sizes too"),
        ({"generations": (6,), "vcpus_min": 96, "vcpus_max": 96}, "vcpus_min = 96"),
        ({"excluded_types": ("*",)}, "requirements.excluded_types = '*': none of the 8 types"),
        ({"excluded_types": ("*",)}, "; exclude fewer"),
        ({"families": ("m6i",), "local_disk": True}, "requirements.local_disk = true"),
        ({"families": ("m6i",), "local_disk": True}, "; leave it out"),
        ({"families": ("t3",)}, "requirements.burstable = false: the one type that what stands before it"),
        ({"families": ("t3",)}, "does not meet it; set it to true"),
    ],
)
def test_what_leaves_none_is_named_with_its_value_and_a_fix(said: Any, told: str) -> None:
    with pytest.raises(Invalid) as refused:
        met(**said)
    assert told in str(refused.value)
    assert str(refused.value).endswith(", or give instance_types")


def asking(name: str = "any", **said: Any) -> Pool:
    return Pool(name=name, instance_types=(), requirements=Requirements(**said), subnet_ids=("subnet-a",))


def test_a_pool_that_nothing_meets_is_no_trouble_of_another() -> None:
    cloud: Any = SmallWorld(all_types=TYPES)
    pools = [
        asking("ok", families=("m6i", "m99")),
        asking("huge", vcpus_min=999),
        asking("x", families=("zz",)),
    ]
    found = look_at_pools(cloud, pools)

    assert found.types["ok"] == ("m6i.large", "m6i.4xlarge")
    assert found.shapes.keys() >= {"m6i.large", "m6i.4xlarge"}
    assert found.problems.keys() == {"huge", "x"}
    assert found.problems["x"].startswith("requirements.families = 'zz': EC2 has no such family")
    (remark,) = found.remarks
    assert remark.startswith("pool ok: requirements.families = 'm99'")


def test_while_ec2_does_not_list_its_types_only_pools_with_requirements_wait() -> None:
    class Silent(SmallWorld):
        def types(self) -> Any:
            raise Busy("ec2:DescribeInstanceTypes: throttled")

    silent: Any = Silent()
    found = look_at_pools(silent, [Pool(subnet_ids=("subnet-a",)), asking()])

    assert found.problems.keys() == {"any"}
    assert "give instance_types" in found.problems["any"]


def read(pool: dict[str, Any]) -> Pool:
    return load({"autoscaler": {"pools": [{"name": "x", **pool}]}}, {}).settings.pools[0]


def test_requirements_and_headroom_are_read() -> None:
    pool = read({"requirements": {"families": ["m6i"], "vcpus_max": 16, "local_disk": False}, "weight": 3})

    assert pool.requirements == Requirements(families=("m6i",), vcpus_max=16, local_disk=False)
    assert (pool.instance_types, pool.weight) == ((), 3)
    assert read({"spare": "2 pods of 1 cpu"}).spare == Spare(2, 1_000)
    assert read({"spare": "1 pod of 500m cpu 2Gi"}).spare == Spare(1, 500, 2 * GI)
    env = {"WORKER_REQUIREMENTS": '{"generations": [6]}', "WORKER_SPARE": "3 pods of 2 cpu 1Gi"}
    (default,) = load({}, env).settings.pools
    assert default.requirements == Requirements(generations=(6,))
    assert default.spare == Spare(3, 2_000, GI)


@pytest.mark.parametrize(
    ("pool", "told"),
    [
        ({"requirements": "m6i"}, "give a table"),
        ({"requirements": {"family": ["m6i"]}}, "family is not known in it (did you mean families?)"),
        ({"requirements": {"vcpus_min": "many"}}, "its vcpus_min = 'many': give a whole number"),
        ({"requirements": {"vcpus_min": 8, "vcpus_max": 4}}, "its vcpus_min = 8 against vcpus_max = 4"),
        ({"requirements": {"memory_gib_min": -1}}, "its memory_gib_min = -1: must be at least 0"),
        ({"requirements": {"families": ["m5.large"]}}, "'m5.large': a family is what stands before the dot"),
        ({"requirements": {"excluded_types": ["m5"]}}, "'m5' is no type: write m5.* for all of a family"),
        ({"requirements": {}, "instance_types": ["m5.large"]}, "leave one of them out"),
        ({"spare": "two pods"}, 'write it as "2 pods of 1 cpu"'),
        ({"spare": "0 pods of 1 cpu"}, "at least one pod"),
        ({"spare": 2}, 'write it as "2 pods of 1 cpu"'),
        ({"instance_types": []}, "name at least one, or give requirements"),
        ({"weight": -1}, "weight = -1: must be at least 0"),
    ],
)
def test_what_cannot_be_read_is_told_with_field_value_and_fix(pool: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        read(pool)
    assert told in str(refused.value)
    assert "pools" in str(refused.value)
