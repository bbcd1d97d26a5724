"""Workers that must all restart their KCL: the shipped rules do it one by one, broken ones do not."""

from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pytest

from holdfast.leases import restart, supervision
from holdfast.leases.cap import Cap, View
from holdfast.leases.rows import WorkerRow
from holdfast.leases.supervision import Move, Situation
from tests.variants import broken

ROWS, WORKERS = 24, 4
STEADY_S, SETTLE_S, DOWN_S = 2.0, 5.0, 4.0


@dataclass
class Kcl:
    row: WorkerRow
    running: int
    down_until_s: float | None = None
    ordered: bool = False
    up_since_s: float | None = None
    unread_since_s: float | None = None
    alive: bool = True


@dataclass
class Fleet:
    """Each turn of a worker is a second; the record is changed by one at a time, as a guarded write is."""

    rules: Any = supervision
    lock: Any = restart
    told: int = ROWS // WORKERS
    rows: int = ROWS
    cap: Cap = field(default_factory=lambda: Cap(View(8, WORKERS), 1))
    now_s: float = 0.0
    most_down: int = 0
    restarts: list[int] = field(default_factory=list)
    workers: list[Kcl] = field(
        default_factory=lambda: [
            Kcl(
                WorkerRow(key=f"w{n}", view=View(8, WORKERS), max_leases_per_worker=2, incarnation=f"i{n}"), 2
            )
            for n in range(WORKERS)
        ]
    )

    @property
    def living(self) -> tuple[WorkerRow, ...]:
        return tuple(kcl.row for kcl in self.workers if kcl.alive)

    def unread(self) -> bool:
        return self.rows > sum(kcl.running for kcl in self.workers if kcl.alive)

    def run(self, random: Random, seconds: int, *, kills_a_holder: bool = False) -> None:
        for _ in range(seconds):
            self.now_s += 1.0
            for kcl in random.sample(self.workers, len(self.workers)):
                if kcl.alive:
                    self.turn(kcl)
                if kills_a_holder and kcl.alive and self.lock.holds(self.cap, kcl.row):
                    kcl.alive, kills_a_holder = False, False
            down = [kcl for kcl in self.workers if kcl.alive and kcl.down_until_s is not None]
            self.most_down = max(self.most_down, len(down))

    def turn(self, kcl: Kcl) -> None:
        if kcl.down_until_s is not None and self.now_s >= kcl.down_until_s:
            kcl.down_until_s, kcl.running, kcl.up_since_s = None, self.told, self.now_s
        if not self.unread():
            kcl.unread_since_s = None
        elif kcl.unread_since_s is None:
            kcl.unread_since_s = self.now_s
        self.obey(kcl, self.rules.next_move(self.situation(kcl), steady_s=STEADY_S, settle_s=SETTLE_S))

    def situation(self, kcl: Kcl) -> Situation:
        def ago_s(at_s: float | None) -> float | None:
            return None if at_s is None else self.now_s - at_s

        return Situation(
            running=kcl.running,
            told=self.told,
            unread_for_s=ago_s(kcl.unread_since_s),
            has_turn=self.lock.holds(self.cap, kcl.row),
            ordered=kcl.ordered,
            up_for_s=ago_s(kcl.up_since_s) if kcl.ordered else None,
        )

    def obey(self, kcl: Kcl, move: Move) -> None:
        write = None
        if move == Move.TAKE_TURN:
            write = self.lock.take(self.cap, kcl.row, self.living, "a test", self.now_s)
        elif move == Move.RESTART:
            self.restarts.append(self.told - kcl.running)
            kcl.ordered, kcl.up_since_s, kcl.down_until_s = True, None, self.now_s + DOWN_S
        elif move == Move.END_TURN:
            kcl.ordered = False
            write = self.lock.release(self.cap, kcl.row, "a test", self.now_s)
        if write is not None:
            self.cap = write.value


