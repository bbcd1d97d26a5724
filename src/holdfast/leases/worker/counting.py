"""All that one worker may touch, and one count of it."""

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.kernel import Clock, NewId, Random
from holdfast.leases.lease_rows import LeaseTable, in_numbers
from holdfast.leases.ports import CapStore, ExpectedWorkers, LeaseRows, NotKnown, ShardCount


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPorts:
    store: CapStore
    shards: ShardCount
    leases: LeaseRows
    expected: ExpectedWorkers
    clock: Clock
    mono_s: Callable[[], float]
    """A clock that never steps, and that no other process is compared with."""
    new_id: NewId
    random: Random
    stream_name: str = ""
    """Whose shards are counted, where a lease table has those of several streams."""


@dataclass(frozen=True, slots=True)
class Counted:
    """One look at the stream, the lease table and the workers' owner."""

    shards: int
    """The larger of those open and those readable now: a parent that is still read needs a lease too."""
    lease_table: LeaseTable
    expected: int | NotKnown


def count(ports: WorkerPorts) -> Counted:
    """Raises Busy if it could not be counted this time, and Invalid with the fix if it never can."""
    lease_table = in_numbers(ports.leases.leases(), ports.stream_name)
    shards = max(ports.shards.open_shards(), lease_table.readable)
    return Counted(shards, lease_table, ports.expected.expected())
