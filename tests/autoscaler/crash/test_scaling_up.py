"""Kill the process at every boundary while the fleet scales up, and start it again."""

import pytest

from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.workflow import workflow
from tests.autoscaler.model.fleet import World, fleet
from tests.autoscaler.model.lives import Life, Story, judge, lives
from tests.deep import DEEP
from tests.proof import prove

SETTINGS = Settings(min_workers=2, max_workers=4, pending_up_s=0)
ONCE = ["beginScaleUp", "recordScaleUpInstances", "joined", "completeScaleUp"]


def told(life: Life, *kinds: str) -> list[str]:
    return [kind for kind in life.kinds() if kind in kinds]


@pytest.mark.parametrize(("faults", "at_least"), [(2, 1_000), pytest.param(3, 20_000, marks=DEEP)])
def test_a_worker_is_launched_once_however_often_it_dies(faults: int, at_least: int) -> None:
    """Whatever fails: one intent, one machine, one admission, one end."""
    schedules = 0
    for life in lives(Story(World(fleet("aa"), 3)), SETTINGS, workflow(SETTINGS), faults=faults):
        judge(life, launched=(1,))
        assert told(life, *ONCE) == ONCE, life.gate.story()
        schedules += 1

    assert schedules >= at_least
    prove("crash", "scale-up", schedules=schedules, faults=faults)


@pytest.mark.parametrize(("faults", "at_least"), [(1, 40), pytest.param(2, 2_500, marks=DEEP)])
def test_what_one_zone_refuses_is_asked_for_in_another_however_often_it_dies(
    faults: int, at_least: int
) -> None:
    story = Story(World(fleet("aa"), 3, zones=("a", "b"), full=frozenset("b")))
    schedules = 0
    for life in lives(story, SETTINGS, workflow(SETTINGS), faults=faults):
        judge(life, launched=(1,))
        assert told(life, "launchRefused", "retryScaleUp", *ONCE) == [
            "beginScaleUp",
            "launchRefused",
            "retryScaleUp",
            *ONCE[1:],
        ], life.gate.story()
        schedules += 1

    assert schedules >= at_least
    prove("crash", "scale-up", schedules=schedules, faults=faults)


@pytest.mark.parametrize(("faults", "at_least"), [(1, 40), pytest.param(2, 1_000, marks=DEEP)])
@pytest.mark.parametrize(
    ("story", "launched"),
    [
        (Story(World(fleet("aa"), 4, zones=("a", "b", "c"))), 2),
        (Story(World(fleet("aa"), 4, zones=("a", "b"), full=frozenset("b"))), 2),
        (Story(World(fleet("a"), 1, zones=("a", "b"))), 1),
        (Story(World(fleet("aa"), 3), duds=frozenset({"i-new-1"})), 2),
    ],
    ids=["two at once", "two, and one zone is full", "below the floor", "one that never joins"],
)
def test_every_scale_up_ends_with_the_right_number(
    story: Story, launched: int, faults: int, at_least: int
) -> None:
    schedules = 0
    for life in lives(story, SETTINGS, workflow(SETTINGS), faults=faults):
        judge(life, launched=(launched,))
        schedules += 1

    assert schedules >= at_least
    prove("crash", "scale-up", schedules=schedules, faults=faults)
