"""Records as flat items in SQLite, each with its events beside it."""

import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from holdfast.adapters.sql.sqlite.database import Database
from holdfast.kernel import Conflict, Corrupt, Logged, Versioned, Write
from holdfast.kernel.item import FIX, Codec, Item, load_version

Record = TypeVar("Record")

AS_TEXT = json.JSONEncoder(allow_nan=False).encode
"""Made once: `json.dumps` makes an encoder a call when it must refuse NaN."""


class SqliteItems(Generic[Record]):
    """A repository of one codec's records, in one collection."""

    def __init__(
        self,
        database: Database,
        collection: str,
        codec: Codec[Record],
        *,
        beside: Callable[[str, Write[Record]], Item] = lambda subject, write: {},
    ) -> None:
        """`beside` gives attributes that people read in the item and no decision needs."""
        self.database, self.collection, self._codec = database, collection, codec
        self._beside = beside
        self._behind: set[str] = set()
        """Records that were found behind their log, as one is that was restored to an earlier point."""

    def read(self, subject: str) -> Versioned[Record]:
        with self.database.transaction("DEFERRED") as db:
            stored, commit_id, body = self._find(db, subject)
            asks = stored is None or subject in self._behind
            last = self.database.last_told(db, self.collection, subject) if asks else 0
        where = {"table": self._where, "key": subject}
        value = self._codec.load(body, **where)
        version = load_version({"version": last if stored is None else stored}, **where)
        restored_from = version if last > version else None
        guarded = self._guarded_attributes(stored, body)
        return Versioned(value, max(version, last), commit_id, guarded, restored_from)

    def commit(
        self, subject: str, found: Versioned[Record], write: Write[Record], commit_id: str
    ) -> Versioned[Record]:
        version = found.version + 1
        known = self._codec.encode(write.value)
        with self.database.transaction() as db:
            stored, _, body = self._find(db, subject)
            now = stored
            if now is None or found.restored_from == now:
                now = self.database.last_told(db, self.collection, subject)
            if self.database.check_version(
                db, self.collection, subject, stored=now, expected=found.version, commit_id=commit_id
            ):
                if (
                    found.guarded_attributes
                    and self._guarded_attributes(stored, body) != found.guarded_attributes
                ):
                    raise Conflict(
                        f"{self.collection} {subject}: changed by something that knows no versions"
                    )
                if self.database.is_told(db, self.collection, subject, version):
                    # Record and log are always written together: the record alone was put back.
                    self._behind.add(subject)
                    raise Conflict(f"{self.collection} {subject}: version {version} is told already")
                item = {**self._foreign(body), **self._beside(subject, write), **known}
                self._put(db, subject, version, commit_id, item)
                self.database.tell(db, self.collection, subject, version, commit_id, write)
        return Versioned(write.value, version, commit_id, self._guarded_attributes(version, known))

    def commit_id_at(self, subject: str, version: int) -> str | None:
        return self.database.commit_id_at(self.collection, subject, version)

    def events(self, subject: str, after: int = 0) -> Sequence[Logged]:
        return self.database.events(self.collection, subject, after)

    @property
    def _where(self) -> str:
        """For messages."""
        return f"{self.database.path}:{self.collection}"

    def _find(self, db: sqlite3.Connection, subject: str) -> tuple[int | None, str, dict[str, Any]]:
        row = db.execute(
            "SELECT version, commit_id, body FROM records WHERE collection = ? AND subject = ?",
            (self.collection, subject),
        ).fetchone()
        if row is None:
            return None, "", {}
        try:
            body = json.loads(row[2])
        except ValueError:
            body = None
        if not isinstance(body, dict):
            problem = f"is {row[2]!r}; expected a JSON object. {FIX}"
            raise Corrupt(table=self._where, key=subject, attribute="body", problem=problem)
        return row[0], row[1], body

    def _put(
        self, db: sqlite3.Connection, subject: str, version: int, commit_id: str, body: Mapping[str, Any]
    ) -> None:
        db.execute(
            "INSERT INTO records VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE"
            " SET version = excluded.version, commit_id = excluded.commit_id, body = excluded.body",
            (self.collection, subject, version, commit_id, AS_TEXT(body)),
        )

    def _foreign(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Attributes that a newer release wrote: kept as they are."""
        if body.keys() <= self._codec.names:
            return {}
        return {name: value for name, value in body.items() if name not in self._codec.names}

    def _guarded_attributes(self, version: int | None, body: Mapping[str, Any]) -> dict[str, object]:
        return {"version": version, **{name: body.get(name) for name in self._codec.guarded_attributes}}
