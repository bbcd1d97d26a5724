"""What all parts mean by the same words.

Here belong the words (record, write, event, outcome), the one driver, and the contract
that every repository keeps.  No I/O, no clock, no cloud: the import contract allows
nothing but the standard library's data modules.  What only one part needs belongs to
that part.
"""

from holdfast.kernel.driver import AsyncDriverPorts, DriverPorts, advance, advance_async
from holdfast.kernel.errors import Busy, Conflict, Corrupt, HoldfastError, Invalid, Refused, Unknown
from holdfast.kernel.event import Event, EventKind, Logged, Severity
from holdfast.kernel.lock import FREE, Lock
from holdfast.kernel.ports import Clock, NewId, Random, Repository
from holdfast.kernel.step import Ahead, Do, Done, Happened, Outcome, Wait, Workflow
from holdfast.kernel.write import Versioned, Write

__all__ = [
    "FREE",
    "Ahead",
    "AsyncDriverPorts",
    "Busy",
    "Clock",
    "Conflict",
    "Corrupt",
    "Do",
    "Done",
    "DriverPorts",
    "Event",
    "EventKind",
    "Happened",
    "HoldfastError",
    "Invalid",
    "Lock",
    "Logged",
    "NewId",
    "Outcome",
    "Random",
    "Refused",
    "Repository",
    "Severity",
    "Unknown",
    "Versioned",
    "Wait",
    "Workflow",
    "Write",
    "advance",
    "advance_async",
]
