"""Many failovers of many groups at once, while servers and the database have troubles of their own.

Each group has a thread that waits until its group stands (a primary that serves, a standby that is ready),
strikes the primary, brings a fresh machine, and waits for the next epoch.  One more thread makes the weather.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from tests.real.product.failover_fleet.faults import FAULTS, Fault
from tests.real.product.failover_fleet.fleet import Fleet, Group, Wired, eventually
from tests.real.product.failover_fleet.ledger import now_s

MEMBERS = 3
BLIND = 4
"""So many of the groups, the first ones, have services that know nothing of leases."""


@dataclass(frozen=True, slots=True)
class Failover:
    group: str
    fault: Fault
    lost: str
    struck_s: float
    served_s: float
    """When the first write under the next epoch was acknowledged."""
    load: float
    """How many processes wanted each core meanwhile; 1 on a machine that does nothing else."""

    @property
    def took_s(self) -> float:
        return self.served_s - self.struck_s


@dataclass(frozen=True, slots=True)
class Trouble:
    """Of servers or the database, from when until when."""

    name: str
    began_s: float
    ended_s: float


Weather = tuple[float, str, Callable[[], None]]
"""At which part of all failovers, what it is called, and what makes and ends it."""


class Plan:
    """So many faults in all: the next one goes to whichever group stands first.

    Each comes about as often as any other.  Slow ones, and those that only some groups may take, come early
    in each turn, so that no group works alone at the end.
    """

    def __init__(self, failovers: int) -> None:
        turn = sorted(FAULTS, key=lambda fault: (-fault.leases, fault.for_blind))
        self._left = (turn * -(-failovers // len(turn)))[-failovers:]
        self._lock = threading.Lock()

    def take(self, *, blind: bool) -> Fault | None:
        """None: nothing is left for such a group."""
        with self._lock:
            found = next((fault for fault in self._left if fault.for_blind or not blind), None)
            if found is not None:
                self._left.remove(found)
            return found


@dataclass
class Campaign:
    fleet: Fleet
    failovers: list[Failover] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    _count: threading.Lock = field(default_factory=threading.Lock)
    _stopped: threading.Event = field(default_factory=threading.Event)

    def run(self, groups: int, failovers: int, weather: Sequence[Weather]) -> None:
        """Raises what a group's thread, or the weather's, has raised."""
        made = [self.fleet.group(f"g{n}") for n in range(1, groups + 1)]
        plan = Plan(failovers)
        with ThreadPoolExecutor(groups + 1) as threads:
            storm = threads.submit(self._storm, weather, failovers)
            lives = [threads.submit(self._live, group, plan, blind=n < BLIND) for n, group in enumerate(made)]
            try:
                for life in lives:
                    life.result()
            finally:
                self._stopped.set()
            storm.result()

    def _storm(self, weather: Sequence[Weather], failovers: int) -> None:
        for part, name, make in weather:
            while len(self.failovers) < part * failovers and not self._stopped.wait(0.1):
                pass
            began_s = now_s()
            make()
            self.troubles.append(Trouble(name, began_s, now_s()))

    def _live(self, group: Group, plan: Plan, *, blind: bool) -> None:
        for _ in range(MEMBERS):
            self.fleet.launch(group, blind=blind)
        losers: list[Wired] = []
        self.standing(group)
        while fault := plan.take(blind=blind):
            losers.append(self._strike(group, fault, blind))
            for old in losers[:-1]:  # what was woken had a round's time to serve, if it would
                self.fleet.end(old)
            del losers[:-1]
            self.standing(group)

    def _strike(self, group: Group, fault: Fault, blind: bool) -> Wired:
        primary, before = self.standing(group), group.probe.newest
        assert before is not None
        self.fleet.launch(group, blind=blind)
        struck_s = now_s()
        undo = fault.strike(self.fleet, primary)

        def next_epoch() -> float | None:
            newest = group.probe.newest
            return newest.done_s if newest is not None and newest.epoch > before.epoch else None

        served_s = eventually(
            next_epoch, lambda: f"{group.agent_id}: a new primary after {fault.name}: {self.why(group)}"
        )
        undo()
        with self._count:
            self.failovers.append(
                Failover(group.agent_id, fault, primary.instance_id, struck_s, served_s, load())
            )
        return primary

    def _staff(self, group: Group, seen: Any) -> None:
        """On a busy machine a lease may run out by itself, and cost the group its standby: bring another."""
        lost = {"zombie", "demoting"}
        known = {member["instance_id"]: member["status"] for member in seen["members"]}
        left = [each for each in group.machines if not each.ended and known.get(each.instance_id) not in lost]
        if sum(each.machine.agent.poll() is None for each in left) < MEMBERS:
            self.fleet.launch(group, blind=group.machines[0].blind)

    def why(self, group: Group) -> Any:
        return self.fleet.ask("GET", f"/api/agents/{group.agent_id}/why")

    def standing(self, group: Group) -> Wired:
        """The primary, once it serves, nothing is under way, and a standby is ready."""

        seen: Any = None

        def found() -> Wired | None:
            nonlocal seen
            seen = self.fleet.ask("GET", f"/api/agents/{group.agent_id}")
            newest = group.probe.newest
            serves = newest is not None and newest.done_s > now_s() - 1 and newest.epoch == seen["epoch"]
            ready = any(member["ready"] for member in seen["members"])
            if seen["primary"] and seen["settled"] and ready and serves and not seen["degraded"]:
                return group.machine(seen["primary"])
            self._staff(group, seen)
            time.sleep(0.25)
            return None

        wired: Wired = eventually(
            found, lambda: f"{group.agent_id} stands; it is {seen}, {group.probe.newest}"
        )
        return wired


def load() -> float:
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))
