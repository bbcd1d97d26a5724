"""The lock spares work: effects wait for it, and it is renewed at half time."""

from dataclasses import dataclass, replace

from holdfast.kernel import FREE, Do, Done, Lock, Wait, Write, thrifty


@dataclass(frozen=True)
class Record:
    lock: Lock = FREE
    open: bool = True

    def with_lock(self, lock: Lock) -> "Record":
        return replace(self, lock=lock)


def step(record: Record, seen: None, now_s: float) -> Write[Record] | Do[str] | Wait | Done:
    return Do(("drain",)) if record.open else Done()


mine = thrifty(step, owner="me", ttl_s=300)


def test_the_lock_is_taken_before_the_first_effect() -> None:
    ahead = mine(Record(), None, 1_000.0)

    assert isinstance(ahead, Write)
    assert ahead.value.lock == Lock("me", 1_300.0)
    assert mine(ahead.value, None, 1_001.0) == Do(("drain",))


def test_another_waits_until_it_expires_and_then_goes_on_with_the_same_action() -> None:
    held = Record(lock=Lock("another", 1_300.0))

    assert mine(held, None, 1_000.0) == Wait(1_300.0, "another is at work on it")
    resumed = mine(held, None, 1_300.0)
    assert isinstance(resumed, Write)
    assert resumed.value == replace(held, lock=Lock("me", 1_600.0)), "nothing but the lock has changed"


def test_it_is_renewed_at_half_time() -> None:
    record = Record(lock=Lock("me", 1_300.0))

    assert mine(record, None, 1_149.0) == Do(("drain",))
    assert isinstance(mine(record, None, 1_151.0), Write)


def test_nothing_to_do_needs_no_lock() -> None:
    assert mine(Record(open=False), None, 1_000.0) == Done()
