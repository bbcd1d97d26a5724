"""Kill the process at every boundary while nodes leave, in every combination, and start it again.

Not a sample: `every_run` visits each schedule of up to so many faults exactly once.
"""

from collections.abc import Iterable

import pytest

from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.workflow import workflow
from tests.autoscaler.model.fleet import World, fleet
from tests.autoscaler.model.lives import Life, Story, judge, lives
from tests.deep import DEEP
from tests.proof import prove

SETTINGS = Settings(min_workers=2, max_workers=4, max_batch_down=2, pending_up_s=0, idle_down_s=0)
MEANWHILE = ("decision", "conditionChanged")


def left_once(life: Life, leave: Iterable[str]) -> None:
    """One plan, and of each that leaves one drain, one condemnation, one end."""
    judge(life, launched=(0,))
    told = [logged.event for logged in life.store.events(SUBJECT) if logged.event.kind not in MEANWHILE]
    whole = [event.kind for event in told if not event.about.startswith("i-")]
    assert whole == ["beginScaleDown", "completeScaleDown"], life.gate.story()
    of_each = {event.about: [one.kind for one in told if one.about == event.about] for event in told}
    gone = {about: kinds for about, kinds in of_each.items() if about.startswith("i-")}
    assert gone == {i: ["drained", "terminating", "terminated"] for i in leave}, life.gate.story()
    assert not {m.instance_id for m in life.world.alive} & set(gone), life.gate.story()


@pytest.mark.parametrize(("faults", "at_least"), [(2, 2_500), pytest.param(3, 40_000, marks=DEEP)])
def test_a_node_leaves_once_however_often_the_process_dies(faults: int, at_least: int) -> None:
    schedules = 0
    for life in lives(Story(World(fleet("aaa"), 2)), SETTINGS, workflow(SETTINGS), faults=faults):
        left_once(life, {"i-1"})
        schedules += 1

    assert schedules >= at_least
    prove("crash", "scale-down", schedules=schedules, faults=faults)


def test_two_nodes_leave_side_by_side_whatever_dies_twice() -> None:
    schedules = 0
    story = Story(World(fleet("aaaa"), 2, brisk=True))
    for life in lives(story, SETTINGS, workflow(SETTINGS), faults=2):
        left_once(life, {"i-1", "i-2"})
        schedules += 1

    assert schedules >= 2_500
    prove("crash", "scale-down", schedules=schedules, faults=2)
