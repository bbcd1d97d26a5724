"""A fresh table on each of the two DynamoDBs."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config

from tests.real.parts.dynamodb.racing import RACERS, Table
from tests.real.presence import present
from tools.parts.catalog.extenddb import PART as EXTENDDB
from tools.parts.catalog.extenddb import Extenddb
from tools.parts.catalog.ministack import PART as MINISTACK
from tools.parts.catalog.ministack import Ministack

# Nothing is tried twice behind a test's back, and no racer waits for another's connection.
SETTINGS = Config(retries={"total_max_attempts": 1}, max_pool_connections=RACERS, read_timeout=300)


Started = Extenddb | Ministack


def start_ministack() -> tuple[Started, str, str]:
    return present(MINISTACK).start(), "any", "any"


def start_extenddb() -> tuple[Started, str, str]:
    started = present(EXTENDDB).start()
    return started, started.access_key, started.secret_key


@pytest.fixture(scope="session", params=[start_ministack, start_extenddb], ids=["ministack", "extenddb"])
def client(request: pytest.FixtureRequest) -> Iterator[Any]:
    start: Callable[[], tuple[Started, str, str]] = request.param
    started, access_key, secret_key = start()
    try:
        made = boto3.client(
            "dynamodb",
            endpoint_url=started.endpoint,
            region_name="us-east-1",
            aws_access_key_id=access_key,
            aws_secret_access_key=secret_key,
            config=SETTINGS,
        )
        yield made
        made.close()
    finally:
        started.stop()


@pytest.fixture
def table(client: Any) -> Table:
    name = f"records-{uuid.uuid4()}"
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"} for key in ("pk", "sk")],
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}, {"AttributeName": "sk", "KeyType": "RANGE"}],
    )
    client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 300})
    return Table(client, name)
