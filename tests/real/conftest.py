"""At the end of a run nothing that its parts started may be alive."""

import os
import uuid
from collections.abc import Iterator

import pytest

from tests.real.presence import nothing_may_be_absent
from tests.real.traces import processes_naming

RUN = "HOLDFAST_RUN"


@pytest.fixture(scope="session", autouse=True)
def nothing_is_left_running() -> Iterator[None]:
    """Every process that a part starts inherits the name of this run, and is looked for by it at the end.

    Set up before any other fixture of the session, and so torn down after all of them.
    """
    name = f"{RUN}={uuid.uuid4()}"
    os.environ[RUN] = name.partition("=")[2]
    yield
    del os.environ[RUN]
    left = processes_naming(name) if nothing_may_be_absent() else []
    if left:
        pytest.fail("this run left processes behind:\n  " + "\n  ".join(left), pytrace=False)
