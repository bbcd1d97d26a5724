"""What becomes of a record and a world when nothing fails any more."""

from collections.abc import Callable, Hashable
from dataclasses import replace

from holdfast.autoscaler.ports import Effect
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.sight import Sight
from holdfast.kernel import Do, Happened, Workflow, Write
from holdfast.kernel.driver import settle_all
from tests.model import rules
from tests.model.fleet import World, later, perform, sight

Whole = Workflow[Cluster, Sight, Effect]
STEP_S = 60
STEPS_MAX = 400


class Quiet:
    """Runs one hand to the end, tick after tick; remembers what is known to end well."""

    def __init__(self, whole: Whole, settings: Settings) -> None:
        self.whole, self.settings = whole, settings
        self._good: set[Hashable] = set()
        self.steps = 0

    def __call__(self, cluster: Cluster, world: World) -> str:
        """What is wrong in the end; empty if all is well."""
        path: list[Hashable] = []
        writes = 0
        for n in range(STEPS_MAX):
            if (cluster, world) in self._good:
                break
            path.append((cluster, world))
            self.steps += 1
            ahead = self.whole.step(cluster, sight(world, f"quiet-{n}"), float(world.now))
            if isinstance(ahead, Write):
                writes += 1
                if writes > 40:
                    return f"it writes for ever: {ahead.events[0].kind}"
                if problem := rules.commit_breaks(cluster, ahead.value, world, self.settings):
                    return problem
                cluster = ahead.value
                continue
            writes = 0
            if isinstance(ahead, Do):
                cluster, world, problem = carry_out(self.whole, cluster, world, ahead)
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
        self._good.update(path)
        return ""


def carry_out(whole: Whole, cluster: Cluster, world: World, ahead: Do[Effect]) -> tuple[Cluster, World, str]:
    news = []
    for effect in ahead.effects:
        if problem := rules.effect_breaks(cluster, world, effect):
            return cluster, world, problem
        world, answer = perform(world, effect)
        news.append((effect, Happened(answer)))
    while news:
        noted, write = settle_all(whole, cluster, news, float(world.now))
        cluster = write.value if write else cluster
        news = news[noted:]
    return cluster, world, ""


def told_apart(whole: Whole) -> Whole:
    """The same workflow without writes that only tell: how many workers, and why nothing is done.

    Nothing is decided by those two, so what follows them is taken at once.
    """

    def step(cluster: Cluster, seen: Sight, now_s: float) -> object:
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

    make: Callable[..., Whole] = Workflow
    return make(step, settle)


def _bare(cluster: Cluster) -> Cluster:
    return replace(cluster, worker_count=0, hold_reason="")
