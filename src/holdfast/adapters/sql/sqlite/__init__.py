"""One SQLite file, shared by several processes: the embedded default of every store.

Here belong the file, its transactions and flat items.  What a record means is its codec's business, which is
handed in.  `groups` and `caps` implement ports of parts, and are imported where they are needed.
"""

from holdfast.adapters.sql.sqlite.database import Database
from holdfast.adapters.sql.sqlite.items import SqliteItems

__all__ = ["Database", "SqliteItems"]
