"""The cap: how many leases one worker may hold, and the record of what is agreed."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from holdfast.kernel import Event, Invalid
from holdfast.kernel.item import Attribute, Codec, Item, Kind
from holdfast.leases.events import LeaseEvent

LIMIT: Final = 80
"""More leases than this overload one worker, whatever the arithmetic says.  `MAX_LEASES_LIMIT` is another."""
COORDINATOR: Final = "_coordinator"


@dataclass(frozen=True, slots=True)
class View:
    """What one worker counted: shards, and workers to share them."""

    shards: int
    workers: int
    limit: int = LIMIT
    """The most leases that one worker may hold."""

    def __post_init__(self) -> None:
        if self.shards < 1 or self.workers < 1:
            raise ValueError(
                f"a view needs a shard and a worker at least, not {self.shards} and {self.workers}"
            )
        if self.limit < 1:
            raise ValueError(f"a worker must be allowed a lease at least, not {self.limit}")

    @property
    def shards_per_worker(self) -> int:
        """Before the limit."""
        return -(-self.shards // self.workers)

    @property
    def max_leases_per_worker(self) -> int:
        return min(self.limit, self.shards_per_worker)

    @property
    def unread(self) -> int:
        """Shards that no worker may hold under this cap."""
        return max(0, self.shards - self.max_leases_per_worker * self.workers)

    @property
    def workers_needed(self) -> int:
        """How many workers would leave no shard unread."""
        return -(-self.shards // self.limit)

    @property
    def generosity(self) -> tuple[int, int, int, int]:
        """Views in an order that every worker agrees on: the most generous is the greatest."""
        return self.max_leases_per_worker, self.shards, -self.workers, self.limit

    @property
    def counts(self) -> str:
        return f"{self.shards}/{self.workers}"


@dataclass(frozen=True, slots=True)
class Cap:
    """The agreed cap, and the counts it follows from; no view before the first agreement."""

    view: View | None = None
    agreement: int = 0
    """How often the counts were agreed on anew.  A worker's row names the one that it has seen."""
    unread: int = 0
    """Shards that stay unread, as the last alarm said; 0: none do."""
    restarting: str = ""
    """The worker that restarts its KCL now, and its incarnation; empty: none does."""
    stored: int | None = None
    """The number that was stored, where it does not follow from the counts beside it."""

    @property
    def max_leases_per_worker(self) -> int:
        return self.view.max_leases_per_worker if self.view else 0


COUNTS = (
    Attribute("max_leases_per_worker", Kind.COUNT),
    Attribute("shard_count", Kind.COUNT),
    Attribute("worker_count", Kind.COUNT),
    Attribute("maxLeasesLimit", Kind.COUNT),
    Attribute("agreement", Kind.COUNT),
)
"""What the agreed row and a worker's own have in common."""
ATTRIBUTES = (*COUNTS, Attribute("unread", Kind.COUNT), Attribute("lockOwner", Kind.TEXT))


def encode_view(view: View) -> Item:
    counts = {"shard_count": view.shards, "worker_count": view.workers}
    return counts if view.limit == LIMIT else {**counts, "maxLeasesLimit": view.limit}


def decode_view(item: Item) -> View:
    """Raises ValueError for counts that make no sense."""
    return View(
        number(item, "shard_count"), number(item, "worker_count"), number(item, "maxLeasesLimit", LIMIT)
    )


def number(item: Item, name: str, otherwise: int = 0) -> int:
    """A checked whole number."""
    value = item.get(name, otherwise)
    assert isinstance(value, int | float)
    return int(value)


def encode(cap: Cap) -> Item:
    beside: Item = {
        **({"agreement": cap.agreement} if cap.agreement else {}),
        **({"unread": cap.unread} if cap.unread else {}),
        **({"lockOwner": cap.restarting} if cap.restarting else {}),
    }
    if cap.view is None:
        return beside
    held = cap.max_leases_per_worker if cap.stored is None else cap.stored
    return {"max_leases_per_worker": held, **encode_view(cap.view), **beside}


def decode(item: Item) -> Cap:
    agreed = "shard_count" in item or "worker_count" in item
    view = decode_view(item) if agreed else None
    held = number(item, "max_leases_per_worker") if "max_leases_per_worker" in item or agreed else None
    follows = view.max_leases_per_worker if view else None
    return Cap(
        view,
        agreement=number(item, "agreement"),
        unread=number(item, "unread"),
        restarting=str(item.get("lockOwner", "")),
        stored=None if held == follows or view is None else held,
    )


CODEC: Codec[Cap] = Codec(
    attributes=ATTRIBUTES,
    first=Cap(),
    encode=encode,
    decode=decode,
    guarded_attributes=("shard_count", "worker_count"),
)


def coordinator(app_name: str) -> str:
    """The subject under which an app's workers agree; each stream has a table of its own."""
    return f"{app_name}{COORDINATOR}"


def tell_of_an_agreement(events: Iterable[Event]) -> bool:
    """Whether the agreement itself changes with them: an alarm or a turn stands beside it."""
    return any(event.kind in (LeaseEvent.CAP_AGREED, LeaseEvent.CAP_RECOMPUTED) for event in events)


def refuse_reserved(worker_id: str) -> None:
    """Raises Invalid for an id that would hide an agreed record, this app's or another's."""
    if not worker_id.strip():
        raise Invalid(
            "worker_id is empty: give WORKER_ID, POD_NAME or HOSTNAME, or worker_id in [leases] of "
            "holdfast.toml"
        )
    if worker_id.endswith(COORDINATOR):
        raise Invalid(
            f"worker_id {worker_id!r} ends in {COORDINATOR}, as agreed records do: choose another worker id"
        )
