"""The agreed cap of a stream and a row a worker: `holdfast.leases.ports.CapStore` in SQLite."""

from holdfast.adapters.sql.sqlite.database import Database
from holdfast.adapters.sql.sqlite.items import SqliteItems
from holdfast.leases import cap as cap_codec
from holdfast.leases.cap import Cap, View


class SqliteCapStore(SqliteItems[Cap]):
    """The embedded CapStore of one stream: the agreed cap, and a row a worker."""

    def __init__(self, database: Database, stream_name: str) -> None:
        super().__init__(database, f"{stream_name}_meta", cap_codec.CODEC)

    def save_worker(self, app_name: str, worker_id: str, view: View, at_s: float) -> None:
        row = {**cap_codec.encode(Cap(view)), "app_name": app_name, "last_update_s": at_s}
        with self.database.transaction() as db:
            self._put(db, cap_codec.worker_subject(app_name, worker_id), 0, "", row)

    def workers(self, app_name: str) -> dict[str, int]:
        found = self.database.rows(
            "SELECT subject, body ->> 'max_leases_per_worker' FROM records"
            " WHERE collection = ? AND body ->> 'app_name' = ? ORDER BY subject",
            self.collection, app_name,
        )  # fmt: skip
        return {worker_id: int(cap) for worker_id, cap in found}
