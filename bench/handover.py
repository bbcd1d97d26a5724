"""How long a group is without its primary: real processes, a ready standby, trivial hooks, leases as shipped.

`make handovers` makes as many as the promise is about, a hundred; a machine takes some seconds to be launched
and ready, so that takes some minutes.
"""

import os
import signal
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench import Row
from tests.agent.machine import eventually
from tests.real.product.failover_agent.fleet import Fleet, Machine
from tools.parts.imds.book import Book
from tools.parts.imds.control import stamp
from tools.parts.imds.metadata import Metadata
from tools.parts.imds.server import ImdsServer

LEASE_S, PROMISE_S = 10.0, 2.0
HANDOVERS = int(os.environ.get("HOLDFAST_HANDOVERS", "12"))
GROUPS, DEATHS = 4, 5
"""So many groups at once, each on a server of its own, and so many silent deaths in each.

The handovers are shared out among the groups, too.
"""
SERVE = "setsid sleep 1000 >/dev/null 2>&1 & echo $! > $COUNTER_FOLDER/counter.pid"
HOOKS = {
    "on-promote": f"touch $COUNTER_FOLDER/promoted; {SERVE}",
    "on-demote": "kill -KILL $(cat $COUNTER_FOLDER/counter.pid); echo position=1",
    "on-follow": "true",
    "health": "true",
    "sync-status": "echo position=1; echo lag_s=0",
}


class Trial:
    """A group of two, of which one after the other is lost and replaced."""

    def __init__(self, folder: Path) -> None:
        self.hooks = folder / "hooks"
        self.hooks.mkdir()
        for name, body in HOOKS.items():
            path = self.hooks / name
            path.write_text(f"#!/bin/sh\n{body}\n")
            path.chmod(0o755)
        self.book = Book()
        self.imds = ImdsServer(self.book)
        self.imds.serve_in_background()
        self.fleet = Fleet(folder, defaults=True)

    def launch(self) -> None:
        name = f"i-{self.fleet.begun + 1}"
        self.book.put(Metadata(name))
        machine = self.fleet.launch("--imds", f"{self.imds.url}/{name}", hooks=self.hooks)
        (machine.folder / "counter").mkdir()

    def primary(self) -> Machine:
        """The primary, once a standby is ready."""

        def found() -> Machine | None:
            members = self.fleet.ask("GET", "/api/agents/db")["members"]
            ready = any(member["ready"] for member in members if member["status"] == "running_replica")
            return self.fleet.primary() if ready else None

        machine: Machine = eventually(found, "a primary, and a ready standby")
        return machine

    def promoted_after_s(self, lost: Machine, began_s: float) -> float:
        """Until the `on-promote` of another machine ran."""
        marks = [machine.folder / "counter" / "promoted" for machine in self.fleet.machines]
        old = [mark for mark in marks if mark.exists()]
        new = [mark for mark in marks if mark not in old]
        found: Path = eventually(lambda: next((mark for mark in new if mark.exists()), None))
        took_s = found.stat().st_mtime - began_s
        lost.close()
        self.fleet.machines.remove(lost)
        self.launch()
        return took_s

    def close(self) -> None:
        self.fleet.close()
        self.imds.shutdown()
        self.imds.server_close()


def notice(trial: Trial) -> float:
    primary = trial.primary()
    began_s = time.time()
    trial.book.interrupt(primary.instance_id, "terminate", stamp(began_s + 120))
    return trial.promoted_after_s(primary, began_s)


def death(trial: Trial) -> float:
    primary = trial.primary()
    began_s = time.time()
    primary.signal(signal.SIGKILL, *primary.all)
    return trial.promoted_after_s(primary, began_s)


def lost(how: Callable[[Trial], float], times: int) -> list[float]:
    """How long each loss took, one after the other in one group of two."""
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(Path(folder))
        try:
            for _ in range(2):
                trial.launch()
            return [how(trial) for _ in range(times)]
        finally:
            trial.close()


def in_all(how: Callable[[Trial], float], times: int) -> list[float]:
    """So many losses in all groups together, sorted."""
    with ThreadPoolExecutor(GROUPS) as groups:
        shares = [times // GROUPS + (n < times % GROUPS) for n in range(GROUPS)]
        trials = [groups.submit(lost, how, share) for share in shares if share]
        return sorted(took_s for trial in trials for took_s in trial.result())


def run() -> list[Row]:
    handovers = in_all(notice, HANDOVERS)
    deaths = in_all(death, DEATHS * GROUPS)
    p99_s, median_s = handovers[int(0.99 * len(handovers))], handovers[len(handovers) // 2]
    within_s = LEASE_S + PROMISE_S
    return [
        _row(f"notice to on-promote, p99 of {len(handovers)}", p99_s, PROMISE_S),
        _row("notice to on-promote, median", median_s, PROMISE_S),
        _row(f"silent death to on-promote, longest of {len(deaths)}", deaths[-1], within_s),
    ]


def _row(what: str, took_s: float, promised_s: float) -> Row:
    return Row(what, took_s, "promised", promised_s, took_s / promised_s, 1.0, " s")
