"""At the end of a run nothing that its parts started may be alive; and parts that several folders need."""

import os
import time
import uuid
from collections.abc import Iterator

import pytest

from tests.real.presence import nothing_may_be_absent, present
from tests.real.streams import Streams
from tests.real.traces import processes_naming
from tools.parts.catalog.kinesis_local import PART as KINESIS
from tools.parts.catalog.kinesis_local import KinesisLocal

RUN = "HOLDFAST_TEST_RUN"
"""No name of the product's own: an agent marks what its hooks start, and would hide it from us."""
ENDING_S = 20.0


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left_running() -> Iterator[None]:
    """Every process that a part starts inherits the name of this run, and is looked for by it at the end.

    Set up before any other fixture of the session, and so torn down after all of them.
    """
    name = f"{RUN}={uuid.uuid4()}"
    os.environ[RUN] = name.partition("=")[2]
    yield
    del os.environ[RUN]
    left = _left(name) if nothing_may_be_absent() else []
    if left:
        pytest.fail("this run left processes behind:\n  " + "\n  ".join(left), pytrace=False)


def _left(name: str) -> list[str]:
    """What is still there after a while: a hook whose agent was killed ends by itself, when it is done."""
    until_s = time.monotonic() + ENDING_S
    while (left := processes_naming(name)) and time.monotonic() < until_s:
        time.sleep(0.2)
    return left


@pytest.fixture(scope="session")
def kinesis() -> Iterator[KinesisLocal]:
    started = present(KINESIS).start()
    try:
        yield started
    finally:
        started.stop()


@pytest.fixture(scope="session")
def streams(kinesis: KinesisLocal) -> Iterator[Streams]:
    with Streams.at(kinesis.endpoint) as made:
        yield made
