"""A server that speaks the wire, machines with real agents, and metadata: all ended with the test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.machine import Machine
from tests.agent.metadata import Script
from tests.agent.wire_server import WireServer


@pytest.fixture
def server() -> Iterator[WireServer]:
    made = WireServer()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def machine(tmp_path: Path, server: WireServer) -> Iterator[Machine]:
    made = Machine(tmp_path / "i-1", server)
    yield made
    made.close()


@pytest.fixture
def script() -> Iterator[Script]:
    made = Script()
    yield made
    made.server.shutdown()
    made.server.server_close()
