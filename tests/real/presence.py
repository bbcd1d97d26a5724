"""An absent part skips its tests with the command that installs it; `make real` fails instead."""

import os
from typing import TypeVar

import pytest

from tools.parts.part import Absent, Part

P = TypeVar("P", bound=Part)


def nothing_may_be_absent() -> bool:
    """Whether this run promises the real systems, so that a skip would be a lie."""
    return os.environ.get("HOLDFAST_REAL") == "1"


def present(part: P) -> P:
    """The part itself if it is installed; otherwise the test is skipped, or fails under HOLDFAST_REAL=1."""
    try:
        part.require()
    except Absent as error:
        if nothing_may_be_absent():
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))
    return part
