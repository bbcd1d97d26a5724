"""The promotion inside a commit: the body of the seed's `promote_instance_to_primary`.

MariaDB, MySQL and PostgreSQL have it as a procedure, which takes one round trip; SQLite runs the same
statements one after the other.  It is called inside the caller's transaction and ends none.
"""

from typing import Final

from holdfast.adapters.sql.connection import Dialect, Failure, Trouble
from holdfast.adapters.sql.database import Transaction

BY_PROCEDURE: Final = frozenset({"mysql", "postgresql"})


def promote(
    dialect: Dialect, tx: Transaction, *, subject: str, instance_id: str, expected: int, fenced: str
) -> None:
    """Demote whatever is primary, then make this instance promoting.

    Raises Trouble: STALE_VERSION (45001), LEASE_RUNS (45002) while the lease of another instance runs,
    unless that one is fenced, or NOT_PROMOTABLE (45003).
    """
    values = {"id": subject, "instance_id": instance_id}
    if dialect.name in BY_PROCEDURE:
        tx.run("promote_body", **values, expected=expected, fenced=fenced)
        return
    ((version,),) = tx.rows("promote_check_version", id=subject)
    if (version if version is not None else -1) != expected:
        raise Trouble(Failure.STALE_VERSION, f"{subject}: version {version} is stored, not {expected}")
    for (other,) in tx.rows("promote_check_leases", **values, fenced=fenced):
        raise Trouble(Failure.LEASE_RUNS, f"{subject}: the lease of {other} still runs")
    tx.run("promote_demote", **values)
    if tx.count("promote_promote", **values) != 1:
        raise Trouble(Failure.NOT_PROMOTABLE, f"{subject}: {instance_id} is no replica that can be promoted")
