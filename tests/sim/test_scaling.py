"""The whole autoscaler, living: the shipped shell on a simulated fleet, with every fault there is."""

from collections import Counter

import pytest

from holdfast.cloud import Market
from holdfast.sim.machine import Ending
from holdfast.sim.scenarios.scaling import SETTINGS
from holdfast.sim.world import START_S
from tests.deep import cases
from tests.proof import prove
from tests.sim.fleets import a_fleet, busy_days

SEEDS, HOURS, CHUNK = 12, 24, 2
DEEP_FROM = 2
PHASES = ("idle", "intended", "joining", "planned", "doomed")


@pytest.mark.parametrize("first", cases(range(0, SEEDS, CHUNK), deep=range(DEEP_FROM, SEEDS, CHUNK)))
def test_whatever_fails_nothing_breaks_and_the_fleet_heals(first: int) -> None:
    told: Counter[str] = Counter()
    for seed in range(first, first + CHUNK):
        fleet = busy_days(seed, HOURS)

        assert not fleet.complaints, "\n".join(fleet.complaints)
        assert fleet.scaling.actions > HOURS / 2, f"seed {seed}: almost nothing happened"
        told.update(logged.event.kind for logged in fleet.scaling.events(0))
    for kind in ("completeScaleUp", "completeScaleDown", "doomed", "drained", "condemned", "launchRefused"):
        assert told[kind], f"{kind} never happened"
    prove("fleet", "scaling", hours=CHUNK * HOURS, told=dict(told))


def test_processes_die_in_every_phase_that_is_recorded() -> None:
    struck: Counter[str] = Counter()
    for seed in (0, 1, 4):
        for (phase, fate), count in busy_days(seed, HOURS).world.suffered.items():
            if fate.startswith("dies"):
                struck[phase.removeprefix("scaling: ")] += count

    assert {phase: struck[phase] for phase in PHASES if struck[phase] < 5} == {}, struck
    prove("fleet", "deaths by phase", **struck)


def test_every_machine_that_was_ever_launched_is_accounted_for() -> None:
    """By the cloud's own log: it serves, or it ended, and the log says who ended it."""
    fleet = busy_days(5, HOURS)
    cloud = fleet.scaling.cloud
    launched = [i for entry in cloud.log if entry.kind == "launched" for i in entry.instance_ids]
    ended = Counter(i for entry in cloud.log if entry.kind == "ended" for i in entry.instance_ids)

    assert len(launched) == len(set(launched)) > 50
    for instance_id in launched:
        machine = cloud.machines[instance_id]
        assert ended[instance_id] == (0 if machine.alive else 1), instance_id
        if machine.ending is Ending.ASKED:
            assert instance_id in fleet.scaling.judge.condemned
    strangers = [machine for machine in cloud.machines.values() if machine.foreign]
    by_hand = [machine for machine in cloud.machines.values() if not machine.action_id]
    assert {machine.ending for machine in (*strangers, *by_hand)} <= {
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
