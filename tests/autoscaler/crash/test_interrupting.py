"""Kill the process at every boundary while the cloud takes workers back, and start it again."""

import pytest

from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.workflow import workflow
from holdfast.cloud import Notice, NoticeKind
from tests.autoscaler.model.fleet import World, fleet, noticed
from tests.autoscaler.model.lives import Befall, Story, judge, lives
from tests.deep import DEEP
from tests.proof import prove

SETTINGS = Settings(min_workers=2, max_workers=2, pending_up_s=0)


def notice(instance_id: str, kind: NoticeKind) -> Befall:
    def befall(world: World) -> World:
        deadline_s = world.now + 120 if kind is NoticeKind.INTERRUPTION else 0
        return noticed(world, Notice(instance_id, kind, world.now, deadline_s))

    return befall


def both(first: Befall, second: Befall) -> Befall:
    return lambda world: second(first(world))


INTERRUPTED = notice("i-1", NoticeKind.INTERRUPTION)
HINTED = notice("i-1", NoticeKind.REBALANCE)


OFTEN = pytest.mark.parametrize(("faults", "at_least"), [(1, 50), pytest.param(2, 2_000, marks=DEEP)])


@OFTEN
def test_an_interrupted_worker_is_replaced_once_at_any_crash(faults: int, at_least: int) -> None:
    schedules = 0
    for life in lives(Story(World(fleet("aa"), 2), INTERRUPTED), SETTINGS, workflow(SETTINGS), faults=faults):
        judge(life, launched=(1,))
        assert [
            k for k in life.kinds() if k in ("interrupted", "beginScaleUp", "completeScaleUp", "reclaimed")
        ] in (
            ["interrupted", "beginScaleUp", "completeScaleUp", "reclaimed"],
            ["interrupted", "beginScaleUp", "reclaimed", "completeScaleUp"],
        ), life.gate.story()
        schedules += 1

    assert schedules >= at_least
    prove("crash", "interruption", schedules=schedules, faults=faults)


@OFTEN
@pytest.mark.parametrize(
    ("befall", "launched"),
    [
        (HINTED, 1),
        (both(HINTED, INTERRUPTED), 1),
        (both(INTERRUPTED, notice("i-2", NoticeKind.INTERRUPTION)), 2),
        (both(INTERRUPTED, notice("i-1", NoticeKind.GONE)), 1),
    ],
    ids=["a hint", "a hint that becomes certain", "all of them", "an interruption that has come true"],
)
def test_every_notice_ends_with_the_right_number(
    befall: Befall, launched: int, faults: int, at_least: int
) -> None:
    schedules = 0
    for life in lives(Story(World(fleet("aa"), 2), befall), SETTINGS, workflow(SETTINGS), faults=faults):
        judge(life, launched=(launched,))
        schedules += 1

    assert schedules >= at_least
    prove("crash", "interruption", schedules=schedules, faults=faults)
