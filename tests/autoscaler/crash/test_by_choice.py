"""Kill the process at every boundary while a worker is replaced or leaves by choice, and start it again."""

from dataclasses import replace

import pytest

from holdfast.autoscaler.settings import Disruption, Settings
from holdfast.autoscaler.workflow import workflow
from holdfast.cloud import NoticeKind
from tests.autoscaler.crash.test_interrupting import OFTEN, notice
from tests.autoscaler.model.fleet import Machine, World, fleet
from tests.autoscaler.model.lives import Befall, Story, judge, lives
from tests.proof import prove

FULL = Settings(min_workers=2, max_workers=2, pending_up_s=0)
DRIFTING = replace(FULL, disruption=Disruption(drift=True))
CONSOLIDATING = replace(
    FULL,
    max_workers=3,
    cooldown_down_s=0,
    disruption=Disruption(consolidation=True, empty_down_s=60),
)


def old(machine: Machine) -> Machine:
    return replace(machine, template="lt-1:0")


ONE_OLD = World((old(fleet("aa")[0]), fleet("aa")[1]), 2)


@OFTEN
@pytest.mark.parametrize(
    ("befall", "launched"),
    [(None, (1,)), (notice("i-1", NoticeKind.INTERRUPTION), (1,))],
    ids=["alone", "the cloud takes it back meanwhile"],
)
def test_a_worker_is_replaced_once_at_any_crash(
    befall: Befall | None, launched: tuple[int, ...], faults: int, at_least: int
) -> None:
    schedules = 0
    for life in lives(Story(ONE_OLD, befall, at_turn=4), DRIFTING, workflow(DRIFTING), faults=faults):
        judge(life, launched=launched)
        if befall is None:
            kinds = [k for k in life.kinds() if k in ("replacing", "joined", "drained", "terminated")]
            assert kinds == ["replacing", "joined", "drained", "terminated"], life.gate.story()
        schedules += 1

    assert schedules >= at_least
    prove("crash", "interruption", schedules=schedules, faults=faults)


@OFTEN
def test_an_empty_node_leaves_at_any_crash(faults: int, at_least: int) -> None:
    world = World(fleet("aaa"), 2, empty=frozenset({"i-3"}), busy=True)
    schedules = 0
    for life in lives(Story(world), CONSOLIDATING, workflow(CONSOLIDATING), faults=faults):
        judge(life, launched=(0,))
        assert not life.world.machine("i-3").alive, life.gate.story()  # type: ignore[union-attr]
        schedules += 1

    assert schedules >= min(at_least, 1_000)
    prove("crash", "scale-down", schedules=schedules, faults=faults)
