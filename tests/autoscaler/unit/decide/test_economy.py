"""The economy rule: launches an hour, and dollars an hour, stay in budget even if every launch fails."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from holdfast.autoscaler.ports import Effect, LaunchInstances
from holdfast.autoscaler.record import Cluster, Purpose
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.workflow import workflow
from holdfast.cloud import Market, Notice, NoticeKind, Offering, Prices
from holdfast.cloud.launches import Launched, Refusal, Refused
from holdfast.kernel import Do, Happened, Outcome, Unknown, Write
from holdfast.kernel.driver import settle_all
from tests.autoscaler.model.fleet import World, fleet, later, noticed, perform, snapshot, taken_back
from tests.autoscaler.model.quiet import Whole

HOUR_S = 3_600
TICK_S = 30
ZONES = ("a", "b", "c")
CALLS_PER_HOUR_MAX = 400
"""A cloud that refuses everything is asked again, and not in a storm."""

Cloud = Callable[[World, LaunchInstances], tuple[World, Outcome]]


def refusing(kind: Refusal) -> Cloud:
    return lambda world, effect: (world, Happened(Refused(kind, "no")))


def silent(world: World, effect: LaunchInstances) -> tuple[World, Outcome]:
    return world, Unknown("no answer")


def empty_handed(world: World, effect: LaunchInstances) -> tuple[World, Outcome]:
    return world, Happened(Launched(()))


def launching(world: World, effect: LaunchInstances) -> tuple[World, Outcome]:
    world, answer = perform(world, effect)
    return world, Happened(answer)


def unsteady(world: World, effect: LaunchInstances) -> tuple[World, Outcome]:
    return launching(world, effect)


def killing(world: World, effect: LaunchInstances) -> tuple[World, Outcome]:
    """Every machine dies before a look sees it run."""
    world, outcome = launching(world, effect)
    for machine in world.alive:
        if machine.request:
            world = taken_back(world, machine.instance_id)
    return world, outcome


def interrupted(world: World) -> World:
    """Every machine is taken back soon after it has booted."""
    for machine in world.alive:
        if machine.request and machine.node and not machine.dies_s:
            notice = Notice(machine.instance_id, NoticeKind.INTERRUPTION, world.now, world.now + 120)
            world = noticed(world, notice)
    return world


class Fleet:
    """Hours of virtual time, with a cloud of a kind; counts what was asked for and when."""

    def __init__(self, settings: Settings, cloud: Cloud, world: World, *, never_joins: bool = False) -> None:
        self.settings, self.cloud, self.world, self.never_joins = settings, cloud, world, never_joins
        self.cluster = Cluster()
        self.asked: dict[str, tuple[int, int]] = {}
        """By token: when it was first asked for, and how many."""
        self.calls = 0
        self.failures_s: list[int] = []
        self.dearest = 0.0

    def live(self, whole: Whole, hours: int, prices: Prices | None = None) -> None:
        prices = prices or Prices({})
        for n in range(hours * HOUR_S // TICK_S):
            self._tick(whole, f"tick-{n}", prices)
            duds = frozenset(m.instance_id for m in self.world.machines) if self.never_joins else frozenset()
            self.world = later(self.world, TICK_S, duds=duds)
            if self.cloud is unsteady:
                self.world = interrupted(self.world)

    def most_in_an_hour(self) -> int:
        """What was certainly refused costs nothing."""
        starts = [at_s for at_s, _ in self.asked.values()]
        return max(
            (sum(n for at_s, n in self.asked.values() if start <= at_s < start + HOUR_S) for start in starts),
            default=0,
        )

    def _tick(self, whole: Whole, owner: str, prices: Prices) -> None:
        for _ in range(60):
            seen = replace(snapshot(self.world, owner), prices=prices)
            self.dearest = max(self.dearest, seen.usd_per_hour() or 0.0)
            ahead = whole.step(self.cluster, seen, float(self.world.now))
            if isinstance(ahead, Write):
                self.failures_s += [self.world.now for e in ahead.events if e.kind == "failScaleUp"]
                self.cluster = ahead.value
            elif isinstance(ahead, Do) and self._execute(whole, ahead):
                continue
            else:
                return
        raise AssertionError("a tick never ends")

    def _execute(self, whole: Whole, ahead: Do[Effect]) -> bool:
        """Whether anything came of it."""
        before = (self.world, self.cluster)
        news: list[tuple[Effect, Outcome]] = []
        for effect in ahead.effects:
            if isinstance(effect, LaunchInstances):
                self.calls += 1
                token = effect.launch.token(effect.action_id)
                self.world, outcome = self.cloud(self.world, effect)
                if not _was_refused(outcome):
                    self.asked.setdefault(token, (self.world.now, effect.launch.count))
            else:
                self.world, answer = perform(self.world, effect)
                outcome = Happened(answer)
            news.append((effect, outcome))
        _, write = settle_all(whole, self.cluster, news, float(self.world.now))
        self.cluster = write.value if write else self.cluster
        return before != (self.world, self.cluster)


def _was_refused(outcome: Outcome) -> bool:
    answer = outcome.answer if isinstance(outcome, Happened) else None
    if isinstance(answer, Launched) and not answer.instance_ids:
        return True
    return isinstance(answer, Refused) and answer.kind not in (Refusal.EXISTED, Refusal.MISMATCH)


def most(settings: Settings) -> int:
    """Those for pods and load, and those for the floor and the interrupted."""
    return settings.launch_budget + settings.budget_of(Purpose.REPAIR)


REFUSALS = frozenset({"no capacity", "quota", "no permission", "nothing came"})
CLOUDS: dict[str, Cloud] = {
    "no capacity": refusing(Refusal.CAPACITY),
    "quota": refusing(Refusal.QUOTA),
    "no permission": refusing(Refusal.REFUSED),
    "it existed and is gone": refusing(Refusal.EXISTED),
    "the token was used": refusing(Refusal.MISMATCH),
    "no answer": silent,
    "nothing came": empty_handed,
    "every machine dies": killing,
    "every machine is taken back": unsteady,
    "all is well": launching,
}


@pytest.mark.parametrize("budget", [0, 7])
@pytest.mark.parametrize("kind", CLOUDS)
def test_launches_an_hour_stay_in_budget_whatever_becomes_of_them(kind: str, budget: int) -> None:
    settings = Settings(
        min_workers=4,
        max_workers=10,
        launches_per_hour_max=budget,
        repairs_per_hour_max=budget,
        max_batch_up=4,
    )
    world = World(fleet("abc"), 8, zones=ZONES)
    fleet_ = Fleet(settings, CLOUDS[kind], world)

    fleet_.live(workflow(settings), hours=4)

    assert fleet_.most_in_an_hour() <= most(settings)
    assert bool(fleet_.asked) == (kind not in REFUSALS)
    assert 0 < fleet_.calls / 4 <= CALLS_PER_HOUR_MAX


def test_machines_that_never_join_stay_in_budget_and_are_all_ended() -> None:
    settings = Settings(min_workers=4, max_workers=10)
    fleet_ = Fleet(settings, launching, World(fleet("abc"), 8, zones=ZONES), never_joins=True)

    fleet_.live(workflow(settings), hours=4)

    assert 0 < fleet_.most_in_an_hour() <= most(settings)
    young_s = fleet_.world.now - settings.join_timeout_s - 60
    assert [m for m in fleet_.world.alive if m.request and m.launched_s < young_s] == []


@pytest.mark.parametrize("wanted", [2, 8])
def test_failed_scale_ups_wait_twice_as_long_each_time(wanted: int) -> None:
    """Below the floor too: a launch storm repairs nothing, and the budget is there when it is mended."""
    settings = Settings(min_workers=4, max_workers=10)
    fleet_ = Fleet(settings, refusing(Refusal.REFUSED), World(fleet("ab"), wanted, zones=ZONES))

    fleet_.live(workflow(settings), hours=2)

    waits = [b - a for a, b in zip(fleet_.failures_s, fleet_.failures_s[1:], strict=False)]
    assert waits[:4] == [60, 120, 240, 480]
    assert fleet_.calls <= 40


def test_a_mended_cloud_is_used_at_once_after_the_back_off() -> None:
    settings = Settings(min_workers=4, max_workers=10)
    fleet_ = Fleet(settings, refusing(Refusal.REFUSED), World(fleet("ab"), 2, zones=ZONES))
    fleet_.live(workflow(settings), hours=1)

    fleet_.cloud = launching
    fleet_.live(workflow(settings), hours=1)

    assert len(fleet_.world.serving) == 4


PRICES = Prices(
    {
        Offering(zone, market, "t3.medium"): 0.04 if market is Market.ON_DEMAND else 0.01
        for zone in ZONES
        for market in Market
    }
)


@pytest.mark.parametrize("kind", CLOUDS)
def test_dollars_an_hour_stay_below_the_ceiling(kind: str) -> None:
    settings = Settings(min_workers=2, max_workers=10, usd_per_hour_max=0.055, max_batch_up=4)
    fleet_ = Fleet(settings, CLOUDS[kind], World(fleet("abc"), 9, zones=ZONES))

    fleet_.live(workflow(settings), hours=3, prices=PRICES)

    assert fleet_.dearest <= settings.usd_per_hour_max + 1e-9
    assert fleet_.calls
