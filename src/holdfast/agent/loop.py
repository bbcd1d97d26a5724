"""The loop: what is heard goes to the brain, what it decides is done.

What is to be known after a restart is kept before anything is done, so that a restarted agent finds at
least as much as was begun.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, Final

from holdfast.agent.calls import Calls
from holdfast.agent.files import store_epochs
from holdfast.agent.guard import Guard
from holdfast.agent.hooks import Hooks
from holdfast.agent.imds import Absent, Imds
from holdfast.agent.options import say
from holdfast.agent.page import Page, boottime_s
from holdfast.failover.agent import words
from holdfast.failover.agent.brain import due_s, think
from holdfast.failover.agent.goals import Do
from holdfast.failover.agent.report import HookState
from holdfast.failover.agent.resume import kept
from holdfast.failover.agent.state import Phase, State

TURN_S: Final = 0.25
SENSE_S: Final = 1.0


class Loop:
    """The shell of one agent.  Other threads only put what they heard into its queue."""

    def __init__(self, state: State, page: Page, guard: Guard, folder: Path, session: str) -> None:
        self.state, self.page, self.guard, self.folder, self.session = state, page, guard, folder, session
        self.queue: SimpleQueue[words.Heard] = SimpleQueue()
        self.stores: SimpleQueue[words.StoreEpoch] = SimpleQueue()
        self.ends: str | None = None
        self.turned_s = boottime_s()
        self.kept: dict[str, Any] = {}
        self.unwatched = ""
        self.serve_reads = False
        self.calls: Calls
        self.hooks: Hooks

    def run(self) -> None:
        threading.Thread(target=self._store, daemon=True, name="disk").start()
        while self.ends is None:
            now_s = boottime_s()
            self.page.count()
            self.turned_s = now_s
            self.guard.tend()
            wait_s = min(TURN_S, max(0.0, due_s(self.state, now_s) - now_s))
            try:
                heard: words.Heard = self.queue.get(timeout=wait_s) if wait_s else self.queue.get_nowait()
            except Empty:
                heard = words.Tick()
            self._watch()
            self._think(heard)
            if self.calls.refused and not self.page.armed_s:
                raise self.calls.refused

    def _watch(self) -> None:
        why = self.guard.why_not()
        if why != self.unwatched:
            say(f"no lease is asked for: {why}" if why else "the watchdog counts, and can kill")
            self.unwatched = why
        if (not why) != self.state.watchdog_ok:
            self._think(words.Watched(not why))

    def _think(self, heard: words.Heard) -> None:
        before = self.state
        self.state, actions = think(before, heard, boottime_s())
        _tell_changes(before, self.state)
        self._keep()
        for action in actions:
            self._do(action)
        if self.state.goal is not None:
            self.calls.version = max(self.calls.version, self.state.goal.version)

    def _keep(self) -> None:
        found = {"session": self.session, **kept(self.state)}
        if found != self.kept:
            self.page.keep(found)
            self.kept = found

    def _do(self, action: words.Action) -> None:
        match action:
            case words.Register() | words.SendNotice():
                self.calls.errands.put(action)
            case words.Heartbeat():
                self.calls.beats.put(action)
            case words.RunHook():
                self.hooks.start(action)
            case words.KillHook():
                self.hooks.kill_changing()
            case words.StoreEpoch():
                self.stores.put(action)
            case words.Arm(until_s=until_s, epoch=epoch):
                self.page.arm(until_s, epoch)
            case words.StopProtected():
                self.guard.stop_protected(lambda: self.queue.put(words.Stopped()))
            case words.Disarm():
                self.page.disarm()
            case words.Exit(why=why):
                self.ends = why

    def _store(self) -> None:
        """The disk in a thread of its own: one that hangs delays no heartbeat."""
        while True:
            asked = self.stores.get()
            try:
                store_epochs(self.folder, asked.highest, asked.served)
            except OSError as error:
                say(f"epoch {asked.highest} cannot be stored in {self.folder}: {error.strerror}")
                self.queue.put(words.NotStored(f"{self.folder}: {error.strerror}"))
            else:
                self.queue.put(words.Stored(asked.highest, asked.served))

    # What load balancers ask.

    def asked(self, path: str) -> tuple[int, dict[str, Any]]:
        state, now_s = self.state, boottime_s()
        left_s = state.lease.left_s(state.serving_epoch, now_s)
        primary = state.phase is Phase.UP and left_s > 0 and self.page.armed_s > now_s
        said: dict[str, Any] = {
            "role": "primary" if primary else "replica",
            "phase": state.phase.value,
            "epoch": state.highest_epoch,
            "lease_left_s": round(left_s, 3) if primary else 0.0,
        }
        match path:
            case "/primary":
                return (200 if primary else 503), said
            case "/replica":
                reads = state.phase is Phase.DOWN and _follows(state)
                reads = reads and (self.serve_reads or state.serve_reads)
                return (200 if reads else 503), said
            case "/health":
                turns = now_s - self.turned_s < 2.0
                said |= {"turns": turns, "watchdog": self.unwatched or "ok", "healthy": state.health.healthy}
                said |= {"registered": state.registered, "enabled": state.enabled}
                return (200 if turns and not self.unwatched else 503), said
        return 404, {"error": "there are /primary, /replica and /health"}


def _follows(state: State) -> bool:
    return state.enabled and state.followed is not None and state.health.healthy is True


def _tell_changes(before: State, after: State) -> None:
    """The turns of an agent's life, for the journal."""
    if before.goal != after.goal and after.goal is not None:
        goal = after.goal
        if before.goal is None or (before.goal.do, before.goal.epoch) != (goal.do, goal.epoch):
            say(f"asked to {goal.do}, epoch {goal.epoch}" + (f", of {goal.primary}" if goal.primary else ""))
    if before.phase is not after.phase:
        say(f"{before.phase} -> {after.phase}, epoch {after.serving_epoch or after.highest_epoch}")
    for do in Do:
        record = after.records.get(do)
        if record and record != before.records.get(do) and record.state is HookState.FAILED:
            say(f"{do} failed: {record.output}")


def sense(imds: Imds, hear: Callable[[words.Heard], None]) -> None:
    """Ask for notices each second, for ever; what cannot be asked is told once."""
    said = ""
    while True:
        began_s = boottime_s()
        try:
            for notice in imds.notices():
                hear(words.Noticed(notice))
            why = ""
        except Absent as absent:
            why = str(absent)
        if why and why != said:
            say(f"notices cannot be watched: {why}; `--imds off` if there is none here")
        said = why
        time.sleep(max(0.1, SENSE_S - (boottime_s() - began_s)))
