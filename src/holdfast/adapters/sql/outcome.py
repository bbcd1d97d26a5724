"""What a failure of a database means for the caller: a Conflict, Busy, Unknown or Corrupt."""

from holdfast.adapters.sql.connection import Failure, Trouble
from holdfast.kernel import Busy, Conflict, Corrupt, HoldfastError, Unknown


def before_commit(where: str, trouble: Trouble) -> HoldfastError:
    """Nothing was written: what was not committed is rolled back with its connection, too."""
    said = f"{where}: {trouble}"
    match trouble.failure:
        case Failure.STALE_VERSION | Failure.NOT_PROMOTABLE | Failure.DUPLICATE:
            return Conflict(said)
        case Failure.COLLIDED | Failure.UNREACHABLE | Failure.LOST | Failure.LEASE_RUNS:
            return Busy(said)
        case Failure.WRONG:
            return Corrupt(table=where, problem=f"{trouble}. Nothing was changed")


def of_commit(where: str, trouble: Trouble) -> HoldfastError:
    """The commit was asked for: only a clear refusal is one."""
    if trouble.failure is Failure.LOST:
        return Unknown(f"{where}: commit: {trouble}")
    return before_commit(where, trouble)
