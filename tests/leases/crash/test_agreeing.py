"""Workers agree on a cap while the stream is resharded, and whatever can fail fails."""

from typing import Any

import pytest

from holdfast.kernel import Busy, Conflict, Unknown, Versioned, Write
from holdfast.leases.cap import Cap, View
from holdfast.leases.worker.live import LiveWorker
from holdfast.leases.worker.start import StartWorker
from holdfast.sim.gate import Crash, Enumerated
from holdfast.testing.choices import Choose, every_run
from tests.deep import DEEP
from tests.leases.model.fleet import Fleet
from tests.proof import prove

WORKERS = ("worker-1", "worker-2")
ROUNDS_MAX = 30
TRUTH = View(60, 2)


class Run:
    """Two workers that agreed on 30 shards, and then there are 60."""

    def __init__(self, choose: Choose, faults: int, live: Any = LiveWorker) -> None:
        self.gate = Enumerated(choose, 0)
        self.fleet = Fleet(self.gate, expected=2, live=live)
        for worker in WORKERS:
            self.fleet.join(worker)
        self.fleet.beat(3)
        assert self.fleet.agreed == View(30, 2)
        self.fleet.stream.shards = 60
        self.fleet.clock.mono += self.fleet.settings.count_s
        self._commit = self.fleet.caps.commit
        self.fleet.caps.commit = self._judged  # type: ignore[method-assign]
        self.gate.budget = faults

    def to_the_end(self) -> None:
        for _ in range(ROUNDS_MAX):
            self.fleet.beat()
            if self.fleet.agreed == TRUTH and set(self.fleet.in_force().values()) == {30}:
                return
        raise AssertionError("it never ends\n" + self.gate.story())

    def _judged(
        self, subject: str, found: Versioned[Cap], write: Write[Cap], commit_id: str
    ) -> Versioned[Cap]:
        """A cap that falls must not fall below the vote of a process that lives."""
        done = self._commit(subject, found, write, commit_id)
        for key, row in self.fleet.rows().own.items():
            needs, lives = row.view.max_leases_per_worker, self.fleet.workers[key].incarnation
            falls = done.value.max_leases_per_worker < found.value.max_leases_per_worker
            if falls and row.incarnation == lives and needs > done.value.max_leases_per_worker:
                raise AssertionError(f"S-K3: {key} needs {needs}\n" + self.gate.story())
        return done


def search(faults: int, live: Any = LiveWorker) -> int:
    schedules = 0
    for choose in every_run():
        run = Run(choose, faults, live)
        run.to_the_end()
        schedules += 1
        before = run.fleet.version
        run.gate.budget = 0
        run.fleet.beat(2)
        assert run.fleet.version == before, "S-K4: a quiet world commits\n" + run.gate.story()
    return schedules


@pytest.mark.parametrize(("faults", "at_least"), [(2, 500), pytest.param(3, 5_000, marks=DEEP)])
def test_every_worker_ends_with_the_agreed_cap_whatever_dies(faults: int, at_least: int) -> None:
    schedules = search(faults)

    assert schedules >= at_least
    prove("crash", "agreement", schedules=schedules, faults=faults)


def start_to_the_end(choose: Choose, faults: int, start: Any = StartWorker) -> tuple[Fleet, Enumerated]:
    """Three workers start one after the other; one whose start fails is started anew."""
    gate = Enumerated(choose, faults)
    fleet = Fleet(gate, start=start)
    for worker in (*WORKERS, "worker-3"):
        for _ in range(ROUNDS_MAX):
            try:
                fleet.start(worker)
                break
            except (Crash, Busy, Unknown, Conflict):
                continue
    return fleet, gate


@pytest.mark.parametrize(("faults", "at_least"), [(2, 500), pytest.param(3, 5_000, marks=DEEP)])
def test_every_start_ends_with_the_same_cap_whatever_dies(faults: int, at_least: int) -> None:
    schedules = 0
    for choose in every_run():
        fleet, gate = start_to_the_end(choose, faults)
        schedules += 1
        assert fleet.agreed == View(30, 3), gate.story()
        assert fleet.in_force() == dict.fromkeys((*WORKERS, "worker-3"), 10), gate.story()
        assert fleet.version == 1, "it was agreed on once\n" + gate.story()
    assert schedules >= at_least
    prove("crash", "agreement", schedules=schedules, faults=faults)
