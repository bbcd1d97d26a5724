"""One of the workers: it adds to the fleet step by step, hands over, and sometimes ignores the lock.

It runs the shipped driver on the shipped store.  The fleet exists only in the record, so
the events of the record tell all that ever happened to it.
"""

import os
import signal
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from random import Random
from typing import Final

from holdfast.adapters.sql.sqlite import Database
from holdfast.app.autoscaler.stores import sqlite_cluster_store
from holdfast.autoscaler import lock
from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.record import Cluster, ScaleUp
from holdfast.kernel import (
    FREE,
    Busy,
    Conflict,
    Do,
    Done,
    DriverPorts,
    Event,
    Happened,
    Lock,
    Outcome,
    Repository,
    Unknown,
    Versioned,
    Wait,
    Workflow,
    Write,
    advance,
)

LOCK_TTL_S: Final = 0.05
NAP_S: Final = 0.001
WITHOUT_LOCK_SHARE: Final = 0.25
HAND_OVER_SHARE: Final = 0.5

Report = Callable[[str], None]
"""Tells the parent one line."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What this turn would begin, if nothing is begun."""

    action_id: str
    add: int


@dataclass(frozen=True, slots=True)
class AddWorkers:
    """Fence (a): the action id."""

    action_id: str


def step(cluster: Cluster, wish: Wish, now_s: float) -> Write[Cluster] | Do[AddWorkers] | Wait | Done:
    if cluster.scale_up is not None:
        return Do((AddWorkers(cluster.scale_up.action_id),))
    up = ScaleUp(wish.action_id, int(now_s), wish.add)
    numbers = {"requested": up.requested, "started_s": up.started_s}
    return Write(replace(cluster, scale_up=up), (Event("begun", now_s, about=up.action_id, numbers=numbers),))


def settle(cluster: Cluster, effect: AddWorkers, outcome: Outcome, now_s: float) -> Write[Cluster] | None:
    """Count what was added, and give the lock to the one that the effect's answer names."""
    up = cluster.scale_up
    if up is None or up.action_id != effect.action_id or not isinstance(outcome, Happened):
        return None
    lock = Lock(str(outcome.answer), now_s + LOCK_TTL_S) if outcome.answer else FREE
    scaled_up = replace(
        cluster,
        scale_up=None,
        worker_count=cluster.worker_count + up.requested,
        last_scale_s=int(now_s),
        lock=lock,
    )
    numbers = {
        "added": up.requested,
        "worker_count": scaled_up.worker_count,
        "last_scale_s": scaled_up.last_scale_s,
    }
    finished = Event("finished", now_s, about=up.action_id, numbers=numbers)
    handed_over = Event("handedOver", now_s, about=lock.owner, numbers={"until_s": lock.until_s})
    return Write(scaled_up, (finished, handed_over))


def locked_by(owner: str, ttl_s: float) -> Workflow[Cluster, Wish, AddWorkers]:
    """The same workflow, but its effects wait for the lock, as those of the autoscaler do."""

    def locked(cluster: Cluster, wish: Wish, now_s: float) -> Write[Cluster] | Do[AddWorkers] | Wait | Done:
        if lock.is_held(cluster, owner, now_s, ttl_s=ttl_s, urgent=False):
            return Wait(cluster.lock.until_s, f"{cluster.lock.owner} is at work on it")
        ahead = step(cluster, wish, now_s)
        fresh = cluster.lock.owner == owner and cluster.lock.until_s - now_s > ttl_s / 2
        return ahead if fresh or not isinstance(ahead, Do) else lock.take(cluster, owner, now_s, ttl_s)

    return Workflow(locked, settle)


class Reporting:
    """The store, telling the parent before each commit and after it has returned."""

    def __init__(self, store: Repository[Cluster], report: Report) -> None:
        self._store, self._report = store, report
        self.read, self.commit_id_at, self.events = store.read, store.commit_id_at, store.events

    def commit(
        self, subject: str, found: Versioned[Cluster], write: Write[Cluster], commit_id: str
    ) -> Versioned[Cluster]:
        self._report(f"begin {found.version + 1} {commit_id}")
        try:
            done = self._store.commit(subject, found, write, commit_id)
        except (Conflict, Busy, Unknown) as error:
            self._report(f"{type(error).__name__} {found.version + 1} {commit_id}")
            raise
        self._report(f"done {done.version} {done.commit_id}")
        return done


class WallClock:
    def now_s(self) -> float:
        return time.time()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def work(name: str, others: list[str], path: str, pipe: int, seed: str) -> None:
    """Take turns until SIGTERM; the lock is handed to one of the others."""
    asked_to_stop: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: asked_to_stop.append(number))
    random = Random(seed)

    def report(line: str) -> None:
        os.write(pipe, f"{line}\n".encode())  # one write of a short line is never torn

    store = sqlite_cluster_store(_opened(path, report))
    ports: DriverPorts[Cluster, Wish, AddWorkers] = DriverPorts.on(
        Reporting(store, report),
        SUBJECT,
        look=lambda: Wish(f"{int(time.time())}-{uuid.uuid4().hex[:12]}", random.randint(1, 3)),
        perform=lambda effect: random.choice(others or [name]) if random.random() < HAND_OVER_SHARE else "",
        clock=WallClock(),
        new_id=lambda: uuid.uuid4().hex,
        random=lambda: 1.0,
    )
    careless: Workflow[Cluster, Wish, AddWorkers] = Workflow(step, settle)
    locked = locked_by(name, LOCK_TTL_S)
    while not asked_to_stop:
        try:
            ahead = advance(ports, careless if random.random() < WITHOUT_LOCK_SHARE else locked)
        except (Conflict, Busy, Unknown):
            continue
        if isinstance(ahead, Wait):
            time.sleep(NAP_S)


def _opened(path: str, report: Report) -> Database:
    while True:
        try:
            return Database(path)
        except Busy:
            report("busy opening")
