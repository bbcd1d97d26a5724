"""Every promise of a store of groups, in memory and on SQLite; the servers are asked in tests/real."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.adapters.sql.sqlite.dialect import SqliteDialect
from holdfast.failover.ports import Term
from holdfast.failover.tenants import Client
from holdfast.sim.failover.store import MemoryGroups
from holdfast.testing.group_case import GroupTrial
from holdfast.testing.group_contract import DATABASE_PROMISES, GROUP_PROMISES
from tests.adapters.contract.sql_trials import SqlStoreTrial
from tests.adapters.contract.trials import draw
from tests.proof import prove


class Clock:
    now_s = 1_730_000_000.0

    def __call__(self) -> float:
        return self.now_s

    def wait(self, seconds: float) -> None:
        self.now_s += seconds


class MemoryTrial:
    """The store of the simulated world: every connection is the same."""

    def __init__(self, clock: Clock) -> None:
        self.term, self.wait = Term(10.0), clock.wait
        self._store = MemoryGroups(clock, launches=Client(client_id="").launches_per_hour_max)

    def open(self) -> MemoryGroups:
        return self._store

    def new_id(self) -> str:
        return draw()

    def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
def trial(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[GroupTrial]:
    clock = Clock()
    sqlite = SqlStoreTrial(lambda: SqliteDialect(str(tmp_path / "state.db"), now_s=clock), clock.wait)
    made = MemoryTrial(clock) if request.param == "memory" else sqlite
    yield made
    made.close()


CASES = [
    *((store, promise) for store in ("memory", "sqlite") for promise in GROUP_PROMISES),
    *(("sqlite", promise) for promise in DATABASE_PROMISES),
]


@pytest.mark.parametrize(
    ("trial", "promise"), CASES, indirect=["trial"], ids=lambda each: getattr(each, "__name__", each)
)
def test_promise(
    promise: Callable[[GroupTrial], None], trial: GroupTrial, request: pytest.FixtureRequest
) -> None:
    promise(trial)

    prove("contract", f"{request.node.callspec.params['trial']} group store", promises=1)
