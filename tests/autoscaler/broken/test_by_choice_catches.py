"""What is done by choice, with one guard taken out: replaced for ever, ended too soon, or out of turn."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler import workflow as shipped
from holdfast.autoscaler.record import READY, Cluster, Condemned, Interrupted
from holdfast.autoscaler.settings import Settings
from holdfast.cloud import NoticeKind
from holdfast.kernel import Done, Wait, Write, advance
from tests.autoscaler.crash.test_by_choice import DRIFTING, ONE_OLD, old
from tests.autoscaler.model.fleet import START_S, World, fleet
from tests.autoscaler.model.legal import lawful
from tests.autoscaler.model.lives import Life, Story, judge, lives
from tests.autoscaler.model.quiet import Quiet
from tests.autoscaler.model.remember import Numbers, Snapshots
from tests.autoscaler.unit.disruption.consolidating import CALM, empty, these
from tests.autoscaler.unit.disruption.consolidating import CONSOLIDATING as EMPTYING
from tests.autoscaler.unit.snapshots import NOW_S, snapshot, worker
from tests.proof import prove
from tests.variants import autoscaler_without

Tell = Callable[[Any], str]
"""Takes the whole workflow's module; says what went wrong, and nothing if all is well."""


def every_schedule(world: World, settings: Settings, launched: int) -> Tell:
    def tell(module: Any) -> str:
        try:
            for life in lives(Story(world), settings, module.workflow(settings), faults=1):
                judge(life, launched=(launched,))
                _one_by_one(life)
        except AssertionError as problem:
            return str(problem)
        return ""

    return tell


def _one_by_one(life: Life) -> None:
    """The new one has joined before the old one is touched."""
    kinds = [kind for kind in life.kinds() if kind in ("joined", "drained")]
    assert kinds == ["joined", "drained"] * (len(kinds) // 2), f"{kinds}\n{life.gate.story()}"


def in_quiet(world: World, settings: Settings, cluster: Cluster | None = None) -> Tell:
    return lambda module: Quiet(module.workflow(settings), settings)(cluster or Cluster(), world)


def launches(world: World, settings: Settings, most: int) -> Tell:
    """How many are launched within twelve hours in which nothing fails."""

    def tell(module: Any) -> str:
        numbers = Numbers()
        tools = Snapshots(numbers), lawful(settings, numbers)
        life = Life(lambda options: 0, 0, Story(world), settings, module.workflow(settings), *tools)
        while life.world.now < START_S + 12 * 3_600:
            if isinstance(advance(life.ports(), life.whole), Wait | Done):
                life.passes(600)
        many = len(life.launched)
        return f"economy: {many} launched in twelve hours, {most} at most" if many > most else ""

    return tell


BLOCKED = replace(ONE_OLD, blocked=frozenset({"i-1"}))
ROOMY = replace(DRIFTING, max_workers=40, disruption=replace(DRIFTING.disruption, share_per_hour=1.0))


FOUR = (worker("i-1"), worker("i-2"), worker("i-3"), worker("i-4"))


def leavers_need_each_other(module: Any) -> str:
    """Of two nodes whose pods fit only on each other, none leaves while the other does."""

    def fits(leaving: frozenset[str], closed: frozenset[str]) -> str:
        return "a pod finds no place" if {"i-3", "i-4"} <= leaving | closed else ""

    cluster = replace(
        CALM, underused=empty("i-4"), condemned=(Condemned("i-3", "9-a", "scale-down", int(NOW_S) - 9),)
    )
    seen = snapshot(*FOUR, cpu=0.3, is_empty=these("i-4"), fits_without=fits)
    for _ in range(4):
        ahead = module.workflow(EMPTYING).step(cluster, seen, NOW_S)
        if not isinstance(ahead, Write):
            return ""
        cluster = ahead.value
        if cluster.scale_down is not None:
            return f"S-A6: {cluster.scale_down.targets[0].instance_id} leaves, and its pods find no place"
    return ""


def a_budget_holds(module: Any) -> str:
    """A worker whose pods a budget keeps is neither emptied nor replaced by choice."""
    row = Interrupted("i-3", NoticeKind.REPLACE, int(NOW_S) - 9, int(NOW_S) + 900, why="drift")
    seen = snapshot(*FOUR, cpu=0.3, stays_put=lambda i: "exhausted budget")
    for replacement in ("", READY):
        cluster = replace(CALM, interrupted=(replace(row, replacement=replacement),))
        while isinstance(ahead := module.workflow(EMPTYING).step(cluster, seen, NOW_S), Write):
            cluster = ahead.value
            if cluster.scale_up is not None:
                return "economy: a machine is launched for one that a budget keeps"
        if cluster.interrupted:
            return "S-A6: a worker is drained though a budget keeps its pods"
    return ""


TWO_OLD = World(tuple(map(old, fleet("aa"))), 2)

VARIANTS: dict[str, tuple[Any, Tell]] = {
    "by choice: drift is seen again in the machine that replaced it": (
        {"rotation": {'    if made_from == wanted.name:\n        return ""\n': ""}},
        launches(ONE_OLD, DRIFTING, 1),
    ),
    "by choice: the old one is drained before the new one is ready": (
        {
            "interruption": {
                "        elif not affected.kind.is_certain and affected.replacement in (READY, UNNEEDED):": (
                    "        elif not affected.kind.is_certain and affected.replacement:"
                )
            }
        },
        every_schedule(ONE_OLD, DRIFTING, 1),
    ),
    "by choice: the old one is ended before the new one is ready": (
        {
            "fate": {
                "    ready = affected.replacement == READY and affected.drained and not troubled": (
                    "    ready = bool(affected.replacement)"
                )
            }
        },
        every_schedule(ONE_OLD, DRIFTING, 1),
    ),
    "by choice: what could not be replaced is tried again at once": (
        {"kept": {"int(now_s) + RETRY_S)": "int(now_s))"}},
        launches(BLOCKED, ROOMY, 12),
    ),
    "by choice: two are replaced at once": (
        {
            "rotation": {
                "    if rows(cluster) or bars": "    if bars",
                " or any(other.replacement for other in rows(cluster)):": ":",
                '        return "as many as may be were disrupted within the hour"\n': "        pass\n",
            }
        },
        in_quiet(TWO_OLD, replace(DRIFTING, max_workers=3, cooldown_down_s=0)),
    ),
    "by choice: two nodes leave that need each other": (
        {
            "scale_down": {
                "frozenset(chosen), frozenset(closed))": "frozenset(chosen), frozenset())",
            }
        },
        leavers_need_each_other,
    ),
    "by choice: a budget is not asked before a worker is replaced": (
        {
            "rotation": {
                "    return snapshot.stays_put(worker.instance_id) or snapshot.fits_on_new": (
                    "    return snapshot.fits_on_new"
                )
            }
        },
        a_budget_holds,
    ),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_shipped_one_is_sound(name: str) -> None:
    _, tell = VARIANTS[name]
    assert tell(shipped) == ""


@pytest.mark.parametrize("name", VARIANTS)
def test_a_variant_is_caught(name: str) -> None:
    changes, tell = VARIANTS[name]
    problem = tell(autoscaler_without(changes))
    assert problem
    prove("variant", name, caught_by="a story")
