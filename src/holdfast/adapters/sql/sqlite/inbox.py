"""The embedded inbox: a row a notice, in the file of the cluster's record."""

from collections.abc import Sequence
from typing import Final

from holdfast.adapters.sql.sqlite.database import Database
from holdfast.cloud import Notice, NoticeKind

KEPT_S: Final = 86_400
KNOWN: Final = frozenset(NoticeKind)


class SqliteInbox:
    """See `holdfast.autoscaler.ports.Inbox`.  What was not folded into a record within a day is dropped."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, notices: Sequence[Notice]) -> None:
        if not notices:
            return
        with self._database.transaction() as db:
            db.execute("DELETE FROM notices WHERE at_s < now_s() - ?", (KEPT_S,))
            db.executemany(
                "INSERT OR IGNORE INTO notices VALUES (?, ?, ?, ?, ?)",
                [(each.key, each.instance_id, each.kind, each.at_s, each.deadline_s) for each in notices],
            )

    def waiting(self) -> Sequence[Notice]:
        rows = self._database.rows("SELECT instance_id, kind, at_s, deadline_s FROM notices ORDER BY key")
        return [
            Notice(instance_id, NoticeKind(kind), at_s, deadline_s)
            for instance_id, kind, at_s, deadline_s in rows
            if kind in KNOWN  # a newer release may know more, and it is for that one
        ]

    def forget(self, keys: Sequence[str]) -> None:
        with self._database.transaction() as db:
            db.executemany("DELETE FROM notices WHERE key = ?", [(key,) for key in keys])
