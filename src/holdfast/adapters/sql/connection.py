"""One session with a database, and what its failures mean, in the same words for every driver."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Protocol

LIMIT_S: Final = 5.0
"""No statement, no wait for a lock and no connection attempt lasts longer."""
SKIPPED_LIMIT_S: Final = 0.3
"""How long a batch of renewals goes on trying rows that another transaction holds."""
ANSWER_LIMIT_S: Final = LIMIT_S + 2.0
"""After so long without a word from the server its connection is taken for dead."""

NO_VALUES: Final[Mapping[str, Any]] = {}


class Failure(Enum):
    COLLIDED = "collided or timed out: nothing was written"
    UNREACHABLE = "no connection could be made"
    DUPLICATE = "a unique key stands in the way"
    LOST = "the connection is gone: whether a commit took place is unknown"
    STALE_VERSION = "45001"
    LEASE_RUNS = "45002"
    NOT_PROMOTABLE = "45003"
    WRONG = "the statement or the schema is wrong"


OWN: Final = {each.value: each for each in Failure if each.value.startswith("4500")}
"""The SQLSTATEs of `promote_instance_to_primary`."""


class Trouble(Exception):
    """What a driver raised.  It never leaves this package: see outcome.py."""

    def __init__(self, failure: Failure, message: str) -> None:
        super().__init__(message)
        self.failure = failure


class Begin(Enum):
    WRITE = "write"
    READ = "read"
    """One consistent picture of several tables."""


@dataclass(frozen=True, slots=True)
class Result:
    rows: Sequence[Sequence[Any]]
    count: int
    """Rows that a change touched."""


class Connection(Protocol):
    """Autocommit, READ COMMITTED, UTC, strict; every call raises Trouble."""

    def run(self, sql: str, values: Mapping[str, Any] = NO_VALUES) -> Result:
        """One statement, in the driver's own placeholders."""
        ...

    def names(self, sql: str) -> Sequence[str]:
        """The columns that a statement without values answers."""
        ...

    def begin(self, kind: Begin) -> None:
        """Begin a transaction."""
        ...

    def commit(self) -> None:
        """End it; Failure.LOST if the answer did not come."""
        ...

    def rollback(self) -> None:
        """Undo it; where even that fails, close."""
        ...

    def close(self) -> None:
        """Twice is once."""
        ...


class Dialect(Protocol):
    """What differs from database to database."""

    name: str
    where: str
    """The database for messages, without its password."""
    macros: Mapping[str, str]
    """`{now}`, `{lock}` and the like in statements that are otherwise alike."""

    def connect(self) -> Connection:
        """A new session, set up; raises Trouble."""
        ...

    def placeholders(self, sql: str) -> str:
        """A statement with `:name` in it, as the driver wants it."""
        ...

    def beats(self, rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
        """Many heartbeats as the values of one statement."""
        ...

    def prepare(self) -> None:
        """Bring the schema up to date.  Twice is once, and so are two processes at once."""
        ...

    def weaknesses(self, session: Connection) -> Sequence[str]:
        """Settings under which an acknowledged commit may be lost in a crash, each with its fix."""
        ...
