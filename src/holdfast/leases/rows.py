"""A row a worker, beside the agreed one: who it is, what it counted, what is in force there, and its beat.

A row that makes no sense, or that belongs to another app or stream, is named and left alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from holdfast.kernel import Corrupt, Invalid
from holdfast.kernel.item import Attribute, Codec, Item, Kind
from holdfast.leases.cap import COORDINATOR, COUNTS, View, coordinator, decode_view, encode_view, number


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRow:
    """A worker's own row: its vote, and the cap in force there."""

    key: str
    """The worker's id; `<app>/<id>` where another has that."""
    view: View
    """What this worker would agree on; of a worker that looks only at its start, what was agreed then."""
    max_leases_per_worker: int
    """The cap in force; 0: none yet."""
    agreement: int = 0
    """The last agreement that it has seen; its vote is newer than that."""
    version: int = 0
    commit_id: str = ""
    """Of the agreed record, when this cap came into force."""
    incarnation: str = ""
    """Which process of this id it is; empty: one that looks only at its start, and never beats."""
    heartbeat: int = 0
    holds: int | None = None
    """How many leases it holds, where that is known."""
    told: int | None = None
    """What its KCL was told, where it has one."""
    last_update_time: str = ""
    """For people; never compared."""

    @property
    def beats(self) -> bool:
        return bool(self.incarnation)

    @property
    def in_force(self) -> int:
        """How many leases this worker may really hold."""
        return self.max_leases_per_worker if self.told is None else self.told


@dataclass(frozen=True, slots=True)
class Rows:
    """One look at the whole table."""

    own: Mapping[str, WorkerRow]
    """The workers of this app and stream."""
    taken: Mapping[str, str]
    """Keys that are not ours to write, and whose they are."""
    problems: tuple[str, ...] = ()
    """Rows that make no sense, each with its fix."""
    agreed_for: tuple[str, str] | None = None
    """App and stream of the agreed row, as it says."""


ATTRIBUTES: Final = (
    *COUNTS,
    Attribute("app_name", Kind.TEXT, required=True),
    Attribute("stream_name", Kind.TEXT, required=True),
    Attribute("last_update_time", Kind.TEXT),
    Attribute("version", Kind.COUNT),
    Attribute("commitId", Kind.TEXT),
    Attribute("incarnation", Kind.TEXT),
    Attribute("heartbeat", Kind.COUNT),
    Attribute("holds", Kind.COUNT),
    Attribute("toldLeases", Kind.COUNT),
)
NAMES: Final = frozenset(attribute.name for attribute in ATTRIBUTES)


def encode(row: WorkerRow) -> Item:
    """Without what the store adds: the key, app, stream and times."""
    return {
        "max_leases_per_worker": row.max_leases_per_worker,
        **encode_view(row.view),
        **({"agreement": row.agreement} if row.agreement else {}),
        **({"version": row.version, "commitId": row.commit_id} if row.version else {}),
        **({"incarnation": row.incarnation, "heartbeat": row.heartbeat} if row.beats else {}),
        **({"holds": row.holds} if row.holds is not None else {}),
        **({"toldLeases": row.told} if row.told is not None else {}),
    }


def _decode(item: Item) -> WorkerRow:
    """The key is put in by the caller."""
    if "max_leases_per_worker" not in item:
        raise ValueError("max_leases_per_worker is missing")
    return WorkerRow(
        key="",
        view=decode_view(item),
        max_leases_per_worker=number(item, "max_leases_per_worker"),
        agreement=number(item, "agreement"),
        version=number(item, "version"),
        commit_id=str(item.get("commitId", "")),
        incarnation=str(item.get("incarnation", "")),
        heartbeat=number(item, "heartbeat"),
        holds=number(item, "holds") if "holds" in item else None,
        told=number(item, "toldLeases") if "toldLeases" in item else None,
        last_update_time=str(item.get("last_update_time", "")),
    )


CODEC: Final[Codec[WorkerRow]] = Codec(
    attributes=ATTRIBUTES,
    first=WorkerRow(key="", view=View(1, 1), max_leases_per_worker=0),
    encode=encode,
    decode=_decode,
    guarded_attributes=(),
)


def read_rows(
    items: Iterable[tuple[str, Mapping[str, Any]]], *, table: str, app_name: str, stream_name: str
) -> Rows:
    """All rows of a table, each by its key; agreed ones are no worker's."""
    own: dict[str, WorkerRow] = {}
    taken: dict[str, str] = {}
    problems: list[str] = []
    agreed_for = None
    for key, item in items:
        app, stream = str(item.get("app_name", "")), str(item.get("stream_name", ""))
        if key == coordinator(app_name):
            agreed_for = (app, stream)
        elif key.endswith(COORDINATOR):
            continue
        elif "app_name" in item and (app != app_name or item.get("stream_name", stream_name) != stream_name):
            taken[key] = f"a worker of app {app!r} on stream {stream!r}"
        else:
            try:
                own[key] = replace(CODEC.load(item, table=table, key=key), key=key)
            except Corrupt as problem:
                taken[key] = "a row that makes no sense"
                problems.append(str(problem))
    return Rows(own, taken, tuple(problems), agreed_for)


def own_key(rows: Rows, app_name: str, worker_id: str) -> str:
    """Under which key this worker's row stands: its id, or `<app>/<id>` where another has that.

    A row of this id that stands there already comes first: two processes of one id must meet.
    """
    keys = (worker_id, f"{app_name}/{worker_id}")
    for key in (*(key for key in keys if key in rows.own), *keys):
        if key not in rows.taken:
            return key
    raise Invalid(
        f"worker_id {worker_id!r}: {rows.taken[worker_id]} has this row, and {app_name}/{worker_id} is taken "
        "too: choose another worker id, or mend or delete these rows"
    )


def refuse_foreign(rows: Rows, *, table: str, app_name: str, stream_name: str) -> None:
    """Raises Invalid if the agreed row of this app is that of another stream, or no agreement of this app."""
    found = rows.agreed_for
    # A row without these names was not written by the seed's rules; its counts are judged by themselves.
    if found is not None and found != (app_name, stream_name) and any(found):
        raise Invalid(
            f"{table}: {coordinator(app_name)} is of app {found[0]!r} and stream {found[1]!r}, not of app "
            f"{app_name!r} and stream {stream_name!r}: give each stream its own table by META_TABLE, or "
            "delete that row"
        )
