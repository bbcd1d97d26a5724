"""One pool's trouble is its own: what fails, backs off or cannot be described holds up no other."""

from collections.abc import Mapping, Sequence
from typing import Any

from holdfast.autoscaler.ports import PrepareTemplate
from holdfast.autoscaler.record import Cluster, LaunchStatus, PoolFailure
from holdfast.autoscaler.scale_up.pool_failures import is_sound
from holdfast.autoscaler.settings import Pool
from holdfast.autoscaler.snapshot.pools import look_at_pools
from holdfast.autoscaler.workflow import settle
from holdfast.cloud import Shape
from holdfast.cloud.launches import Refusal, Refused, Template
from holdfast.kernel import Happened, Invalid
from tests.autoscaler.unit.scale_up.test_action import row, scaling_up
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS

AT_S = int(NOW_S)
GOOD = Pool(name="good", instance_types=("m5.large",), subnet_ids=("s-1",))
BAD = Pool(name="bad", instance_types=("x9.large",), subnet_ids=("s-none",))


class Picky:
    """Answers for the good pool, and refuses every question in which the bad one occurs."""

    def digest(self, pool: Pool) -> str:
        return f"digest of {pool.name}"

    def templates(self, pools: Sequence[Pool]) -> Mapping[str, Template]:
        if BAD in pools:
            raise Invalid("launch_template_id of pool bad: no such template")
        return {pool.name: Template(f"lt-{pool.name}", 1, "d") for pool in pools}

    def subnets(self, names: Sequence[str]) -> Mapping[str, str]:
        if "s-none" in names:
            raise Invalid("subnet_ids: s-none: no such subnet")
        return dict.fromkeys(names, "a")

    def shapes(self, names: Sequence[str]) -> Mapping[str, Shape]:
        if "x9.large" in names:
            raise Invalid("instance_types: x9.large: no such type")
        return {name: Shape(2_000, 1 << 30) for name in names}


def test_what_one_pool_cannot_tell_is_its_own_problem_and_the_others_are_answered() -> None:
    cloud: Any = Picky()

    found = look_at_pools(cloud, (BAD, GOOD))

    assert list(found.problems) == ["bad"]
    assert list(found.templates) == ["good"]
    assert (found.zones, list(found.shapes)) == ({"s-1": "a"}, ["m5.large"])


def test_a_pool_is_sound_unless_it_backs_off_or_will_when_the_open_scale_up_ends() -> None:
    failed = Cluster(pool_failures=(PoolFailure("other", 1, AT_S + 60, "no image"),))
    given_up = scaling_up(row(status=LaunchStatus.ABANDONED))
    lost = scaling_up(row(1, "i-9"), lost=("i-9",))

    assert is_sound(failed, "default", NOW_S)
    assert not is_sound(failed, "other", NOW_S)
    assert is_sound(failed, "other", NOW_S + 60)
    for cluster in (given_up, lost):
        assert not is_sound(cluster, "default", NOW_S)
        assert is_sound(cluster, "other", NOW_S)


def test_a_template_that_is_refused_is_noted_as_its_pools_failure_once() -> None:
    why = "labels of pool default: kubernetes.io/x is reserved"
    refused: Happened[object] = Happened(Refused(Refusal.REFUSED, why))
    asked = PrepareTemplate("default", "d")

    noted = settle(Cluster(), asked, refused, SETTINGS, NOW_S)

    assert noted is not None
    assert [(one.pool, one.failures) for one in noted.value.pool_failures] == [("default", 1)]
    assert noted.events[0].kind == "poolFailed"
    assert settle(noted.value, asked, refused, SETTINGS, NOW_S) is None
    assert settle(Cluster(), asked, Happened(None), SETTINGS, NOW_S) is None
