"""One SQLite file, shared by several processes: the embedded default of every store.

Here belong the file, its transactions and flat items.  What a record means is its codec's business, which is
handed in.  `caps` implements a port of a part, and is imported where it is needed.
"""

from holdfast.adapters.sql.sqlite.database import Database
from holdfast.adapters.sql.sqlite.items import SqliteItems

__all__ = ["Database", "SqliteItems"]
