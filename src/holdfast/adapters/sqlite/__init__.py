"""The embedded default: every store in one SQLite file, shared by several processes."""

from holdfast.adapters.sqlite.database import Database
from holdfast.adapters.sqlite.groups import SqliteGroupStore
from holdfast.adapters.sqlite.items import SqliteCapStore, SqliteItems, cluster_store

__all__ = ["Database", "SqliteCapStore", "SqliteGroupStore", "SqliteItems", "cluster_store"]
