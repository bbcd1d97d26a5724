"""Stores that lose answers: a gate of seeded fates, and a lock for a store without threads."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from random import Random
from threading import Lock
from time import sleep
from typing import Any, TypeVar

from holdfast.kernel import HoldfastError, Unknown
from holdfast.sim.gate import Fate, Kind, suffer

T = TypeVar("T")

PAUSE_MAX_S = 0.001
LATE_MAX_S = 0.01
FATES = {
    Kind.READ: ({Fate.WORKS: 96, Fate.ANSWER_LOST: 2, Fate.THROTTLED: 2}),
    Kind.CHANGE: (
        {Fate.WORKS: 70, Fate.ANSWER_LOST: 12, Fate.FAILS_BEFORE: 6, Fate.SLOW: 6, Fate.THROTTLED: 6}
    ),
}
"""SLOW: the client gives up first, and what it asked for is done later."""


class LosingGate:
    """A gate that draws each call's fate, and lets others in before and after it."""

    def __init__(self, random: Random, later: "Later") -> None:
        self._random, self._later = random, later

    def call(self, name: str, kind: Kind, run: Callable[[], T], stale: Callable[[], T] | None = None) -> T:
        chances = FATES[kind]
        (fate,) = self._random.choices(list(chances), weights=list(chances.values()))
        self._pause()
        if fate is Fate.SLOW:
            self._later.do(run, after_s=self._random.uniform(0, LATE_MAX_S))
            raise Unknown(f"{name}: no answer yet")
        answer = suffer(fate, name, run, stale)
        self._pause()
        return answer

    def _pause(self) -> None:
        if self._random.random() < 0.5:
            sleep(self._random.uniform(0, PAUSE_MAX_S))


class Later:
    """Does what no client waits for any more."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(4)
        self._calls: list[Future[Any]] = []

    def do(self, run: Callable[[], Any], *, after_s: float) -> None:
        def late() -> None:
            sleep(after_s)
            run()

        self._calls.append(self._threads.submit(late))

    def __enter__(self) -> "Later":
        return self

    def __exit__(self, *_: object) -> None:
        """All has been done; a refusal is allowed, anything else is a defect."""
        self._threads.shutdown()
        for call in self._calls:
            if error := call.exception():
                assert isinstance(error, HoldfastError), error


class Locked:
    """One call at a time, as the simulated world's scheduler gives it."""

    def __init__(self, store: Any) -> None:
        self._store, self._lock = store, Lock()

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._store, name)

        def alone(*arguments: Any) -> Any:
            with self._lock:
                return method(*arguments)

        return alone
