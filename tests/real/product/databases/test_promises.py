"""The kernel's contract and that of a store of groups, on MariaDB and on PostgreSQL."""

import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from holdfast.adapters.sql.database import SqlDatabase
from holdfast.adapters.sql.groups import SqlGroupStore, SqlTenants
from holdfast.failover.ports import Term
from holdfast.testing.contract import PROMISES, Trial
from holdfast.testing.group_case import GroupTrial
from holdfast.testing.group_contract import DATABASE_PROMISES, GROUP_PROMISES
from holdfast.testing.tenant_contract import TENANT_PROMISES, Stores
from tests.adapters.contract.sql_trials import SqlGroupTrial, SqlStoreTrial
from tests.proof import prove
from tests.real.product.databases.servers import Server

TERM = Term(0.4)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_promise(promise: Callable[[Trial[Any]], None], server: Server, url: str) -> None:
    trial: Any = SqlGroupTrial(lambda: server.dialect(url))
    promise(trial)
    for database in trial.opened:
        database.close()

    prove("contract", f"{server.name} group", promises=1)


@pytest.mark.parametrize(
    "promise", [*GROUP_PROMISES, *DATABASE_PROMISES], ids=lambda promise: promise.__name__
)
def test_promise_of_a_group_store(promise: Callable[[GroupTrial], None], server: Server, url: str) -> None:
    trial = SqlStoreTrial(lambda: server.dialect(url), time.sleep, TERM)
    promise(trial)
    trial.close()

    prove("contract", f"{server.name} group store", promises=1)


@pytest.mark.parametrize("promise", TENANT_PROMISES, ids=lambda promise: promise.__name__)
def test_promise_of_tenants(promise: Callable[[Stores], None], server: Server, url: str) -> None:
    with closing(SqlDatabase(server.dialect(url))) as database:
        promise(Stores(SqlGroupStore(database), SqlTenants(database)))

    prove("contract", f"{server.name} tenants", promises=1)
