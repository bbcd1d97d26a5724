"""A machine without a machine: the brain on one side, hooks, a disk, a watchdog and a service on the other.

It judges what no history may do: the service serves only under a lease that a server gave for that very
epoch, with the epoch on disk and the watchdog armed no later than that lease ends.
"""

from dataclasses import asdict, dataclass, field
from types import ModuleType
from typing import Any

from holdfast.failover.agent import brain, words
from holdfast.failover.agent.goals import Do, Goal, Hook
from holdfast.failover.agent.report import HookState
from holdfast.failover.agent.state import State, booted

TICK_S = 0.25


@dataclass
class Body:
    thinks: Any = brain
    now_s: float = 1_000.0
    state: State = field(default_factory=booted)
    done: list[words.Action] = field(default_factory=list)
    accidents: list[str] = field(default_factory=list)
    # The machine.
    disk: tuple[int, int] = (0, 0)
    disk_full: bool = False
    service_epoch: int | None = None
    position: int = 0
    armed_s: float = 0.0
    watchdog: bool = True
    agent_runs: bool = True
    # How hooks behave: seconds, and whether they succeed.
    takes_s: dict[Hook, float] = field(default_factory=dict)
    fails: set[Hook] = field(default_factory=set)
    running: list[tuple[float, words.RunHook]] = field(default_factory=list)
    prints_position: bool = False
    # The server.
    up: bool = True
    epoch: int = 1
    primary: bool = False
    enabled: bool = True
    goal: Goal | None = None
    term_s: float = 10.0
    granted_until_s: float = 0.0
    granted_epoch: int = 0
    reports: list[dict[str, Any]] = field(default_factory=list)
    taken: list[words.Notice] = field(default_factory=list)
    version: int = 0
    answers_after_s: float = 0.0
    answers: list[tuple[float, words.Answered]] = field(default_factory=list)

    def start(self) -> "Body":
        self.hear(words.Watched(self.watchdog))
        self.run(0.5)
        return self

    def ask(self, do: Do, epoch: int, primary: str = "i-1", address: str = "a:1") -> None:
        self.version += 1
        self.epoch = epoch
        self.primary = do in (Do.PROMOTE, Do.SERVE)
        self.goal = Goal(version=self.version, epoch=epoch, do=do, primary=primary, address=address)

    def tell(self, do: Do, epoch: int, **more: str) -> None:
        """Ask, and let the long poll bring it at once."""
        self.ask(do, epoch, **more)
        assert self.goal is not None
        if self.up:
            self.hear(words.Told(self.goal))

    def hear(self, heard: words.Heard) -> None:
        if not self.agent_runs:
            return
        self.state, actions = self.thinks.think(self.state, heard, self.now_s)
        for action in actions:
            self.done.append(action)
            self.perform(action)

    def run(self, for_s: float) -> None:
        until_s = self.now_s + for_s
        while self.now_s < until_s - 1e-9:
            self.now_s += TICK_S
            self._watch()
            for ended in [run for run in self.running if run[0] <= self.now_s]:
                self.running.remove(ended)
                self._end(ended[1])
            for late in [answer for answer in self.answers if answer[0] <= self.now_s]:
                self.answers.remove(late)
                self.hear(late[1])
            self.hear(words.Watched(self.watchdog))
            self.hear(words.Tick())
            self._judge()

    def _watch(self) -> None:
        if self.watchdog and self.armed_s and self.now_s >= self.armed_s:
            self.service_epoch = None

    def _judge(self) -> None:
        epoch = self.service_epoch
        if epoch is None:
            return
        if not self.now_s < self.granted_until_s:
            self.accidents.append(f"serves at {self.now_s} without a lease")
        if epoch != self.granted_epoch:
            self.accidents.append(f"serves under {epoch}, granted was {self.granted_epoch}")
        if self.disk[0] < epoch:
            self.accidents.append(f"serves under {epoch}, on disk is {self.disk[0]}")
        if not 0 < self.armed_s <= self.granted_until_s:
            self.accidents.append(f"serves with the watchdog at {self.armed_s}, lease {self.granted_until_s}")

    def perform(self, action: words.Action) -> None:
        match action:
            case words.Register():
                if self.up:
                    self.hear(words.Registered(enabled=True, goal=self.goal, term_s=self.term_s))
                else:
                    self.hear(words.NotRegistered(1.0))
            case words.Heartbeat(epoch=epoch, report=report):
                self._beat(epoch, asdict(report))
            case words.RunHook(hook=hook, before_s=before_s):
                assert before_s is None or self.now_s < before_s
                self.running.append((self.now_s + self.takes_s.get(hook, 0.0), action))
            case words.KillHook():
                killed = [run for run in self.running if run[1].hook.value.startswith("on-")]
                for run in killed:
                    self.running.remove(run)
                    self.hear(words.HookEnded(hook=run[1].hook, run=run[1].run, ok=False, output="killed"))
            case words.StoreEpoch(highest=highest, served=served):
                if self.disk_full:
                    self.hear(words.NotStored("No space left on device"))
                else:
                    self.disk = (highest, served)
                    self.hear(words.Stored(highest, served))
            case words.Arm(until_s=until_s):
                self.armed_s = until_s
            case words.StopProtected():
                self.armed_s, self.service_epoch = 1.0, None
                self.hear(words.Stopped())
            case words.Disarm():
                self.armed_s = 0.0
            case words.SendNotice(notice=notice):
                if self.up:
                    self.taken.append(notice)
                self.hear(words.NoticeTaken(notice.key) if self.up else words.NoticeLost(notice.key))

    def _beat(self, epoch: int, report: dict[str, Any]) -> None:
        if not self.up:
            self.hear(words.NotAnswered())
            return
        self.reports.append(report)
        granted = self.primary and epoch == self.epoch and report["watchdog_ok"]
        if granted:
            self.granted_until_s, self.granted_epoch = self.now_s + self.term_s, epoch
        answer = words.Answered(
            sent_s=self.now_s,
            epoch=self.epoch,
            primary=self.primary,
            lease_s=self.term_s if granted else 0.0,
            goal=self.goal,
            enabled=self.enabled,
        )
        if self.answers_after_s:
            self.answers.append((self.now_s + self.answers_after_s, answer))
        else:
            self.hear(answer)

    def _end(self, run: words.RunHook) -> None:
        ok, said = run.hook not in self.fails, None
        if run.hook is Hook.ON_PROMOTE and ok:
            self.service_epoch = run.epoch
            self._watch()
        if run.hook is Hook.ON_DEMOTE and ok:
            self.position += 5  # what was under way is written before it stops
            self.service_epoch = None
        if run.hook is Hook.SYNC_STATUS or (run.hook is Hook.ON_DEMOTE and self.prints_position):
            said = str(self.position)
        self.hear(words.HookEnded(hook=run.hook, run=run.run, ok=ok, output="said", position=said, lag_s=0.0))

    def serves(self) -> int | None:
        """The epoch under which the service runs, if it runs."""
        return self.service_epoch

    @property
    def last(self) -> dict[str, Any]:
        return self.reports[-1]

    def hooks(self, *names: Hook) -> list[tuple[str, int]]:
        """The changing hooks that ran, with their epochs."""
        wanted = names or (Hook.ON_PROMOTE, Hook.ON_DEMOTE, Hook.ON_FOLLOW)
        return [
            (a.hook.value, a.epoch) for a in self.done if isinstance(a, words.RunHook) if a.hook in wanted
        ]


def serving(thinks: ModuleType | Any = brain, **extra: Any) -> Body:
    """A machine that was promoted under epoch 1, and serves."""
    body = Body(thinks=thinks, **extra).start()
    body.tell(Do.PROMOTE, 1)
    body.run(1)
    body.tell(Do.SERVE, 1)
    body.run(1)
    assert body.serves() == 1, body.state
    assert body.last["hook_state"] == HookState.DONE
    return body
