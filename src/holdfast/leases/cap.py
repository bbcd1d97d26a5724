"""The cap: how many leases one worker may hold."""

from dataclasses import dataclass
from typing import Final

from holdfast.kernel import Invalid
from holdfast.kernel.item import Attribute, Codec, Item, Kind

CAP_MAX: Final = 80
"""More shards than this overload one worker, whatever the arithmetic says."""


@dataclass(frozen=True, slots=True)
class View:
    """What one worker counted: open shards, and workers to share them."""

    shards: int
    workers: int

    def __post_init__(self) -> None:
        if self.shards < 1 or self.workers < 1:
            raise ValueError(
                f"a view needs a shard and a worker at least, not {self.shards} and {self.workers}"
            )

    @property
    def max_leases_per_worker(self) -> int:
        return min(CAP_MAX, -(-self.shards // self.workers))

    @property
    def unread(self) -> int:
        """Shards that no worker may hold under this cap."""
        return max(0, self.shards - self.max_leases_per_worker * self.workers)

    @property
    def workers_needed(self) -> int:
        """How many workers would leave no shard unread."""
        return -(-self.shards // CAP_MAX)


@dataclass(frozen=True, slots=True)
class Cap:
    """The agreed cap, and the counts it follows from; None before the first agreement."""

    view: View | None = None

    @property
    def max_leases_per_worker(self) -> int:
        return self.view.max_leases_per_worker if self.view else 0


ATTRIBUTES = (
    Attribute("max_leases_per_worker", Kind.COUNT),
    Attribute("shard_count", Kind.COUNT),
    Attribute("worker_count", Kind.COUNT),
)


def encode(cap: Cap) -> Item:
    if cap.view is None:
        return {}
    return {
        "max_leases_per_worker": cap.max_leases_per_worker,
        "shard_count": cap.view.shards,
        "worker_count": cap.view.workers,
    }


def decode(item: Item) -> Cap:
    if "shard_count" not in item and "worker_count" not in item:
        return Cap()
    shards, workers = item.get("shard_count", 0), item.get("worker_count", 0)
    assert isinstance(shards, int | float)
    assert isinstance(workers, int | float)
    return Cap(View(int(shards), int(workers)))


CODEC: Codec[Cap] = Codec(
    attributes=ATTRIBUTES,
    first=Cap(),
    encode=encode,
    decode=decode,
    guarded_attributes=("shard_count", "worker_count"),
)


def coordinator(app_name: str) -> str:
    """The subject under which an app's workers agree; each stream has a table of its own."""
    return f"{app_name}_coordinator"


def worker_subject(app_name: str, worker_id: str) -> str:
    """The key of a worker's own row; raises Invalid for an id that would hide the agreed record."""
    if worker_id == coordinator(app_name):
        raise Invalid(f"worker_id {worker_id!r} is the name of the agreed record: choose another worker id")
    return worker_id