def judge(fleet: Fleet) -> list[str]:
    """What is wrong with how the fleet came to hold all."""
    wrong = []
    if fleet.most_down > 1:
        wrong.append("two at once")
    if fleet.unread():
        wrong.append("shards stay unread")
    if any(more <= 0 for more in fleet.restarts):
        wrong.append("a restart for no higher number")
    if fleet.cap.restarting:
        wrong.append("the lock is kept")
    return wrong


def lived(seed: int = 0, **given: Any) -> Fleet:
    fleet = Fleet(**given)
    fleet.run(Random(seed), 120)
    return fleet


@pytest.mark.parametrize("seed", range(20))
def test_all_are_restarted_one_after_the_other(seed: int) -> None:
    fleet = lived(seed)
    assert judge(fleet) == []
    assert len(fleet.restarts) == WORKERS


@pytest.mark.parametrize("seed", range(20))
def test_a_holder_that_dies_does_not_keep_the_lock(seed: int) -> None:
    fleet = Fleet(told=ROWS // (WORKERS - 1))
    fleet.run(Random(seed), 120, kills_a_holder=True)
    assert sum(kcl.alive for kcl in fleet.workers) == WORKERS - 1
    assert judge(fleet) == []


def test_for_a_lower_number_no_worker_is_restarted() -> None:
    fleet = Fleet(told=1, rows=8)
    fleet.run(Random(0), 60)
    assert fleet.restarts == []
    fleet.workers[0] = replace(fleet.workers[0], alive=False)
    fleet.run(Random(0), 60)
    assert fleet.restarts == [], "nor if shards are unread: a lower number mends nothing"


RULES = "holdfast.leases.supervision"
LOCK = "holdfast.leases.restart"
ALL_AT_ONCE = {"return Move.RESTART if now.has_turn else Move.TAKE_TURN": "return Move.RESTART"}
LOWER = {"now.told > now.running": "now.told != now.running"}
UNASKED = {"if unread and now.running": "if now.running"}
TOO_SOON = {"return Move.END_TURN if up else Move.RUN_ON": "return Move.END_TURN"}
NEVER_BACK = {"return Move.END_TURN if now.has_turn else Move.RUN_ON": "return Move.RUN_ON"}
STOLEN = {" or (cap.restarting and cap.restarting in map(holder, living))": ""}
FOR_EVER = {"cap.restarting and cap.restarting in map(holder, living)": "cap.restarting"}


def test_all_at_once_is_seen() -> None:
    assert "two at once" in judge(lived(rules=broken(RULES, ALL_AT_ONCE)))


def test_a_turn_that_ends_before_the_kcl_is_up_is_seen() -> None:
    assert "two at once" in judge(lived(rules=broken(RULES, TOO_SOON)))


def test_a_lock_that_is_taken_from_a_living_worker_is_seen() -> None:
    assert "two at once" in judge(lived(lock=broken(LOCK, STOLEN)))


def test_a_restart_for_a_lower_number_is_seen() -> None:
    fleet = Fleet(told=1, rows=12, rules=broken(RULES, LOWER))
    fleet.run(Random(0), 60)
    assert "a restart for no higher number" in judge(fleet)


def test_a_restart_though_all_is_read_is_seen() -> None:
    fleet = Fleet(told=4, rows=8, rules=broken(RULES, UNASKED))
    fleet.run(Random(0), 60)
    assert fleet.restarts != []


def test_a_turn_that_is_not_given_back_is_seen() -> None:
    fleet = Fleet(told=8, rows=10, rules=broken(RULES, NEVER_BACK))
    fleet.workers[0].unread_since_s = 0.0
    fleet.cap = replace(fleet.cap, restarting=restart.holder(fleet.workers[3].row))
    fleet.workers[3].running = 8
    fleet.run(Random(0), 60)
    assert "the lock is kept" in judge(fleet)


def test_a_lock_that_a_dead_worker_keeps_is_seen() -> None:
    fleet = Fleet(told=ROWS // (WORKERS - 1), lock=broken(LOCK, FOR_EVER))
    fleet.run(Random(0), 120, kills_a_holder=True)
    assert "shards stay unread" in judge(fleet)
