"""The agreed cap of an app and a row a worker: `holdfast.leases.ports.CapStore` in SQLite."""

import json
import sqlite3
from typing import Any, Final

from holdfast.adapters.clock import seed_time
from holdfast.adapters.sql.sqlite.database import Database
from holdfast.adapters.sql.sqlite.items import SqliteItems
from holdfast.kernel import Conflict, Write
from holdfast.kernel.item import Item
from holdfast.leases import cap as cap_codec
from holdfast.leases import rows as row_codec
from holdfast.leases.cap import Cap, tell_of_an_agreement
from holdfast.leases.ports import WriteRow
from holdfast.leases.rows import Rows, WorkerRow

ROW_KEPT_S: Final = 7 * 24 * 3600
"""A row that has not been written for so long goes when another worker joins, as DynamoDB's expiry does."""
EXPIRE: Final = (
    "DELETE FROM records WHERE collection = ?"
    " AND CASE WHEN json_valid(body) THEN body ->> 'expiresEpoch' END < ?"
)


class SqliteCapStore(SqliteItems[Cap]):
    """The embedded CapStore of one app and stream: the agreed cap, and a row a worker."""

    def __init__(self, database: Database, *, stream_name: str, app_name: str, table: str = "") -> None:
        def beside(subject: str, write: Write[Cap]) -> Item:
            changed = tell_of_an_agreement(write.events)
            return self._named(write.events[0].at_s if changed else None)

        super().__init__(database, table or f"{stream_name}_meta", cap_codec.CODEC, beside=beside)
        self._app_name, self._stream_name = app_name, stream_name

    def rows(self) -> Rows:
        found = self.database.rows(
            "SELECT subject, version, commit_id, body FROM records WHERE collection = ? ORDER BY subject",
            self.collection,
        )
        return row_codec.read_rows(
            ((subject, _item(version, commit_id, body)) for subject, version, commit_id, body in found),
            table=self._where, app_name=self._app_name, stream_name=self._stream_name,
        )  # fmt: skip

    def write_row(self, effect: WriteRow, at_s: float) -> None:
        row = effect.row
        with self.database.transaction() as db:
            stands = self._row(db, row.key)
            if not self._may_write(stands, effect):
                raise Conflict(f"{self.collection} {row.key}: another row stands there")
            expires = {"expiresEpoch": int(at_s) + ROW_KEPT_S} if row.beats else {}
            body = {**self._foreign_of(stands), **self._named(at_s), **expires, **row_codec.encode(row)}
            if stands is None:
                db.execute(EXPIRE, (self.collection, int(at_s)))
            self._put(db, row.key, body.pop("version", 0), body.pop("commitId", ""), body)

    def delete_row(self, row: WorkerRow) -> None:
        with self.database.transaction() as db:
            stands = self._row(db, row.key)
            if stands is None:
                return
            if not self._is_ours(stands, row.incarnation):
                raise Conflict(f"{self.collection} {row.key}: another row stands there")
            db.execute("DELETE FROM records WHERE collection = ? AND subject = ?", (self.collection, row.key))

    def _row(self, db: sqlite3.Connection, key: str) -> dict[str, Any] | None:
        found = db.execute(
            "SELECT version, commit_id, body FROM records WHERE collection = ? AND subject = ?",
            (self.collection, key),
        ).fetchone()
        return _item(*found) if found else None

    def _may_write(self, stands: dict[str, Any] | None, effect: WriteRow) -> bool:
        """Whether the row found still stands there, or an older beat of this very process."""
        row = effect.row
        if stands is not None and row.beats and stands.get("incarnation") == row.incarnation:
            return self._is_ours(stands, row.incarnation) and stands.get("heartbeat", 0) < row.heartbeat
        return self._is_ours(stands, effect.over) or self._is_ours(stands, row.incarnation)

    def _is_ours(self, stands: dict[str, Any] | None, incarnation: str | None) -> bool:
        """Whether what stands there is a row of this app and stream with that incarnation; None: no row."""
        if stands is None or incarnation is None:
            return stands is None and incarnation is None
        named = (stands.get("app_name"), stands.get("stream_name"))
        return named == (self._app_name, self._stream_name) and stands.get("incarnation", "") == incarnation

    def _foreign_of(self, stands: dict[str, Any] | None) -> dict[str, Any]:
        """Attributes that a newer release wrote: kept as they are."""
        return {
            name: value
            for name, value in (stands or {}).items()
            if name not in (*row_codec.NAMES, "expiresEpoch")
        }

    def _named(self, at_s: float | None) -> dict[str, Any]:
        """None: the time that stands there stays."""
        time = {} if at_s is None else {"last_update_time": seed_time(at_s)}
        return {"stream_name": self._stream_name, "app_name": self._app_name, **time}


def _item(version: int, commit_id: str, body: str) -> dict[str, Any]:
    """A stored row as one item; one that is no JSON object has nothing in it."""
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    item: dict[str, Any] = found if isinstance(found, dict) else {}
    return {**item, **({"version": version, "commitId": commit_id} if version else {})}
