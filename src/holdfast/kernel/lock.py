"""The lock: for thrift, never for safety.

It keeps two invocations from doing the same work at once.  When it expires, another may
*resume the same action*, never begin a second one over it.  Nothing breaks if two hold
it, or nobody does: the tests of every interleaving run without it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol, Self, TypeVar

from holdfast.kernel.event import Event
from holdfast.kernel.step import Do, Done, Wait
from holdfast.kernel.write import Write


@dataclass(frozen=True, slots=True)
class Lock:
    """Stored as `lockOwner` and `lockUntilEpoch`."""

    owner: str
    until_s: float

    def held_against(self, who: str, now_s: float) -> bool:
        return bool(self.owner) and self.owner != who and now_s < self.until_s


FREE: Final = Lock("", 0.0)


class Lockable(Protocol):
    """A record that carries a lock."""

    @property
    def lock(self) -> Lock: ...

    def with_lock(self, lock: Lock) -> Self: ...


Record = TypeVar("Record", bound=Lockable)
Seen = TypeVar("Seen")
Effect = TypeVar("Effect")
Step = Callable[[Record, Seen, float], Write[Record] | Do[Effect] | Wait | Done]


def thrifty(step: Step[Record, Seen, Effect], *, owner: str, ttl_s: float) -> Step[Record, Seen, Effect]:
    """The same step, but effects wait for the lock: taken before the first, renewed at half time."""

    def locked(record: Record, seen: Seen, now_s: float) -> Write[Record] | Do[Effect] | Wait | Done:
        lock = record.lock
        if lock.held_against(owner, now_s):
            return Wait(lock.until_s, f"{lock.owner} is at work on it")
        ahead = step(record, seen, now_s)
        fresh = lock.owner == owner and lock.until_s - now_s > ttl_s / 2
        if not isinstance(ahead, Do) or fresh:
            return ahead
        taken = record.with_lock(Lock(owner, now_s + ttl_s))
        return Write(taken, (Event("lockTaken", now_s, about=owner, numbers={"until_s": now_s + ttl_s}),))

    return locked
