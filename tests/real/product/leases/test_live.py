"""Live workers in processes of their own: they come, die, are stopped and leave, and the cap follows.

On a machine that is late with everything, time is what the workers' own beats make of it: see `Taken`.
`tests/leases/unit/test_in_time.py` holds the same changes to the same bound on virtual time.
"""

import json
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, NamedTuple

import pytest
from botocore.exceptions import ClientError

from tests.real.product.leases.site import HOLDFAST, Running, Site, started
from tests.real.traces import HANG_S, wait_until

TTL_S, BEAT_S, QUIET_BEATS = 3.0, 0.5, 20
SOON_S = TTL_S + 2.0
TIMES = {"HEARTBEAT_SEC": str(BEAT_S), "MEMBER_TTL_SEC": str(TTL_S), "COUNT_SEC": "0.5"}
EXPECTED = {"KDS_WORKER_COUNT": "8", "JOIN_GRACE_SEC": "0.5", "FEWER_SHARDS_SEC": "1", "HEALTH_PORT": "0"}


class Taken(NamedTuple):
    seconds: float
    beats: int
    """The most that any worker made meanwhile; there is one a period, and one more where it has news."""

    @property
    def in_time(self) -> bool:
        """By the clock; or, where the machine is slower than the workers' period, by their beats."""
        return self.seconds <= SOON_S or self.beats <= SOON_S / BEAT_S


class Fleet:
    def __init__(self, site: Site, opened: ExitStack) -> None:
        self.site, self.workers, self._opened = site, dict[str, Running](), opened

    def join(self, worker_id: str) -> None:
        environment = self.site.environment(worker_id, **TIMES, **EXPECTED)
        self.workers[worker_id] = self._opened.enter_context(
            started([*HOLDFAST, "run", "--json"], environment)
        )

    def join_whole(self, worker_id: str) -> None:
        """Until its interpreter has started and its first row stands."""
        self.join(worker_id)
        wait_until(lambda: worker_id in self.site.rows(), f"{worker_id} has joined")

    def becomes(self, cap: int) -> None:
        """The agreed cap, and the cap in force at every worker that lives, are this."""
        wait_until(lambda: self.agree_on(cap), f"{cap} is agreed and in force")

    def agree_on(self, cap: int) -> bool:
        found = self.now()
        return set(found.values()) == {cap} and len(found) == len(self.workers) + 1

    def measured(self, what: str, cap: int, change: Callable[[], Any]) -> None:
        """Counted from the end of the change: a stand-in takes its time for a reshard."""
        change()
        began_s, before = time.monotonic(), self.beats()
        self.becomes(cap)
        after = self.beats()
        beats = max((after[key] - beat for key, beat in before.items() if key in after), default=0)
        took = Taken(time.monotonic() - began_s, beats)
        print(f"{what}: {took.seconds:.2f} s, {took.beats} beats")
        assert took.in_time, f"{what}: {took}"

    def beats(self) -> dict[str, int]:
        return {key: int(row["heartbeat"]) for key, row in self.site.rows().items() if "heartbeat" in row}

    def now(self) -> dict[str, int]:
        """What is agreed, and what each living worker has said last that is in force there."""
        try:
            agreed = {"agreed": int(self.site.agreed["max_leases_per_worker"])}
        except (ClientError, KeyError):
            return {}  # the first of them has yet to make the table
        said = {worker: last(running) for worker, running in self.workers.items()}
        return {**agreed, **{worker: cap for worker, cap in said.items() if cap}}

    @property
    def version(self) -> int:
        return int(self.site.agreed["version"])


def last(running: Running) -> int:
    caps = [json.loads(line) for line in running.lines if line.startswith("{")]
    return int(caps[-1]["max_leases_per_worker"]) if caps else 0


@pytest.fixture
def fleet(site: Site) -> Iterator[Fleet]:
    site.streams.make(site.stream, 30)
    with ExitStack() as opened:
        yield Fleet(site, opened)
    assert site.left_behind() == []


@pytest.mark.waiting
def test_the_cap_follows_whatever_comes_and_goes(fleet: Fleet) -> None:
    for n in (1, 2, 3):
        fleet.join(f"worker-{n}")
    fleet.becomes(10)

    fleet.measured("a fourth worker, from its first row", 8, lambda: fleet.join_whole("worker-4"))
    fleet.measured("30 to 60 shards", 15, lambda: fleet.site.streams.reshard(fleet.site.stream, 60))

    killed = fleet.workers.pop("worker-4")
    fleet.measured("SIGKILL", 20, lambda: killed.end(signal.SIGKILL))
    left = fleet.workers.pop("worker-3")
    fleet.measured("scale-in", 30, lambda: left.end())
    assert "worker-3" not in fleet.site.rows(), "who leaves deletes its row"
    fleet.measured("60 to 30 shards", 15, lambda: fleet.site.streams.reshard(fleet.site.stream, 30))

    stopped = fleet.workers.pop("worker-2")
    fleet.measured("SIGSTOP", 30, lambda: stopped.process.send_signal(signal.SIGSTOP))
    fleet.workers["worker-2"] = stopped
    fleet.measured("SIGCONT", 15, lambda: stopped.process.send_signal(signal.SIGCONT))
    assert last(fleet.workers["worker-1"]) == 15, "the one that was stopped took none for dead"

    version, before = fleet.version, fleet.beats()
    wait_until(
        lambda: all(fleet.beats()[key] >= before[key] + QUIET_BEATS for key in fleet.workers),
        "quiet beats of each",
    )
    assert fleet.version == version, "a quiet world commits nothing"
    for worker in fleet.workers.values():
        assert worker.end() == 0


def test_one_id_twice_the_older_stops_and_says_why(fleet: Fleet) -> None:
    fleet.join("worker-1")
    fleet.becomes(30)
    older = fleet.workers.pop("worker-1")
    fleet.join("worker-1")

    assert older.process.wait(HANG_S) == 1
    assert older.says("another process has joined under this id")
    fleet.becomes(30)
