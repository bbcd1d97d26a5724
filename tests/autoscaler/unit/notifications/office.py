"""Processes that tell operators by one record, and a channel that remembers what it took."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any

from holdfast.autoscaler.notifications import workflow as shipped
from holdfast.autoscaler.notifications.causes import Cause, Causes
from holdfast.autoscaler.notifications.message import Message
from holdfast.autoscaler.notifications.record import Board
from holdfast.kernel import Busy, Do, Done, Happened, Outcome, Wait, Write

NO_SPOT: Causes = {(Cause.NO_CAPACITY, "pool default"): "no spot capacity in any zone"}
CHANNELS = ("webhook", "sns")


class Died(Exception):
    """The process is gone; what it wrote stays."""


@dataclass
class Office:
    """One record, its channels, and time that is told."""

    module: Any = shipped
    now_s: float = 1_000_000.0
    board: Board = field(default_factory=Board)
    taken: list[tuple[str, Message]] = field(default_factory=list)
    answer: Callable[[str], Outcome] = lambda channel: Happened(None)
    commits: int = 0

    def plan(self, owner: str, channels: tuple[str, ...] = CHANNELS) -> Any:
        return self.module.Plan(owner, "shop", channels, 60)

    def run(
        self, seen: Causes | None, owner: str = "a", *, dies_after: int = 1_000, **said: Any
    ) -> Wait | Done:
        """Until nothing is due; or dead after so many commits and messages."""
        plan = self.plan(owner, **said)
        left = dies_after
        while True:
            ahead = self.module.step(self.board, seen, plan, self.now_s)
            if isinstance(ahead, Wait | Done):
                return ahead
            for act in self._acts(ahead):
                if not left:
                    raise Died
                left -= 1
                act()

    def _acts(self, ahead: Write[Board] | Do[Any]) -> Iterator[Callable[[], None]]:
        if isinstance(ahead, Write):
            yield lambda: self._commit(ahead)
            return
        for effect in ahead.effects:
            outcome: list[Outcome] = []
            yield partial(self._send, effect, outcome)
            yield partial(self._note, effect, outcome)

    def _send(self, effect: Any, became: list[Outcome]) -> None:
        outcome = self.answer(effect.channel)
        if isinstance(outcome, Happened):
            self.taken.append((effect.channel, effect.message))
        became.append(outcome)

    def _note(self, effect: Any, became: list[Outcome]) -> None:
        write = self.module.settle(self.board, effect, became[0], self.now_s)
        if write is not None:
            self._commit(write)

    def _commit(self, write: Write[Board]) -> None:
        self.board = write.value
        self.commits += 1

    def stages(self, channel: str = "webhook") -> list[str]:
        """What the channel took, each message once: a receiver knows them by their ids."""
        seen: dict[str, str] = {}
        for name, message in self.taken:
            if name == channel:
                seen.setdefault(message.id, message.stage)
        return list(seen.values())


def refusing(*channels: str) -> Callable[[str], Outcome]:
    return lambda channel: Busy("HTTP 503") if channel in channels else Happened(None)


def one_cause_with_its_end(module: ModuleType | Any = shipped) -> None:
    """The whole story, with every death in it: one message when it begins, one when it has ended."""
    for first in range(14):
        for second in range(14):
            office = Office(module)
            _lives(office, NO_SPOT, first)
            office.now_s += 61
            _lives(office, NO_SPOT, second)
            for _ in range(4):
                office.now_s += 60
                office.run(NO_SPOT, "later")
            assert office.stages() == ["begun"], (first, second, office.stages())
            _lives(office, {}, first)
            for _ in range(4):
                office.now_s += 60
                office.run({}, "last")
            assert office.stages() == ["begun", "over"], (first, second, office.stages())
            assert office.stages("sns") == ["begun", "over"], (first, second)
            assert office.board == Board(), office.board


def _lives(office: Office, seen: Causes, acts: int) -> None:
    with suppress(Died):
        office.run(seen, f"victim-{office.now_s}-{acts}", dies_after=acts)
