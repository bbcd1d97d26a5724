"""The whole autoscaler, living: the shipped shell on a simulated fleet, with every fault there is."""

from collections import Counter

import pytest

from holdfast.cloud import Market
from holdfast.sim.ec2.machine import Ending
from holdfast.sim.scenarios.scaling import SETTINGS, Scaling
from holdfast.sim.world import START_S
from tests.deep import DEEP
from tests.proof import prove
from tests.sim.fleets import Fleet, a_fleet, busy_days

HOURS = 24
DAYS = ((0, 1), (2, 3, 4, 7, 8), (5, 6, 9, 10, 11))
SHIFT = pytest.param((7,), 8, id="a shift")
"""Seeds that are lived one after the other, so that in each of these everything befalls some machine."""
PHASES = ("idle", "intended", "joining", "planned", "interrupted")
KINDS = ("completeScaleUp", "completeScaleDown", "interrupted", "drained", "terminating", "launchRefused")
DEATHS_MIN = 3


@pytest.mark.parametrize(
    ("seeds", "hours"), [SHIFT, *(pytest.param(seeds, HOURS, id=str(seeds), marks=DEEP) for seeds in DAYS)]
)
def test_whatever_fails_nothing_breaks_and_the_fleet_heals(seeds: tuple[int, ...], hours: int) -> None:
    told: Counter[str] = Counter()
    deaths: Counter[str] = Counter()
    for seed in seeds:
        fleet = busy_days(seed, hours)

        assert not fleet.complaints, "\n".join(fleet.complaints)
        assert fleet.scaling.actions > hours / 2, f"seed {seed}: almost nothing happened"
        every_machine_is_accounted_for(fleet.scaling, at_least=2 * hours)
        told.update(logged.event.kind for logged in fleet.scaling.events(0))
        deaths.update(deaths_by_phase(fleet))
    assert {kind for kind in KINDS if not told[kind]} == set(), "these never happened"
    assert {phase for phase in PHASES if deaths[phase] < DEATHS_MIN} == set(), "too few died there"
    prove("fleet", "scaling", hours=len(seeds) * hours, told=dict(told))
    prove("fleet", "deaths by phase", **deaths)


def deaths_by_phase(fleet: Fleet) -> Counter[str]:
    """In which recorded phase processes died, and how many."""
    struck: Counter[str] = Counter()
    for (phase, fate), count in fleet.world.suffered.items():
        if fate.startswith("dies"):
            struck[phase.removeprefix("scaling: ")] += count
    return struck


def every_machine_is_accounted_for(scaling: Scaling, at_least: int) -> None:
    """By the cloud's own log: it serves, or it ended, and the log says what ended it."""
    cloud = scaling.cloud
    launched = [i for entry in cloud.log if entry.kind == "launched" for i in entry.instance_ids]
    ended = Counter(i for entry in cloud.log if entry.kind == "ended" for i in entry.instance_ids)

    assert len(launched) == len(set(launched)) > at_least
    for instance_id in launched:
        machine = cloud.machines[instance_id]
        assert ended[instance_id] == (0 if machine.alive else 1), instance_id
        if machine.ended_by is Ending.ASKED:
            assert instance_id in scaling.judge.condemned
    strangers = [machine for machine in cloud.machines.values() if machine.foreign]
    by_hand = [machine for machine in cloud.machines.values() if not machine.action_id]
    assert {machine.ended_by for machine in (*strangers, *by_hand)} <= {
        None,
        Ending.RECLAIMED,
        Ending.FAILED,
    }, "what is not ours never ends by our hand"


@pytest.mark.parametrize("trouble", ["no machine ever joins", "all die while they boot", "no capacity"])
def test_launches_and_money_stay_within_bounds_even_if_every_launch_fails(trouble: str) -> None:
    scaling = a_fleet(7)
    world, cloud = scaling.world, scaling.cloud
    scaling.begin()
    if trouble == "no capacity":
        cloud.wares.quota = dict.fromkeys(Market, 0)
    cloud.manners.never_joins = 1.0 if trouble == "no machine ever joins" else 0.0
    cloud.manners.dies_booting = 1.0 if trouble == "all die while they boot" else 0.0
    world.run(START_S + 12 * 3600)

    assert not [a for a in scaling.accidents if a.startswith(("economy", "H4", "S-"))], scaling.accidents
    launched = [entry for entry in cloud.log if entry.kind == "launched"]
    tried = [entry for entry in cloud.log if entry.kind in ("launched", "refused")]
    assert tried, "it never gives up"
    assert bool(launched) == (trouble != "no capacity")
    for hour in range(12):
        began_s = START_S + 3600 * hour
        asked = [entry for entry in launched if began_s <= entry.at_s < began_s + 3600]
        assert sum(len(entry.instance_ids) for entry in asked) <= SETTINGS.launch_budget
    prove("fleet", f"economy: {trouble}", launches=len(launched), asked=len(tried))
