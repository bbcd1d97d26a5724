"""Days and nights with consolidation on and off: what it saves, and that no pod waits longer for it."""

from dataclasses import replace
from functools import cache

import pytest

from holdfast.autoscaler import codec
from holdfast.autoscaler.settings import Disruption
from holdfast.sim.memory import MemoryItems
from holdfast.sim.scenarios.ledger import Days, Ledger, lived
from holdfast.sim.scenarios.scaling import SETTINGS
from holdfast.sim.world import World
from tests.deep import DEEP
from tests.proof import prove
from tests.sim.fleets import busy_days

OFF = replace(SETTINGS, usd_per_hour_max=0.0)
ON = replace(OFF, disruption=Disruption(consolidation=True, share_per_hour=0.2))
QUICK, MONTH = (2, 150.0), (30, 60.0)
"""Days, and seconds between two ticks."""
CHEAPER = {2: 0.97, 30: 0.955}
"""What it may cost with consolidation at most, beside what it costs without, by days."""
LONGER_MAX = 1.1
"""What pods may wait with consolidation at most, beside what they wait without."""


@cache
def fleet(seed: int, days: int, tick_s: float, consolidates: bool) -> Days:
    world = World(seed)
    return lived(world, MemoryItems(codec.CODEC), ON if consolidates else OFF, days, tick_s)


def compared(seed: int, days: int, tick_s: float, granted_s: float = 0.0) -> tuple[Days, Days]:
    """Cheaper; each percentile of the waits and the longest a tenth longer at most, with what is granted."""
    off, on = fleet(seed, days, tick_s, False), fleet(seed, days, tick_s, True)
    assert [*off.accidents, *on.accidents] == []
    assert on.ledger.usd < CHEAPER[days] * off.ledger.usd, f"{on.ledger.usd:.2f} of {off.ledger.usd:.2f}"
    before, after = waits(off.ledger), waits(on.ledger)
    longer = [name for name, s in after.items() if s > LONGER_MAX * before[name] + granted_s]
    assert not longer, (longer, before, after)
    told = {logged.event.kind for logged in on.events(0)}
    assert {"nodeEmpty", "nodeUnderused", "replacing", "completeScaleDown"} <= told
    assert not {"nodeEmpty", "nodeUnderused", "replacing"} & {logged.event.kind for logged in off.events(0)}
    usd = {"off": off.ledger.usd, "on": on.ledger.usd}
    prove("fleet", "days and nights", seed=seed, days=days, usd=usd, off_s=before, on_s=after)
    return off, on


def waits(ledger: Ledger) -> dict[str, float]:
    """How long pods wait, in seconds: all of them, and those alone that found no room when they came."""
    waited = ledger.of_those_that_waited()
    return {
        "mean": ledger.waited_s / len(ledger.waits_s),
        **{f"p{n}": ledger.percentile(n) for n in (50, 90, 99, 99.9)},
        **{f"p{n} of those that wait": waited.percentile(n) for n in (50, 90, 99)},
        "longest": ledger.longest_s,
    }


def test_consolidation_saves_money_and_pods_wait_no_longer() -> None:
    """In so few days, and with fewer ticks, one tick's chance decides: it is granted."""
    compared(1, *QUICK, granted_s=QUICK[1])


@DEEP
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_in_no_month_does_a_pod_wait_a_tenth_longer(seed: int) -> None:
    compared(seed, *MONTH)


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
        assert told.count("replacing") >= hours / 3, f"seed {seed}: almost nothing was replaced"
        prove("fleet", "scaling", hours=hours, told={kind: told.count(kind) for kind in set(told)})
