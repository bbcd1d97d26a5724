"""The rows of a KCL lease table, as values: what of a stream is readable now, and how many rows fill a cap.

A KCL counts every row against its cap, those of ended shards too, until it deletes them.  A child
shard is read only after its parents: until then its row waits.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

SHARD_END: Final = "SHARD_END"
"""The checkpoint of a shard that was read to its end."""
NO_HOLDS: Final[Mapping[str, int]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Lease:
    """One row of the KCL's table; rows of other kinds in the same table are none of these."""

    key: str
    """The shard's id; in a table of several streams the KCL puts the stream before it."""
    checkpoint: str = ""
    owner: str = ""
    """The worker that holds it; empty: none does."""
    parents: frozenset[str] = frozenset()
    stream: str = ""
    """The stream's name, in a table of several; empty: the table has one."""

    @property
    def ended(self) -> bool:
        return self.checkpoint == SHARD_END


@dataclass(frozen=True, slots=True)
class LeaseTable:
    """A lease table in numbers; all of them 0 where there is no table."""

    rows: int = 0
    """All leases, ended ones and those of other streams too: they fill a KCL's cap all the same."""
    readable: int = 0
    """Shards of the stream that are read now: before their end, and without a parent before its end."""
    holds: Mapping[str, int] = field(default_factory=lambda: NO_HOLDS, hash=False)
    """How many leases before their end each worker holds."""


NO_LEASES: Final = LeaseTable()
"""There is no lease table, or it has another schema."""


def in_numbers(leases: Iterable[Lease], stream_name: str = "") -> LeaseTable:
    """What a KCL's rows come to for one stream.  A parent without a row was deleted after its end."""
    every = tuple(leases)
    unfinished = {lease.key for lease in every if not lease.ended}
    going = [lease for lease in every if not lease.ended]
    here = [lease for lease in going if lease.stream in ("", stream_name)]
    holds = Counter(lease.owner for lease in going if lease.owner)
    return LeaseTable(
        rows=len(every),
        readable=sum(unfinished.isdisjoint(lease.parents) for lease in here),
        holds=MappingProxyType(dict(sorted(holds.items()))),
    )
