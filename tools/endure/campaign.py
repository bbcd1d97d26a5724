"""Rounds of load that comes and goes, with a spot notice in the middle, and kills all the while."""

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.record import Cluster
from tools.endure import account
from tools.endure.books import Books, Ledger
from tools.endure.budget import BudgetWatch
from tools.endure.courier import Courier
from tools.endure.fleet import add_strangers, is_strange
from tools.endure.ground import CLUSTER, FLOOR, Ground
from tools.endure.hunt import Hunt
from tools.endure.load import Late
from tools.endure.phase import HUNTED, Phase, phase_of
from tools.endure.shells import Shell

ON_ONE = 25
"""So many pods of the load fill a worker."""
PENDING = 200
FEW = 20
MANY = FLOOR * ON_ONE + PENDING
"""Of these, so many find no place on the workers of the floor."""
CHECK_EVERY_S = 0.25
ROUND_TIMEOUT_S = 900.0
"""For what never comes; a slow machine is only slow."""
WARNING_S = 25.0
BUDGET_SEEN = 2
"""So often the budget is looked at in a scale-down before the cloud takes a worker back."""

QUOTA = {
    Phase.IDLE: 1,
    Phase.INTENDED: 6,
    Phase.JOINING: 6,
    Phase.DRAINING: 6,
    Phase.TERMINATING: 4,
    Phase.INTERRUPTED: 3,
    Phase.DYING: 1,
}

Tell = Callable[[str], None]


