"""Clients and tokens in SQLite; the servers are asked in tests/real."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.adapters.sql.database import SqlDatabase
from holdfast.adapters.sql.groups import SqlGroupStore, SqlTenants
from holdfast.adapters.sql.sqlite.dialect import SqliteDialect
from holdfast.testing.tenant_contract import TENANT_PROMISES, Stores


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    database = SqlDatabase(SqliteDialect(str(tmp_path / "state.db"), now_s=lambda: 1_730_000_000.0))
    yield Stores(SqlGroupStore(database), SqlTenants(database))
    database.close()


@pytest.mark.parametrize("promise", TENANT_PROMISES, ids=lambda promise: promise.__name__)
def test_promise(promise: Callable[[Stores], None], stores: Stores) -> None:
    promise(stores)
