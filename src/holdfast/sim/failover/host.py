"""One machine as failover meets it: the agent's own brain, a disk, hooks, a watchdog and a service.

The agent may be stopped or die while the service goes on; the machine may sleep whole; its clock runs a
little fast or slow.  Nothing here decides: what the agent does is `holdfast.failover.agent`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from holdfast.failover.agent import brain, words
from holdfast.failover.agent.goals import CHANGING, Hook
from holdfast.failover.agent.resume import kept, resumed
from holdfast.failover.agent.state import State, Timing, booted
from holdfast.sim.world import World


class Wire(Protocol):
    """The way to a server and back: an answer may come late, or not at all."""

    def register(self, host: "Host") -> None: ...

    def heartbeat(self, host: "Host", beat: words.Heartbeat) -> None: ...

    def notice(self, host: "Host", notice: words.Notice) -> None: ...


@dataclass
class Hooks:
    """How the user's programs behave on this machine."""

    takes_s: Callable[[Hook], float] = lambda hook: 1.0
    fails: Callable[[Hook], bool] = lambda hook: False


@dataclass
class Host:
    world: World
    instance_id: str
    pool: str
    wire: Wire
    timing: Timing
    rate: float = 1.0
    hooks: Hooks = field(default_factory=Hooks)
    token: str = ""
    changed: Callable[["Host"], None] = lambda host: None
    """Called whenever the service begins or ends to serve."""
    lag_s: Callable[["Host"], float] = lambda host: 0.0
    alive: bool = True
    agent_runs: bool = True
    asleep: bool = False
    disk: tuple[int, int] = (0, 0)
    serving: int | None = None
    """The epoch under which the service serves."""
    armed_s: float = 0.0
    boots: int = 0
    session: str = ""
    running: dict[int, words.RunHook] = field(default_factory=dict)
    deadline_s: float = 0.0

    def __post_init__(self) -> None:
        self._began_s = self.world.now
        self._waiting: list[words.Heard] = []
        self._due_s = float("inf")
        self.state: State
        self.boot()

    def now_s(self) -> float:
        """CLOCK_BOOTTIME: at its own rate, also while the machine sleeps."""
        return (self.world.now - self._began_s) * self.rate

    def boot(self) -> None:
        """The agent starts for the first time on this boot: fenced."""
        self.boots += 1
        self.session = f"{self.instance_id}-{self.boots}"
        self._start(self._fresh())

    def restart_agent(self) -> None:
        """SIGKILL of the agent, and another at once: it goes on with what its predecessor has kept."""
        if self.alive and self.agent_runs and not self.asleep:
            self._start(resumed(self._fresh(), kept(self.state), self.armed_s))

    def _fresh(self) -> State:
        return booted(
            highest_epoch=self.disk[0], served_epoch=self.disk[1], address=self.instance_id,
            timing=self.timing,
        )  # fmt: skip

    def _start(self, state: State) -> None:
        """With it all hooks have ended that the one before had begun."""
        self.running, self.state = {}, state
        self.hear(words.Watched(True))

    def die(self) -> None:
        """The machine is gone, and all that ran on it."""
        self.alive = False
        self._serve(None)

    def reboot(self) -> None:
        """All that ran has ended; the disk stays."""
        self._serve(None)
        self.armed_s = 0.0
        self.agent_runs, self.asleep, self._waiting = True, False, []
        self.boot()

    def stop_agent(self) -> None:
        """SIGSTOP: hooks, service and watchdog go on without it."""
        self.agent_runs = False

    def sleep(self) -> None:
        """The whole machine: nothing runs, and time passes."""
        self.asleep = True
        self.changed(self)

    def wake(self) -> None:
        if not self.alive:
            return
        self.agent_runs, self.asleep = True, False
        self._watch()
        self.changed(self)
        waiting, self._waiting = self._waiting, []
        for heard in waiting:
            self.hear(heard)
        self.hear(words.Tick())

    @property
    def serves(self) -> bool:
        return self.alive and not self.asleep and self.serving is not None

    def hear(self, heard: words.Heard) -> None:
        if not self.alive:
            return
        if not self.agent_runs or self.asleep:
            self._waiting.append(heard)
            return
        self.state, actions = brain.think(self.state, heard, self.now_s())
        for action in actions:
            self._perform(action)
        self._tick_at(brain.due_s(self.state, self.now_s()))

    def _tick_at(self, due_s: float) -> None:
        """Think again then; a tick that is due earlier is enough."""
        if due_s < self._due_s or self._due_s <= self.now_s():
            self._due_s = due_s
            self.world.after(max(0.01, (due_s - self.now_s()) / self.rate + 1e-6), self._tick, due_s)

    def _tick(self, due_s: float) -> None:
        if due_s == self._due_s:
            self._due_s = float("inf")
            if self.agent_runs and not self.asleep:
                self.hear(words.Tick())

    def _perform(self, action: words.Action) -> None:
        match action:
            case words.Register():
                self.wire.register(self)
            case words.Heartbeat():
                self.wire.heartbeat(self, action)
            case words.SendNotice(notice=notice):
                self.wire.notice(self, notice)
            case words.RunHook():
                self.running[action.run] = action
                self.world.after(self.hooks.takes_s(action.hook), self._hook_ended, action, self.boots)
            case words.KillHook():
                for run in [run for run in self.running.values() if run.hook in CHANGING]:
                    del self.running[run.run]
                    self.hear(words.HookEnded(hook=run.hook, run=run.run, ok=False, output="killed"))
            case words.StoreEpoch(highest=highest, served=served):
                self.disk = (highest, served)
                self.hear(words.Stored(highest, served))
            case words.Arm(until_s=until_s):
                self.armed_s = until_s
                self.world.after(max(0.0, (until_s - self.now_s()) / self.rate), self._watch)
            case words.StopProtected():
                self._serve(None)
                self.hear(words.Stopped())
            case words.Disarm():
                self.armed_s = 0.0

    def _watch(self) -> None:
        """The watchdog: it needs nothing but the clock."""
        if self.alive and not self.asleep and self.armed_s and self.now_s() >= self.armed_s - 1e-6:
            self._serve(None)

    def _hook_ended(self, run: words.RunHook, boot: int) -> None:
        if not self.alive or boot != self.boots or self.running.get(run.run) is not run:
            return
        if self.asleep:
            self.world.after(30.0, self._hook_ended, run, boot)
            return
        del self.running[run.run]
        ok = not self.hooks.fails(run.hook)
        if run.hook is Hook.ON_PROMOTE and ok:
            self._serve(run.epoch)
            self._watch()
        if run.hook is Hook.ON_DEMOTE and ok:
            self._serve(None)
        said: dict[str, Any] = {"lag_s": self.lag_s(self)} if run.hook is Hook.SYNC_STATUS else {}
        self.hear(words.HookEnded(hook=run.hook, run=run.run, ok=ok, output=run.hook.value, **said))

    def _serve(self, epoch: int | None) -> None:
        if self.serving != epoch:
            self.serving = epoch
            self.changed(self)
