"""Days and nights with consolidation on and off: what it saves, and that no pod waits longer for it."""

from dataclasses import asdict, replace
from functools import cache

import pytest

from holdfast.autoscaler import codec
from holdfast.autoscaler.settings import Disruption
from holdfast.sim.memory import MemoryItems
from holdfast.sim.scenarios.ledger import Days, lived
from holdfast.sim.scenarios.scaling import SETTINGS
from holdfast.sim.world import World
from tests.deep import DEEP
from tests.proof import prove
from tests.sim.fleets import busy_days

OFF = replace(SETTINGS, usd_per_hour_max=0.0)
ON = replace(OFF, disruption=Disruption(consolidation=True, share_per_hour=0.2))
QUICK, MONTH = (2, 300.0), pytest.param(30, 60.0, marks=DEEP, id="a month")
"""Days, and seconds between two ticks."""
CHEAPER = {2: 0.97, 30: 0.95}
"""What it may cost with consolidation at most, beside what it costs without, by days."""
WAITS_LONGER_MAX = 1.1


@cache
def fleet(days: int, tick_s: float, consolidates: bool) -> Days:
    world = World(1)
    return lived(world, MemoryItems(codec.CODEC), ON if consolidates else OFF, days, tick_s)


@pytest.mark.parametrize(("days", "tick_s"), [pytest.param(*QUICK, id="days"), MONTH])
def test_consolidation_saves_money_and_no_pod_waits_longer(days: int, tick_s: float) -> None:
    off, on = fleet(days, tick_s, False), fleet(days, tick_s, True)

    assert [*off.accidents, *on.accidents] == []
    assert on.ledger.usd < CHEAPER[days] * off.ledger.usd, (on.ledger, off.ledger)
    # The ledger is kept by the minute, and pods are helped only by a tick.
    assert on.ledger.longest_s <= WAITS_LONGER_MAX * off.ledger.longest_s + tick_s, (on.ledger, off.ledger)
    if tick_s <= 60:
        assert on.ledger.waited_s <= WAITS_LONGER_MAX * off.ledger.waited_s, (on.ledger, off.ledger)
    told = {logged.event.kind for logged in on.events(0)}
    assert {"nodeEmpty", "nodeUnderused", "replacing", "completeScaleDown"} <= told
    assert not {"nodeEmpty", "nodeUnderused", "replacing"} & {logged.event.kind for logged in off.events(0)}
    prove("fleet", "days and nights", days=days, on=asdict(on.ledger), off=asdict(off.ledger))


def test_the_same_days_give_the_same_ledger() -> None:
    one, other = (lived(World(7), MemoryItems(codec.CODEC), ON, 1, 600.0) for _ in range(2))
    assert one.ledger == other.ledger
    assert [logged.event for logged in one.events(0)] == [logged.event for logged in other.events(0)]


RESTLESS = replace(
    SETTINGS,
    disruption=Disruption(
        consolidation=True, share_per_hour=0.5, max_age_s=10_800, empty_down_s=120, underused_down_s=300
    ),
)


@pytest.mark.parametrize(
    ("seeds", "hours"), [((0,), 6), *(pytest.param((seed,), 24, marks=DEEP) for seed in range(1, 8))]
)
def test_whatever_fails_nothing_breaks_while_workers_leave_by_choice(
    seeds: tuple[int, ...], hours: int
) -> None:
    for seed in seeds:
        lived_through = busy_days(seed, hours, settings=RESTLESS)
        assert not lived_through.complaints, "\n".join(lived_through.complaints)
        told = [logged.event.kind for logged in lived_through.scaling.events(0)]
        assert told.count("replacing") >= hours / 2, f"seed {seed}: almost nothing was replaced"
        prove("fleet", "scaling", hours=hours, told={kind: told.count(kind) for kind in set(told)})
