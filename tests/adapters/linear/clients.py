"""Clients of a real repository, working at once, and the history that they make.

A client reads, and commits from what it read last or from something older on purpose.
Moments are drawn from one counter, before a call and after its return, so the order of
two moments is the order in which they were.

When an answer is lost the client may try again with the same commit id, at once or after
doing other things.  The first try and all that repeat it are *one* operation, from the
first call to the answer that was had in the end: that is what the repository promises
("the same call with the same commit id is done once"), so the model of a record needs
no second meaning of "done".  A refusal for being busy that follows a lost answer tells
nothing of the first try, so the operation stays without an answer.
"""

import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from math import inf
from random import Random
from threading import Barrier
from typing import Generic, TypeVar

from holdfast.kernel import Busy, Conflict, Event, Repository, Unknown, Versioned, Write
from holdfast.testing.linear import (
    Commit,
    Operation,
    Read,
    RegisterAnswer,
    RegisterCall,
    VersionedRegister,
    check,
)
from tests.adapters.linear.histories import Registered

Record = TypeVar("Record")
Make = Callable[[int], Record]
"""The record that commit number n writes; number 0 is the record before the first commit."""

START_TIMEOUT_S = 300.0
MEMORIES_MAX = 12


@dataclass(frozen=True)
class Doubt(Generic[Record]):
    """A commit whose answer was lost."""

    call: Commit
    called_at: float
    found: Versioned[Record]
    write: Write[Record]


@dataclass
class Client(Generic[Record]):
    name: str
    store: Repository[Record]
    subject: str
    make: Make[Record]
    random: Random
    moments: Iterator[int]
    numbers: Iterator[int]
    history: list[Registered] = field(default_factory=list)
    memories: list[Versioned[Record]] = field(default_factory=list)
    doubts: list[Doubt[Record]] = field(default_factory=list)
    beaten: bool = False
    recovered: int = 0
    """Commits that lost an answer and had one in the end."""

    def work(self, operations: int) -> None:
        while len(self.history) + len(self.doubts) < operations:
            if self.doubts and self.random.random() < 0.25:
                self._retry(self.doubts.pop(self.random.randrange(len(self.doubts))))
            elif not self.memories or self.random.random() < (0.8 if self.beaten else 0.4):
                self._read()
            else:
                stale = self.random.random() < 0.15
                self._commit(self.random.choice(self.memories) if stale else self.memories[-1])
        for doubt in self.doubts:
            self._note(doubt.call, doubt.called_at, None)

    def _read(self) -> None:
        called_at = next(self.moments)
        try:
            found = self.store.read(self.subject)
        except Busy:
            self._note(Read(), called_at, "busy")
        except Unknown:
            self._note(Read(), called_at, None)
        else:
            self._note(Read(), called_at, (found.version, found.commit_id))
            number = int(found.commit_id.partition("-")[0]) if found.commit_id else 0
            assert found.value == self.make(number), f"{found.commit_id} wrote {number}, not {found.value}"
            self._remember(found)

    def _commit(self, found: Versioned[Record]) -> None:
        number = next(self.numbers)
        call = Commit(found.version, f"{number}-{uuid.uuid4().hex[:16]}")
        doubt = Doubt(call, next(self.moments), found, self._write(number))
        answer = self._try(doubt)
        if answer is None and self.random.random() < 0.5:
            self.doubts.append(doubt)
        else:
            self._note(call, doubt.called_at, answer)

    def _retry(self, doubt: Doubt[Record]) -> None:
        answer = self._try(doubt)
        if answer is None or answer == "busy":
            self.doubts.append(doubt)
        else:
            self._note(doubt.call, doubt.called_at, answer)
            self.recovered += 1

    def _try(self, doubt: Doubt[Record]) -> RegisterAnswer | None:
        try:
            done = self.store.commit(self.subject, doubt.found, doubt.write, doubt.call.commit_id)
        except Conflict:
            self.beaten = True
            return "conflict"
        except Busy:
            return "busy"
        except Unknown:
            return None
        assert (done.version, done.commit_id) == (doubt.call.expected + 1, doubt.call.commit_id)
        self._remember(done)
        return "done"

    def _write(self, number: int) -> Write[Record]:
        return Write(self.make(number), (Event("changed", 1.0, about=self.name, numbers={"number": number}),))

    def _remember(self, found: Versioned[Record]) -> None:
        self.beaten = False
        self.memories = [*self.memories[-MEMORIES_MAX:], found]

    def _note(self, call: RegisterCall, called_at: float, answer: RegisterAnswer | None) -> None:
        returned_at = inf if answer is None else next(self.moments)
        self.history.append(Operation(self.name, call, called_at, returned_at, answer))


@dataclass(frozen=True)
class Recording:
    """One history, and the log that the repository told of it."""

    model: VersionedRegister
    history: list[Registered]
    told: list[tuple[int, str]]
    """Version and commit id of each event: one a commit."""
    recovered: int

    def check(self) -> None:
        """Some order explains it, and the log holds each commit that was done, once and in its place."""
        check(self.model, self.history)
        assert [version for version, _ in self.told] == list(range(1, len(self.told) + 1))
        asked = {o.call.commit_id: o for o in self.history if isinstance(o.call, Commit)}
        for version, commit_id in self.told[self.model.version :]:
            operation = asked[commit_id]
            assert isinstance(operation.call, Commit)
            assert operation.call.expected + 1 == version
            assert operation.answer in ("done", None), f"{operation} stands in the log"
        ids = {commit_id for _, commit_id in self.told}
        missing = [o for commit_id, o in asked.items() if o.answer == "done" and commit_id not in ids]
        assert not missing, f"done and not in the log: {missing}"

    def figures(self) -> Counter[str]:
        commits = Counter(o.answer for o in self.history if isinstance(o.call, Commit))
        return Counter(
            operations=len(self.history),
            done=commits["done"],
            conflict=commits["conflict"],
            busy=commits["busy"],
            lost=commits[None],
            recovered=self.recovered,
            concurrent=_concurrent(self.history),
        )


def record(
    stores: Sequence[Repository[Record]],
    observer: Repository[Record],
    subject: str,
    make: Make[Record],
    *,
    seed: object,
    operations: int,
) -> Recording:
    """One client a store, all starting at once; `operations` altogether.

    The observer loses no answers: it says where the record begins and what the log told.
    """
    assert operations % len(stores) == 0
    moments, numbers, together = count(), count(1), Barrier(len(stores))
    found = observer.read(subject)
    clients = [
        Client(f"c{n}", store, subject, make, Random(f"{seed}-{n}"), moments, numbers)
        for n, store in enumerate(stores)
    ]

    def run(client: Client[Record]) -> None:
        together.wait(START_TIMEOUT_S)
        client.work(operations // len(stores))

    with ThreadPoolExecutor(len(clients)) as threads:
        for ended in [threads.submit(run, client) for client in clients]:
            ended.result()
    return Recording(
        VersionedRegister(found.version, found.commit_id),
        [operation for client in clients for operation in client.history],
        [(logged.version, logged.commit_id) for logged in observer.events(subject)],
        sum(client.recovered for client in clients),
    )


def _concurrent(history: Sequence[Registered]) -> int:
    """How many answered operations had the moment of another in their midst."""
    moments = sorted(moment for o in history for moment in (o.called_at, o.returned_at) if moment != inf)
    place = {moment: n for n, moment in enumerate(moments)}
    return sum(1 for o in history if o.answer is not None and place[o.returned_at] > place[o.called_at] + 1)
