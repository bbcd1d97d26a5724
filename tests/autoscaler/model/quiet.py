"""What becomes of a record and a world when nothing fails any more."""

from collections.abc import Callable, Hashable
from dataclasses import replace

from holdfast.autoscaler.ports import Effect
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.kernel import Do, Happened, Workflow, Write
from holdfast.kernel.driver import settle_all
from tests.autoscaler.model import rules
from tests.autoscaler.model.fleet import World, later, perform, snapshot
from tests.autoscaler.model.legal import Lawful, unremembering

Whole = Workflow[Cluster, Snapshot, Effect]
STEP_S = 60
STEPS_MAX = 400
FLOOR_TICKS_MAX = 3
"""Nothing delays the floor but the back-off after a scale-up that failed.  One tick is the most seen."""
LOAD_TICKS_MAX = 20
"""Pods wait for a cool-down and an open scale-up: at the worst until its join timeout.  13 is the most."""


class Quiet:
    """Runs one hand to the end, tick after tick; remembers what is known to end well."""

    def __init__(self, whole: Whole, settings: Settings, judge: Lawful | None = None) -> None:
        self.whole, self.settings = whole, settings
        self._lawful = judge or unremembering(settings)
        self._good: dict[Hashable, tuple[int, int]] = {}
        """Each state that ends well, and in how many ticks what the floor and the load lack is asked for."""
        self.steps = 0

    def __call__(self, cluster: Cluster, world: World) -> str:
        """What is wrong in the end; empty if all is well."""
        path: list[tuple[Cluster, World]] = []
        writes = 0
        for n in range(STEPS_MAX):
            if (cluster, world) in self._good:
                break
            path.append((cluster, world))
            self.steps += 1
            ahead = self.whole.step(cluster, snapshot(world, f"quiet-{n}"), float(world.now))
            if isinstance(ahead, Write):
                writes += 1
                if writes > 40:
                    return f"it writes for ever: {ahead.events[0].kind}"
                if problem := self._breaks(cluster, ahead, world):
                    return problem
                cluster = ahead.value
                continue
            writes = 0
            if isinstance(ahead, Do):
                cluster, world, problem = execute(self.whole, cluster, world, ahead, self._lawful)
                if problem:
                    return problem
                if (cluster, world) in path[-1:]:
                    world = later(world, STEP_S)
                continue
            if not rules.unfinished(cluster, world, self.settings):
                break
            world = later(world, STEP_S)
        else:
            return "; ".join(rules.unfinished(cluster, world, self.settings)) or "it never rests"
        return self._in_time(path, world.now, self._good.get((cluster, world), (0, 0)))

    def _in_time(self, path: list[tuple[Cluster, World]], now_s: int, ticks: tuple[int, int]) -> str:
        """Backwards from the end: a tick counts as long as something is lacking and not asked for."""
        floor, load = ticks
        for cluster, world in reversed(path):
            waited = now_s > world.now
            below_floor, below_load = rules.lacking(cluster, world, self.settings)
            floor = floor + waited if below_floor else 0
            load = load + waited if below_load else 0
            self._good[cluster, world] = (floor, load)
            now_s = world.now
            if floor > FLOOR_TICKS_MAX:
                return f"L-A4: below the floor, and no worker is asked for within {FLOOR_TICKS_MAX} ticks"
            if load > LOAD_TICKS_MAX:
                return f"L-A3: pods wait, and no worker is asked for within {LOAD_TICKS_MAX} ticks"
        return ""

    def _breaks(self, cluster: Cluster, write: Write[Cluster], world: World) -> str:
        broken = rules.commit_breaks(cluster, write.value, world, self.settings)
        return broken or self._lawful(cluster, write, float(world.now))


def execute(
    whole: Whole, cluster: Cluster, world: World, ahead: Do[Effect], judge: Lawful
) -> tuple[Cluster, World, str]:
    news = []
    for effect in ahead.effects:
        if problem := rules.effect_breaks(cluster, world, effect):
            return cluster, world, problem
        world, answer = perform(world, effect)
        news.append((effect, Happened(answer)))
    while news:
        noted, write = settle_all(whole, cluster, news, float(world.now))
        if write is not None:
            if problem := judge(cluster, write, float(world.now)):
                return cluster, world, problem
            cluster = write.value
        news = news[noted:]
    return cluster, world, ""


def told_apart(whole: Whole) -> Whole:
    """The same workflow without writes that only tell: how many workers, and why nothing is done.

    Nothing is decided by those two, so what follows them is taken at once.
    """

    def step(cluster: Cluster, seen: Snapshot, now_s: float) -> object:
        for _ in range(4):
            ahead = whole.step(cluster, seen, now_s)
            if not isinstance(ahead, Write):
                return ahead
            if _bare(ahead.value) != _bare(cluster):
                return Write(_bare(ahead.value), ahead.events)
            cluster = ahead.value
        raise AssertionError("it tells the same for ever")

    def settle(cluster: Cluster, effect: Effect, outcome: object, now_s: float) -> Write[Cluster] | None:
        write = whole.settle(cluster, effect, outcome, now_s)  # type: ignore[arg-type]
        return Write(_bare(write.value), write.events) if write else None

    make: Callable[..., Whole] = replace
    return make(whole, step=step, settle=settle)


def _bare(cluster: Cluster) -> Cluster:
    return replace(cluster, worker_count=0, hold_code="", hold_reason="")
