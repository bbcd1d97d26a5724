"""Virtual time, and many processes in one thread.

A process is known to the scheduler only as `resume(answer) -> call`: a greenlet runs
plain synchronous code, a coroutine asynchronous code, and both are at home.  Every call
passes through here, is given a fate, takes virtual time, and may be the last.  One seed
gives one history: `digest` is the same whenever a history is.
"""

import heapq
import zlib
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Protocol, TypeVar

from greenlet import getcurrent, greenlet

from holdfast.kernel import HoldfastError
from holdfast.sim.faults import Faults
from holdfast.sim.gate import Crash, Fate, Kind, suffer

T = TypeVar("T")
START_S = 1_800_000_000.0
ANSWER_TIMEOUT_S = 8.0
THREADS_MAX = 32
FOREVER_S = float("inf")


@dataclass(slots=True)
class Call:
    """What a process wants from the world."""

    name: str
    kind: Kind | None
    """None: only time passes."""
    run: Callable[[], Any]
    stale: Callable[[], Any] | None = None
    delay_s: float = 0.0


class Resume(Protocol):
    def __call__(self, answer: Any = None, error: BaseException | None = None) -> Call | None: ...


class Process:
    """One simulated process: it is the clock and the gate of the code that runs in it."""

    def __init__(
        self,
        world: "World",
        name: str,
        *,
        phase: Callable[[], str],
        timeout_s: float,
        lead: "Process | None" = None,
    ) -> None:
        self.world, self.name, self.phase = world, name, phase
        self.deadline_s = world.now + timeout_s
        self.lead = lead or self
        """Itself; for a thread, the process that it belongs to and dies with."""
        self.alive = True
        self.killed = False
        self.threads, self.waits = 0, False
        """How many threads it has, and whether it waits for them."""
        self.resume: Resume

    def now_s(self) -> float:
        return self.world.now

    def sleep(self, seconds: float) -> None:
        self._switch(Call("sleep", None, lambda: None, delay_s=seconds))

    def call(self, name: str, kind: Kind, run: Callable[[], T], stale: Callable[[], T] | None = None) -> T:
        answer: T = self._switch(Call(name, kind, run, stale))
        return answer

    def call_async(
        self, name: str, kind: Kind, run: Callable[[], T], stale: Callable[[], T] | None = None
    ) -> Awaitable[T]:
        return _Asked(Call(name, kind, run, stale))

    def sleep_async(self, seconds: float) -> Awaitable[None]:
        return _Asked(Call("sleep", None, lambda: None, delay_s=seconds))

    def together(self, calls: Sequence[Callable[[], T]], width: int = THREADS_MAX) -> Sequence[T]:
        """Make the calls side by side, as that many threads would; the world decides their order."""
        if len(calls) < 2:
            return [call() for call in calls]
        answers: dict[int, T] = {}
        left = deque(enumerate(calls))

        def work(_: object) -> None:
            while left:
                n, call = left.popleft()
                answers[n] = call()

        hub = getcurrent().parent
        assert hub is not None
        for _ in range(min(width, len(calls))):
            self.world.fork(self, greenlet(work, hub))
        self._switch(Call("wait for threads", None, lambda: None, delay_s=FOREVER_S))
        return [answers[n] for n in range(len(calls))]

    def kill(self) -> None:
        """SIGKILL: it dies at the call it is waiting for."""
        self.killed = True

    def _switch(self, call: Call) -> Any:
        hub = getcurrent().parent
        assert hub is not None
        return hub.switch(call)


class _Asked(Awaitable[T]):
    def __init__(self, call: Call) -> None:
        self._call = call

    def __await__(self) -> Generator[Call, T, T]:
        answer = yield self._call
        return answer


