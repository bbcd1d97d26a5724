"""A fresh stream for each test."""

import uuid

import pytest


@pytest.fixture
def name() -> str:
    return f"stream-{uuid.uuid4()}"