@dataclass
class Campaign:
    ground: Ground
    shell: Shell
    random: Random
    tell: Tell = lambda line: None
    quota: dict[Phase, int] = field(default_factory=lambda: dict(QUOTA))
    problems: list[str] = field(default_factory=list)
    rounds: int = 0
    warned: int = 0
    most_workers: int = 0
    budget: BudgetWatch = field(default_factory=BudgetWatch)

    def __post_init__(self) -> None:
        self._ledger = Ledger(self.ground.site.ec2, self.ground.store, CLUSTER)
        # It reads the cloud's log by itself: it lives in another thread.
        log = Ledger(self.ground.site.ec2, self.ground.store, CLUSTER)
        self.hunt = Hunt(self.ground.store, self.shell, self.random, self.quota, log.calls)
        self.courier = Courier(self.ground.site.ec2, self.shell)

    @property
    def kills(self) -> Counter[Phase]:
        return self.hunt.kills

    @property
    def launched(self) -> int:
        return len(self._ledger.known.machines)

    def short_of(self, kills: int, each: int) -> list[str]:
        """What is missing to so many kills, so many in each phase that matters, one at the worst moment."""
        missing = [f"{phase}: {self.kills[phase]} of {each}" for phase in HUNTED if self.kills[phase] < each]
        if self.kills.total() < kills:
            missing.append(f"{self.kills.total()} of {kills}")
        if not self.books().repeated:
            missing.append("one between asking for machines and noting the answer")
        return missing

    def begin(self) -> None:
        """From nothing to the floor, with a small load on it, and a stranger among the nodes."""
        add_strangers(self.ground.site, 1)
        self.ground.load.create(FEW)
        self._drive(lambda record: self._is_at_rest(record, FEW), "the floor is reached")

    def round(self) -> None:
        """Up, down, a notice in the middle; then everything must be at rest again."""
        self.rounds += 1
        self.hunt.begin_round()
        self.ground.load.scale(MANY)
        self._drive(lambda record: self._is_at_rest(record, MANY), f"all {MANY} pods run")
        self._judge_heights()
        self.ground.load.scale(FEW)
        seen = self.budget.seen
        self._drive(
            lambda record: phase_of(record) is Phase.DRAINING and self.budget.seen - seen >= BUDGET_SEEN,
            "the fleet scales down under its budget",
        )
        self._warn_one()
        self._drive(lambda record: self._is_low(record), f"{FLOOR} workers are left")
        self.problems += [*self._found(), *([self.courier.problem] if self.courier.problem else [])]
        self.tell(self._line())

    def stop(self) -> None:
        self.hunt.stop()
        self.courier.stop()
        self.shell.stop()

    def _drive(self, holds: Callable[[Cluster], bool], what: str) -> None:
        """Let it live, and kill it now and then, until this holds."""
        deadline_s = time.monotonic() + ROUND_TIMEOUT_S
        while True:
            record = self.ground.store.read(SUBJECT).value
            self._watch(record)
            if holds(record):
                return
            if self.hunt.problem:
                raise Late(self.hunt.problem)
            if time.monotonic() > deadline_s:
                why = f"not within {ROUND_TIMEOUT_S:.0f} s: {what}"
                raise Late("\n".join([why, self._unfinished(), str(record), self.shell.log()]))
            time.sleep(CHECK_EVERY_S)

    def _watch(self, record: Cluster) -> None:
        """What must hold at every moment, and cannot be read from a log afterwards."""
        self.most_workers = max(self.most_workers, record.worker_count)
        # Pods of a machine that dies are moved whatever a budget says.
        scales_down = record.scale_down is not None and not record.interrupted
        if self.budget.is_broken(lambda: self.ground.load.budget_kept(FEW), counts=scales_down):
            self.problems.append(f"round {self.rounds}: fewer pods are healthy than the budget demands")

    def _is_at_rest(self, record: Cluster, pods: int) -> bool:
        if phase_of(record) is not Phase.IDLE or record.interrupted or record.strays:
            return False
        return self.ground.load.running() == pods and not [*self._restless()]

    def _is_low(self, record: Cluster) -> bool:
        return self._is_at_rest(record, FEW) and len(self.books().alive) == FLOOR

    def _restless(self) -> Iterable[str]:
        return account.nodes_are_at_rest(self._workers(), self.books())

    def _judge_heights(self) -> None:
        books = self.books()
        found = [
            *account.zones_are_balanced(books, self.ground.site.subnets),
            *account.none_is_surplus(books, -(-MANY // ON_ONE)),
        ]
        self.problems += [f"round {self.rounds}: {problem}" for problem in found]

    def _unfinished(self) -> str:
        """What an operator would ask for after waiting in vain."""
        zones = Counter(machine.zone for machine in self.books().alive.values())
        there = f"{self.ground.load.running()} pods run; workers by zone: {dict(sorted(zones.items()))}"
        return "\n".join([there, *self._restless()])

    def _warn_one(self) -> None:
        """A notice for a worker that is not leaving anyway."""
        record = self.ground.store.read(SUBJECT).value
        leaving = {t.instance_id for t in record.scale_down.targets} if record.scale_down else set[str]()
        leaving |= {one.instance_id for one in record.condemned}
        victim = self.random.choice(sorted(set(self.books().alive) - leaving))
        self.ground.site.ec2.interrupt(victim, in_s=WARNING_S)
        self.warned += 1

    def books(self) -> Books:
        return self._ledger.books()

    def _workers(self) -> list[dict[str, Any]]:
        return [node for node in self._nodes() if not is_strange(node)]

    def _nodes(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.ground.site.cluster.request("GET", "/api/v1/nodes").ok()["items"]
        return found

    def _found(self) -> list[str]:
        """Everything that is wrong with the books so far."""
        version, books = self.ground.store.read(SUBJECT).version, self.books()
        found = [
            *account.launches_are_recorded(books),
            *account.ends_are_condemned(books),
            *account.floors_are_kept(books, FLOOR),
            *account.nodes_are_at_rest(self._workers(), books),
            *account.log_is_whole(books.logged, version),
            *account.warnings_are_heard(books),
            *account.others_are_let_be(books, filter(is_strange, self._nodes())),
        ]
        return [f"round {self.rounds}: {problem}" for problem in found]

    def _line(self) -> str:
        books = self.books()
        ended = sum(machine.ended_by_us for machine in books.machines.values())
        phases = ", ".join(f"{self.kills[phase]} {phase}" for phase in HUNTED)
        return (
            f"round {self.rounds}: {self.kills.total()} kills, {self.hunt.at_work} of processes at work"
            f" ({phases}), {len(books.machines)} launched, {ended} ended, {self.warned} taken back,"
            f" {books.repeated} launches asked for again, {len(self.problems)} problems"
        )
