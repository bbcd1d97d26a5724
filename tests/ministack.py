"""MiniStack for the tests: started once a test process, stopped with it."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast.adapters.aws.dynamodb import make_client
from tools.parts.catalog import ministack


@pytest.fixture(scope="session")
def dynamodb_endpoint() -> Iterator[str]:
    """An atomic DynamoDB that honours request tokens."""
    started = ministack.PART.start()
    yield started.endpoint
    started.stop()


@pytest.fixture(scope="session", autouse=True)
def aws_identity() -> None:
    """Any credentials will do for a stand-in, but the client wants some."""
    os.environ.setdefault("AWS_ACCESS_KEY_ID", "test")
    os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "test")
    os.environ.setdefault("AWS_DEFAULT_REGION", "eu-central-1")


def client_for(endpoint: str) -> Any:
    return make_client(endpoint_url=endpoint, region="eu-central-1")
