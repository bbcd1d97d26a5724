"""Every promise of the kernel's contract, on every implementation of every repository."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.sql.sqlite.dialect import SqliteDialect
from holdfast.autoscaler.codec import CODEC as CLUSTER
from holdfast.leases.cap import CODEC as CAP
from holdfast.testing.contract import PROMISES, Trial
from tests.adapters.contract import samples, trials
from tests.adapters.contract.sql_trials import SqlGroupTrial
from tests.ministack import client_for
from tests.proof import prove

IMPLEMENTATIONS = (
    "memory cluster",
    "memory cap",
    "memory group",
    "sqlite cluster",
    "sqlite cap",
    "sqlite group",
    "dynamodb cluster",
    "dynamodb cap",
)


@pytest.fixture(params=IMPLEMENTATIONS)
def trial(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Trial[Any]]:
    path = str(tmp_path / "state.db")
    not_numbers = [("lastScaleEpoch", samples.NOT_A_NUMBER)]  # JSON and memory can hold it, DynamoDB cannot
    absurdities = [*samples.CLUSTER_ABSURDITIES, *not_numbers]
    cluster = (CLUSTER, samples.CLUSTERS, absurdities, samples.CLUSTER_GUARDED)
    cap = (CAP, samples.CAPS, samples.CAP_ABSURDITIES, samples.CAP_GUARDED)
    match request.param.split():
        case ["memory", "group"]:
            made: Any = trials.MemoryGroupTrial()
        case ["memory", kind]:
            made = trials.MemoryTrial(*(cluster if kind == "cluster" else cap))
        case ["sqlite", "group"]:
            made = SqlGroupTrial(lambda: SqliteDialect(path))
        case ["sqlite", kind]:
            made = trials.SqliteTrial(path, *(cluster if kind == "cluster" else cap))
        case ["dynamodb", kind]:
            endpoint = request.getfixturevalue("dynamodb_endpoint")
            make = trials.dynamo_cluster if kind == "cluster" else trials.dynamo_cap
            made = make(lambda: client_for(endpoint))
    yield made
    for database in getattr(made, "opened", ()):
        database.close()


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_promise(
    promise: Callable[[Trial[Any]], None], trial: Trial[Any], request: pytest.FixtureRequest
) -> None:
    promise(trial)

    prove("contract", request.node.callspec.params["trial"], promises=1)