class World:
    def __init__(self, seed: int, faults: Faults | None = None) -> None:
        self.seed, self.now, self.digest = seed, START_S, 0
        self.random = Random(seed)
        self.faults = faults
        self.suffered: Counter[tuple[str, str]] = Counter()
        """How often each fate struck, by the phase that it struck in."""
        self.processes: dict[Process, None] = {}
        self.on_call: Callable[[Process, Call, Fate], None] | None = None
        """Sees every call just before it is carried out; may raise Crash to end the process there."""
        self._queue: list[tuple[float, int, Callable[..., object], tuple[Any, ...]]] = []
        self._pushed = 0
        self._ids = 0

    def now_s(self) -> float:
        return self.now

    def new_id(self) -> str:
        self._ids += 1
        return f"{self.seed}-{self._ids}"

    def after(self, seconds: float, then: Callable[..., object], *arguments: Any) -> None:
        self._pushed += 1
        heapq.heappush(self._queue, (self.now + seconds, self._pushed, then, arguments))

    def every(self, seconds: float, then: Callable[[], object], source: Random | None = None) -> None:
        """Again and again, a little unevenly."""
        random = source or self.random

        def again() -> None:
            then()
            self.after(seconds * random.uniform(0.9, 1.1), again)

        self.after(seconds * random.random(), again)

    def run(self, until_s: float) -> None:
        queue = self._queue
        while queue and queue[0][0] <= until_s:
            self.now, _, then, arguments = heapq.heappop(queue)
            then(*arguments)
        self.now = max(self.now, until_s)

    def spawn(
        self,
        name: str,
        main: Callable[[Process], object],
        *,
        phase: Callable[[], str] = lambda: "",
        timeout_s: float = 300.0,
    ) -> Process:
        """Start plain synchronous code."""
        process = Process(self, name, phase=phase, timeout_s=timeout_s)

        def body(_: object) -> None:
            main(process)

        running = greenlet(body)

        return self._begin(process, _resuming(running))

    def fork(self, lead: Process, running: greenlet) -> None:
        """Start a thread of a process."""
        lead.threads += 1
        thread = Process(self, lead.name, phase=lead.phase, timeout_s=0.0, lead=lead)
        thread.deadline_s = lead.deadline_s
        self._begin(thread, _resuming(running))

    def spawn_async(
        self,
        name: str,
        main: Callable[[Process], Coroutine[Any, Any, object]],
        *,
        phase: Callable[[], str] = lambda: "",
        timeout_s: float = float("inf"),
    ) -> Process:
        """Start a coroutine."""
        process = Process(self, name, phase=phase, timeout_s=timeout_s)
        running = main(process)

        def resume(answer: Any = None, error: BaseException | None = None) -> Call | None:
            try:
                call: Call = running.throw(error) if error else running.send(answer)
            except StopIteration:
                return None
            return call

        return self._begin(process, resume)

    def _begin(self, process: Process, resume: Resume) -> Process:
        process.resume = resume
        self.processes[process] = None
        self.after(0.0, self._continue, process)
        return process

    def _continue(self, process: Process, answer: Any = None, error: BaseException | None = None) -> None:
        """Let a process run to its next call."""
        died = False
        try:
            call = process.resume(answer, error)
        except (Crash, HoldfastError):
            call, died = None, True  # it died, or it gave up: another process will go on
        if call is None:
            process.alive = False
            del self.processes[process]
            if process.lead is not process:
                self._thread_ended(process.lead, died)
        elif call.delay_s == FOREVER_S:
            process.waits = True  # the last of its threads lets it go on
        elif call.kind is None:
            self.after(call.delay_s, self._answer, process, call, Fate.WORKS)
        else:
            fate = self.faults.draw(self.random, call.kind) if self.faults else Fate.WORKS
            if fate is not Fate.WORKS:
                self.suffered[process.phase(), fate.value] += 1
            self.after(self._latency_s(fate), self._answer, process, call, fate)

    def _thread_ended(self, lead: Process, died: bool) -> None:
        """One that dies takes its process with it, and that all the others."""
        lead.threads -= 1
        if lead.waits and died:
            lead.waits, lead.killed = False, True
            self._continue(lead, error=Crash("killed"))
        elif lead.waits and not lead.threads:
            lead.waits = False
            self._continue(lead)

    def _latency_s(self, fate: Fate) -> float:
        if fate is Fate.SLOW:
            return self.random.uniform(2, 30)
        if fate is Fate.PAUSED:
            return self.random.choice((60.0, 400.0, 1_000.0)) * self.random.random()
        return 0.02 + 0.1 * self.random.random()

    def _answer(self, process: Process, call: Call, fate: Fate) -> None:
        """Carry the call out, and let the process know."""
        if process.lead.killed or self.now > process.deadline_s:
            self._continue(process, error=Crash("killed"))
            return
        self.digest = zlib.crc32(
            f"{self.now:.6f} {process.name} {call.name} {fate.value}".encode(), self.digest
        )
        try:
            if self.on_call is not None:
                self.on_call(process, call, fate)
            answer = suffer(fate, call.name, call.run, call.stale)
        except (HoldfastError, Crash) as error:
            if fate is Fate.ANSWER_LOST:
                self.after(ANSWER_TIMEOUT_S, self._continue, process, None, error)
            else:
                self._continue(process, error=error)
        else:
            self._continue(process, answer)


def _resuming(running: greenlet) -> Resume:
    def resume(answer: Any = None, error: BaseException | None = None) -> Call | None:
        call: Call | None = running.throw(error) if error else running.switch(answer)
        return call

    return resume
