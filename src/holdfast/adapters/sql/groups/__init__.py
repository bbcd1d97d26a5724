"""Groups, their leases and their tenants in SQL: `GroupStore` and `Tenants` on each of the three databases.

Here belong rows and transactions.  Every transaction locks in the same order: the agent, its instances by id,
the client, the counter of changes.
"""

from holdfast.adapters.sql.groups.store import SqlGroupStore
from holdfast.adapters.sql.groups.tenants import SqlTenants

__all__ = ["SqlGroupStore", "SqlTenants"]
