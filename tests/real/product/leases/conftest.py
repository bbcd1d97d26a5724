"""One MiniStack for the folder; each test has a stream and an app of its own."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from tests.real.presence import present
from tests.real.product.leases.site import Site
from tests.real.streams import KEYS, Streams
from tools.parts.catalog.kinesis_local import KinesisLocal
from tools.parts.catalog.ministack import PART as MINISTACK
from tools.parts.catalog.ministack import Ministack

ANY = {"aws_access_key_id": "any", "aws_secret_access_key": "any"}


@pytest.fixture(scope="session")
def ministack() -> Iterator[Ministack]:
    started = present(MINISTACK).start()
    try:
        yield started
    finally:
        started.stop()


@pytest.fixture(scope="session")
def tables(ministack: Ministack) -> Iterator[Any]:
    client: Any = boto3.client("dynamodb", endpoint_url=ministack.endpoint, **KEYS)
    try:
        yield client
    finally:
        client.close()


@pytest.fixture
def site(kinesis: KinesisLocal, streams: Streams, ministack: Ministack, tables: Any) -> Site:
    return Site(kinesis, streams, ministack.endpoint, ANY, tables)
