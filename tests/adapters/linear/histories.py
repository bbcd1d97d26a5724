"""Histories to check: recorded from a register that works, and bent afterwards."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import chain, combinations, count, permutations
from math import inf
from random import Random
from typing import Any, TypeVar

from holdfast.testing.linear import Commit, Operation, Read, RegisterAnswer, RegisterCall, Stored

S = TypeVar("S")
Registered = Operation[RegisterCall, RegisterAnswer]
Rule = Callable[[S, Any, Any], Iterable[S]]


@dataclass
class Client:
    name: str
    known: int = 0
    call: RegisterCall | None = None
    called_at: float = 0.0
    answer: RegisterAnswer | None = None
    took_effect: bool = False


@dataclass
class Recorder:
    """Clients of one true register, stepped in random order by a logical clock.

    A client calls, its call takes effect, it gets the answer: three steps of the clock
    with any number of other clients' steps between them.  An answer may be lost before or
    after the effect, or the effect may come long after the client went on.
    """

    random: Random
    clients: int
    lost_share: float = 0.0
    stored: Stored = (0, "")
    history: list[Registered] = field(default_factory=list)
    late: list[Commit] = field(default_factory=list)

    def record(self, operations: int) -> list[Registered]:
        clients = [Client(f"c{n}") for n in range(self.clients)]
        for now in count():
            if self.late and self.random.random() < 0.05:
                self._effect(self.late.pop(self.random.randrange(len(self.late))))
            client = self.random.choice(clients)
            if client.call is None:
                if len(self.history) + sum(c.call is not None for c in clients) < operations:
                    self._begin(client, float(now))
                elif all(c.call is None for c in clients):
                    return self.history
            elif self.random.random() < self.lost_share:
                self._lose(client)
            elif client.took_effect:
                self._end(client, float(now))
            else:
                client.answer = self._effect(client.call)
                client.took_effect = True
        raise AssertionError("the clock ended")

    def _begin(self, client: Client, now: float) -> None:
        client.called_at, client.took_effect = now, False
        if self.random.random() < 0.5:
            client.call = Read()
        else:
            client.call = Commit(client.known, f"{client.name}@{now:g}")

    def _effect(self, call: RegisterCall) -> RegisterAnswer:
        if isinstance(call, Read):
            return self.stored
        if self.random.random() < 0.1:
            return "busy"
        if call.expected != self.stored[0]:
            return "conflict"
        self.stored = (call.expected + 1, call.commit_id)
        return "done"

    def _lose(self, client: Client) -> None:
        assert client.call is not None
        self.history.append(Operation(client.name, client.call, client.called_at, inf, None))
        if not client.took_effect and isinstance(client.call, Commit) and self.random.random() < 0.5:
            self.late.append(client.call)
        client.call = None

    def _end(self, client: Client, now: float) -> None:
        assert client.call is not None
        self.history.append(Operation(client.name, client.call, client.called_at, now, client.answer))
        if isinstance(client.answer, tuple):
            client.known = client.answer[0]
        elif client.answer == "done":
            client.known += 1
        client.call = None


def bent(history: list[Registered], random: Random) -> list[Registered]:
    """The same history with one answer changed, or one operation moved in time."""
    victims = [n for n, operation in enumerate(history) if operation.answer is not None]
    if not victims:
        return history
    n = random.choice(victims)
    victim = history[n]
    others = [o.answer for o in history if isinstance(o.answer, tuple)]
    if random.random() < 0.3:
        shift = random.choice([-6.5, -3.5, 3.5, 6.5])
        changed = replace(victim, called_at=victim.called_at + shift, returned_at=victim.returned_at + shift)
    elif isinstance(victim.call, Read):
        changed = replace(victim, answer=random.choice([*others, (1, "no one's")]))
    else:
        changed = replace(victim, answer="conflict" if victim.answer == "done" else "done")
    return [*history[:n], changed, *history[n + 1 :]]


def some_order_fits(rule: Rule[S], start: S, history: list[Operation[Any, Any]]) -> bool:
    """Brute force: every choice of lost operations, in every order that respects time."""
    answered = [operation for operation in history if operation.answer is not None]
    lost = [operation for operation in history if operation.answer is None]
    chosen = chain.from_iterable(combinations(lost, size) for size in range(len(lost) + 1))
    return any(
        _respects_time(order) and _fits(rule, start, order)
        for some in chosen
        for order in permutations([*answered, *some])
    )


def _respects_time(order: tuple[Operation[Any, Any], ...]) -> bool:
    return not any(later.returned_at < earlier.called_at for earlier, later in combinations(order, 2))


def _fits(rule: Rule[S], start: S, order: tuple[Operation[Any, Any], ...]) -> bool:
    states = [start]
    for operation in order:
        states = [after for state in states for after in rule(state, operation.call, operation.answer)]
    return bool(states)


def register_rule(state: Stored, call: RegisterCall, answer: RegisterAnswer | None) -> list[Stored]:
    """What a record promises, said a second time and in other words than the model's."""
    if answer == "busy":
        return [state]
    if isinstance(call, Read):
        return [state] if answer in (None, state) else []
    wins = call.expected == state[0]
    moved = (call.expected + 1, call.commit_id)
    if answer is None:
        return [state, moved] if wins else [state]
    if answer == "done":
        return [moved] if wins else []
    return [] if wins else [state]
