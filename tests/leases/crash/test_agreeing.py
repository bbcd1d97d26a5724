"""Three workers agree on a cap, the stream is resharded in between, and whatever can fail fails.

The workers are coroutines: the driver is asked from asynchronous code, as the consumer will.
"""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from holdfast.kernel import (
    AsyncDriverPorts,
    Busy,
    Conflict,
    Done,
    DriverPorts,
    Unknown,
    Workflow,
    advance_async,
)
from holdfast.leases import agreement
from holdfast.leases.cap import Cap, View, coordinator
from holdfast.leases.ports import Apply, Effect, Seen
from holdfast.sim.gate import Crash, Enumerated, Gated, Kind
from holdfast.sim.memory import MemoryCaps
from holdfast.testing.choices import Choose, every_run
from tests.deep import DEEP
from tests.proof import prove

APP = "my-app"
WORKERS = ("worker-1", "worker-2", "worker-3")
ROUNDS_MAX = 30


class Run:
    def __init__(self, choose: Choose, faults: int, workflow: Workflow[Cap, Seen, Effect]) -> None:
        self.gate, self.workflow = Enumerated(choose, faults), workflow
        self.ids = (f"commit-{n}" for n in count())
        self.store = MemoryCaps()
        self.before, self.truth = View(30, 3), View(60, 3)

    def now_s(self) -> float:
        return 1_000.0

    def sleep(self, seconds: float) -> None:
        """Nothing here waits for the clock."""

    def ports(self, worker: str) -> DriverPorts[Cap, Seen, Effect]:
        def seen(view: View) -> Callable[[], Seen]:
            return lambda: Seen(worker_id=worker, view=view, applied=self.store.workers(APP).get(worker, 0))

        def perform(effect: Apply) -> None:
            self.gate.call(
                str(effect),
                Kind.CHANGE,
                lambda: self.store.save_worker(APP, worker, effect.view, self.now_s()),
            )

        return DriverPorts.on(
            Gated(self.store, self.gate),
            coordinator(APP),
            look=lambda: self.gate.call("count", Kind.LOOK, seen(self.truth), stale=seen(self.before)),
            perform=perform,
            clock=self,
            new_id=lambda: next(self.ids),
            random=lambda: 1.0,
        )

    async def turn(self, worker: str) -> bool:
        """One turn of one worker; whether it has nothing left to do."""
        try:
            ahead = await advance_async(awaited(self.ports(worker)), self.workflow)
        except (Crash, Busy, Unknown, Conflict):
            return False
        return isinstance(ahead, Done) and not self.gate.stale

    def to_the_end(self) -> None:
        for _ in range(ROUNDS_MAX):
            rested = [at_once(self.turn(worker)) for worker in WORKERS]  # each of them has a turn
            if all(rested):
                return
        raise AssertionError("it never ends\n" + self.gate.story())


def awaited(ports: DriverPorts[Cap, Seen, Effect]) -> AsyncDriverPorts[Cap, Seen, Effect]:
    """The same ports, for coroutines."""

    def coroutine(call: Callable[..., Any]) -> Callable[..., Any]:
        async def answer(*arguments: Any) -> Any:
            return call(*arguments)

        return answer

    return AsyncDriverPorts(
        read=coroutine(ports.read),
        look=coroutine(ports.look),
        commit=coroutine(ports.commit),
        commit_id_at=coroutine(ports.commit_id_at),
        perform=coroutine(ports.perform),
        pause=coroutine(ports.pause),
        now_s=ports.now_s,
        new_id=ports.new_id,
        random=ports.random,
    )


def at_once(turn: Any) -> bool:
    """Run a coroutine that waits for nothing."""
    try:
        turn.send(None)
    except StopIteration as end:
        return bool(end.value)
    raise AssertionError("it waited for something")


@pytest.mark.parametrize(("faults", "at_least"), [(2, 500), pytest.param(3, 5_000, marks=DEEP)])
def test_every_worker_ends_with_the_agreed_cap_whatever_dies(faults: int, at_least: int) -> None:
    schedules = 0
    for choose in every_run():
        run = Run(choose, faults, agreement.WORKFLOW)
        run.to_the_end()
        schedules += 1

        assert run.store.read(coordinator(APP)).value == Cap(run.truth), run.gate.story()
        assert run.store.workers(APP) == dict.fromkeys(WORKERS, 20), run.gate.story()

    assert schedules >= at_least
    prove("crash", "agreement", schedules=schedules, faults=faults)
