"""The demo: the three scenarios on stores that are handed in, a story to follow, and a key that kills."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from holdfast.autoscaler.ports import ClusterStore, Inbox
from holdfast.failover.ports import GroupStore
from holdfast.kernel import Logged
from holdfast.leases.ports import CapStore
from holdfast.sim.faults import Faults
from holdfast.sim.gate import Crash, Fate, Kind
from holdfast.sim.scenarios import Agreeing, Scaling, Scenario, TakingOver
from holdfast.sim.world import START_S, Call, Process, World

STORY_LINES_MAX = 400
TICK_S = 60.0
BURST = 9
SILENT = frozenset({"lockTaken", "lockReleased"})
"""Events that are left out of the story."""
PARTS = {"tick-": Scaling.name, "server-": TakingOver.name, "worker-": Agreeing.name}
"""The part that a process belongs to, by the prefix of its name."""


@dataclass(frozen=True)
class Stores:
    """Where the three parts keep their records."""

    clusters: ClusterStore
    inbox: Inbox
    groups: GroupStore
    caps: CapStore


OpenStores = Callable[[Callable[[], float]], Stores]
"""Opens them; leases are judged by the clock that is given."""


@dataclass(frozen=True)
class Line:
    """One line of the story."""

    at_s: float
    part: str
    kind: str
    text: str

    def plain(self) -> str:
        return f"{clock(self.at_s)}  {self.part:<20} {self.kind:<26} {self.text}".rstrip()


def clock(at_s: float) -> str:
    """Virtual time as days and hours since the world began."""
    past_s = int(at_s - START_S)
    days, rest_s = divmod(past_s, 86_400)
    return f"{days}d {datetime.fromtimestamp(rest_s, UTC):%H:%M:%S}"


class Demo:
    def __init__(self, seed: int, open_stores: OpenStores, *, faults: bool = True) -> None:
        self.world = World(seed, Faults.swarm(seed) if faults else None)
        stores = open_stores(self.world.now_s)
        self.scaling = Scaling(self.world, stores.clusters, stores.inbox, tick_s=TICK_S)
        self.taking_over = TakingOver(self.world, stores.groups)
        self.agreeing = Agreeing(self.world, stores.caps)
        self.story: list[Line] = []
        self.kills = 0
        self.told = 0
        self.struck = 0
        self._versions = dict.fromkeys((scenario.name for scenario in self.scenarios), 0)
        self.armed = False
        self._unresumed: dict[str, str] = {}
        self.world.on_call = self._notice
        for scenario in self.scenarios:
            scenario.begin()

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        return (self.scaling, self.taking_over, self.agreeing)

    @property
    def hours(self) -> float:
        return (self.world.now - START_S) / 3600

    @property
    def accidents(self) -> list[str]:
        return [problem for scenario in self.scenarios for problem in scenario.accidents]

    def run(self, seconds: float) -> list[Line]:
        """Let virtual time pass; returns what was told meanwhile."""
        before = len(self.story)
        self.world.run(self.world.now + seconds)
        for scenario in self.scenarios:
            for logged in scenario.events(self._versions[scenario.name]):
                self._versions[scenario.name] = logged.version
                self._tell(scenario, logged)
        new = self.story[before:]
        del self.story[:-STORY_LINES_MAX]
        return new

    def kill(self) -> str:
        """SIGKILL the next process that is about to change something, right before it does."""
        self.armed = True
        return "the next process that is about to change something will be killed"

    def notice(self) -> str:
        """The cloud takes some machines back."""
        self.scaling.strike()
        return "the cloud takes machines back, in two minutes"

    def burst(self) -> str:
        """More work than the fleet has room for."""
        self.scaling.demand.burst(BURST)
        return f"{BURST} more pods are wanted"

    def _notice(self, process: Process, call: Call, fate: Fate) -> None:
        """Follow what goes through the gate: count faults, kill when armed, see which process goes on."""
        self.struck += fate is not Fate.WORKS
        part = next((name for prefix, name in PARTS.items() if process.name.startswith(prefix)), "")
        if call.kind is not Kind.CHANGE or not part:
            return
        if self.armed:
            self.armed = False
            self.kills += 1
            self._unresumed[part] = process.name
            self._add(part, "kill -9", f"{process.name} dies right before: {call.name}")
            raise Crash("killed by hand")
        victim = self._unresumed.pop(part, "")
        if victim:
            self._add(part, "resumed", f"{process.name} goes on where {victim} died: {call.name}")

    def _tell(self, scenario: Scenario, logged: Logged) -> None:
        event = logged.event
        if event.kind not in SILENT:
            self.told += 1
            self._add(
                scenario.name, event.kind, " ".join(filter(None, (event.about, event.reason))), event.at_s
            )

    def _add(self, part: str, kind: str, text: str, at_s: float | None = None) -> None:
        self.story.append(Line(self.world.now if at_s is None else at_s, part, kind, text))
