"""One life of the whole workflow under one schedule of faults."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from holdfast.autoscaler.codec import CODEC, SUBJECT
from holdfast.autoscaler.ports import Effect
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.kernel import Busy, Conflict, Done, DriverPorts, Unknown, Versioned, Wait, Write, advance
from holdfast.sim.gate import Crash, Enumerated, Gated, Kind
from holdfast.sim.memory import MemoryItems
from holdfast.sim.scenarios.scenario import Watched
from holdfast.testing.choices import Choose, every_run
from holdfast.testing.legal import misstored
from tests.autoscaler.model import rules
from tests.autoscaler.model.fleet import BOOT_S, Machine, World, later, perform
from tests.autoscaler.model.legal import Lawful, lawful
from tests.autoscaler.model.quiet import Whole
from tests.autoscaler.model.remember import Numbers, Snapshots, remembering

TURNS_MAX = 150
LAG_S = 300
"""How far a listing may lag behind."""
IDLE_S = 120
"""How long to wait when nothing is known to happen before."""

Befall = Callable[[World], World]


@dataclass(frozen=True)
class Story:
    """How a life begins, and what befalls it when."""

    world: World
    befall: Befall | None = None
    """What befalls it, before this turn."""
    at_turn: int = 0
    duds: frozenset[str] = frozenset()
    """Machines that never boot."""


class Life:
    def __init__(
        self,
        choose: Choose,
        faults: int,
        story: Story,
        settings: Settings,
        whole: Whole,
        snapshots: Snapshots,
        judge: Lawful,
    ) -> None:
        self.gate = Enumerated(choose, faults)
        self.store = Watched(MemoryItems(CODEC), self._judge)
        self.world, self.story, self.settings, self.whole = story.world, story, settings, whole
        self.accidents: list[str] = []
        self.past: list[tuple[int, tuple[Machine, ...]]] = [(self.world.now, self.world.machines)]
        self._befall = story.befall
        self._snapshots, self._ids = snapshots, (f"commit-{n}" for n in count())
        self._lawful = judge

    def ports(self) -> DriverPorts[Cluster, Snapshot, Effect]:
        gate = self.gate
        return DriverPorts.on(
            Gated(self.store, gate),
            SUBJECT,
            look=lambda: gate.call("look", Kind.LOOK, self._look, lambda: self._look(self._old())),
            perform=lambda effect: gate.call(_called(effect), Kind.CHANGE, lambda: self._perform(effect)),
            clock=self,
            new_id=lambda: next(self._ids),
            random=lambda: 1.0,
        )

    def now_s(self) -> float:
        return float(self.world.now)

    def sleep(self, seconds: float) -> None:
        """Too short to count."""

    def to_the_end(self) -> None:
        for n in range(TURNS_MAX):
            if self._befall is not None and n >= self.story.at_turn:
                self._become(self._befall(self.world))
                self._befall = None
            try:
                ahead = advance(self.ports(), self.whole)
            except (Crash, Busy, Unknown, Conflict):
                continue
            if not isinstance(ahead, Wait | Done):
                continue
            if not self.gate.stale and not self._befall and not self.unfinished():
                return
            self.passes(self._until_something_happens())
        raise AssertionError("it never ends\n" + "\n".join([*self.unfinished(), self.gate.story()]))

    def unfinished(self) -> list[str]:
        return rules.unfinished(self.cluster, self.world, self.settings)

    @property
    def cluster(self) -> Cluster:
        return self.store.read(SUBJECT).value

    @property
    def launched(self) -> list[str]:
        return [m.instance_id for m in self.world.machines if m.request]

    def kinds(self) -> list[str]:
        return [logged.event.kind for logged in self.store.events(SUBJECT)]

    def _look(self, listed: tuple[Machine, ...] | None = None) -> Snapshot:
        return self._snapshots(self.world, self.world.machines if listed is None else listed, "tick")

    def _old(self) -> tuple[Machine, ...]:
        then = self.world.now - LAG_S
        return next((m for at_s, m in reversed(self.past) if at_s <= then), self.past[0][1])

    def _perform(self, effect: Effect) -> object:
        cluster = self.cluster
        problem = rules.effect_breaks(cluster, self.world, effect) or rules.asks_unbidden(cluster, effect)
        if problem:
            self.accidents.append(problem)
        world, answer = perform(self.world, effect)
        self._become(world)
        return answer

    def _judge(self, before: Versioned[Cluster], after: Versioned[Cluster], write: Write[Cluster]) -> None:
        problem = rules.commit_breaks(before.value, after.value, self.world, self.settings)
        problem = problem or self._lawful(before.value, write, self.now_s())
        self.accidents += [*([problem] if problem else []), *misstored(before, after, write)]

    def passes(self, seconds: int) -> None:
        self._become(later(self.world, seconds, duds=self.story.duds))

    def _until_something_happens(self) -> int:
        now = self.world.now
        then = [m.launched_s + BOOT_S for m in self.world.alive if m.request and not m.node]
        then += [m.dies_s for m in self.world.alive if m.dies_s]
        return min((t - now for t in then if t > now), default=IDLE_S)

    def _become(self, world: World) -> None:
        if world.machines != self.world.machines:
            self.past.append((world.now, world.machines))
        self.world = world


def _called(effect: Effect) -> str:
    return f"{type(effect).__name__} {getattr(effect, 'instance_id', '')}"


def lives(story: Story, settings: Settings, whole: Whole, *, faults: int) -> Iterator[Life]:
    """Every schedule of up to so many faults, each exactly once, lived to its end."""
    numbers = Numbers()
    snapshots, thought, judge = Snapshots(numbers), remembering(whole, numbers), lawful(settings, numbers)
    for choose in every_run():
        life = Life(choose, faults, story, settings, thought, snapshots, judge)
        life.to_the_end()
        yield life


def judge(life: Life, *, launched: Sequence[int]) -> None:
    """Nothing went wrong on the way, and no more was launched than may be."""
    assert not life.accidents, "\n".join([*life.accidents, life.gate.story()])
    assert len(life.launched) in launched, f"{life.launched}\n{life.gate.story()}"
