"""One worker of an app restarts its KCL at a time: a lock in the record.

It is advisory, and holds no time: it is the holder's for as long as the holder lives, as others see it
by its beats.
"""

from dataclasses import replace

from holdfast.kernel import Event, Write
from holdfast.leases.cap import Cap
from holdfast.leases.events import LeaseEvent
from holdfast.leases.rows import WorkerRow


def holder(row: WorkerRow) -> str:
    """What a worker calls itself in the lock: another process of the same id is another holder."""
    return f"{row.key}#{row.incarnation}"


def take(
    cap: Cap, own: WorkerRow, living: tuple[WorkerRow, ...], why: str, now_s: float
) -> Write[Cap] | None:
    """The write that takes the lock; None while another living worker holds it, or if we do."""
    if holds(cap, own) or (cap.restarting and cap.restarting in map(holder, living)):
        return None
    event = Event(LeaseEvent.RESTART_BEGUN, now_s, about=own.key, reason=why)
    return Write(replace(cap, restarting=holder(own)), (event,))


def holds(cap: Cap, own: WorkerRow) -> bool:
    return cap.restarting == holder(own)


def release(cap: Cap, own: WorkerRow, why: str, now_s: float) -> Write[Cap] | None:
    """The write that gives the lock back; None if it is not ours any more."""
    if not holds(cap, own):
        return None
    event = Event(LeaseEvent.RESTART_ENDED, now_s, about=own.key, reason=why)
    return Write(replace(cap, restarting=""), (event,))
