"""A shell: tells what is due, until nothing is or the time is up.  It decides nothing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from holdfast.autoscaler.notifications.causes import Causes
from holdfast.autoscaler.notifications.message import Message
from holdfast.autoscaler.notifications.record import SUBJECT, Board
from holdfast.autoscaler.notifications.workflow import Plan, Send, workflow
from holdfast.kernel import (
    Busy,
    Clock,
    Conflict,
    Done,
    DriverPorts,
    Happened,
    HoldfastError,
    NewId,
    Outcome,
    Random,
    Unknown,
    Wait,
    advance,
)
from holdfast.kernel.ports import Repository

TURNS_MAX = 20
"""Of one delivery: what is left is told the next time."""

Together = Callable[[Sequence[Callable[[], Outcome]]], Sequence[Outcome]]


class Channel(Protocol):
    def send(self, message: Message) -> None:
        """See `Send`.  Raises Busy, Unknown, or Invalid for a plain no."""
        ...


@dataclass(frozen=True)
class Delivery:
    store: Repository[Board]
    channels: Mapping[str, Channel]
    cluster: str
    after_s: int
    clock: Clock
    new_id: NewId
    random: Random
    together: Together

    def run(self, owner: str, seen: Causes | None, *, until_s: float) -> float | None:
        """When something is due again; None: when the causes change.

        Raises Busy, Unknown or Corrupt of the store: what is due is told the next time.
        """
        plan = Plan(owner, self.cluster, tuple(self.channels), self.after_s)
        ports: DriverPorts[Board, Causes | None, Send] = DriverPorts(
            read=lambda: self.store.read(SUBJECT),
            look=lambda: seen,
            commit=lambda found, write, commit_id: self.store.commit(SUBJECT, found, write, commit_id),
            commit_id_at=lambda version: self.store.commit_id_at(SUBJECT, version),
            perform=lambda effects: self.together([partial(self._send, each) for each in effects]),
            pause=self.clock.sleep,
            now_s=self.clock.now_s,
            new_id=self.new_id,
            random=self.random,
        )
        for _ in range(TURNS_MAX):
            if self.clock.now_s() >= until_s:
                break
            try:
                ahead = advance(ports, workflow(plan))
            except Conflict:
                continue  # another process tells: read what is left
            if isinstance(ahead, Wait | Done):
                return ahead.until_s if isinstance(ahead, Wait) else None
        return self.clock.now_s()

    def _send(self, effect: Send) -> Outcome:
        """A plain no is a try that failed: it may be mended before the next one."""
        try:
            self.channels[effect.channel].send(effect.message)
            return Happened(None)
        except (Busy, Unknown) as error:
            return error
        except HoldfastError as error:
            return Busy(str(error))
