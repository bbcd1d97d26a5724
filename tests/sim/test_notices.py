"""Hundreds of spot notices within a minute, under the limits of the real services."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from holdfast.sim.ec2.machine import Machine
from tests.deep import DEEP
from tests.proof import prove
from tests.sim.storm import Queue, Storm, over_eventbridge
from tests.sim.variant_shell import shell_without

Arrive = Callable[[Storm, Machine], None]
WAYS: dict[str, Callable[[], Arrive]] = {
    "one invocation each, over EventBridge": lambda: over_eventbridge,
    "SQS batches of ten": Queue,
}


FOLDS_MAX = 0.6
"""Of the notices that arrive within a minute, one by one, so many at most get a commit of their own."""


def after_the_storm(storm: Storm, arrive: Arrive) -> Storm:
    storm.strike(arrive)
    storm.run(480)
    return storm


def told(storm: Storm, kind: str) -> Counter[str]:
    return Counter(logged.event.about for logged in storm.scaling.events(0) if logged.event.kind == kind)


def folds(storm: Storm) -> int:
    """Commits that folded notices into the record."""
    return len({logged.version for logged in storm.scaling.events(0) if logged.event.kind == "interrupted"})


def every_notice_was_served(storm: Storm, replacements: int | None = None) -> None:
    victims = {machine.instance_id for machine in storm.victims}
    assert replacements in (None, storm.launched()), "one replacement each"
    assert folds(storm) <= FOLDS_MAX * len(victims), "those that wait are folded in together"
    assert not storm.undrained, "all were empty when they died"
    assert set(storm.judge.cordoned) == victims, "no other node was cordoned"
    assert set(storm.judge.cordoned.values()) == {1}, "none was touched twice"
    assert set(storm.judge.asked.values()) == {1}, "no pod was asked to leave twice"
    assert told(storm, "interrupted") == told(storm, "drained") == Counter(victims), "each was told of once"
    assert not storm.touched_strangers()
    assert not storm.judge.accidents, storm.judge.accidents[:5]
    assert not storm.cluster.waiting, "every pod runs again"
    assert not storm.scaling.record.interrupted


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("nodes", "victims", "commits_max"), [(60, 50, 100), pytest.param(600, 500, 400, marks=DEEP)]
)
def test_nearly_all_nodes_of_a_full_fleet_are_taken_back(
    nodes: int, victims: int, commits_max: int, way: str
) -> None:
    """The fleet is full: every one that leaves is needed, and gets one replacement."""
    storm = after_the_storm(Storm(seed=1, nodes=nodes, victims=victims), WAYS[way]())

    every_notice_was_served(storm, replacements=victims)
    assert len(storm.cloud.alive()) == nodes
    commits = storm.store.limits.commits
    assert commits < commits_max, "a batch is one commit, not a notice"
    prove("notices", f"simulated, {way}", notices=len(storm.victims), commits=commits)


def test_only_those_that_the_fleet_needs_are_replaced() -> None:
    """One pod a node, three would fit: twenty that stay have room for sixty."""
    storm = after_the_storm(Storm(seed=2, nodes=60, victims=40, pods_a_node=1), over_eventbridge)

    every_notice_was_served(storm)
    assert told(storm, "notReplaced").total() + storm.launched() == 40
    assert storm.launched() < 10


SHELLS: dict[str, tuple[str, dict[str, str], str, int]] = {
    "A6: whether an interrupted node is replaced is decided anew by every tick": (
        "interruption",
        {
            "        if not affected.replacement\n        and affected.kind": "        if affected.kind",
            "full = left + len(wanted) >= settings.max_workers": "full = False",  # the guard behind
        },
        "one replacement each",
        10,
    ),
    "H11: one commit for each notice": (
        "interruption",
        {
            "if len(events) == EVENTS_MAX:\n            break\n"
            "    return Write(replace(cluster, interrupted=": (
                "if len(events) == 1:\n            break\n    return Write(replace(cluster, interrupted="
            )
        },
        "those that wait are folded in together",
        50,
    ),
}
"""Part, guard taken out, what is complained of, and how many notices it takes to show."""


@pytest.mark.parametrize("title", SHELLS)
def test_the_storm_is_too_much_for(title: str) -> None:
    part, changes, complaint, victims = SHELLS[title]
    shell: Any = shell_without(part, changes)
    storm = after_the_storm(Storm(seed=1, nodes=victims + 10, victims=victims, shell=shell), over_eventbridge)

    with pytest.raises(AssertionError, match=complaint):
        every_notice_was_served(storm, replacements=victims)
    prove("variant", title, caught_by="a storm of notices")
