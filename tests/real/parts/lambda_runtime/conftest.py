"""One warm function."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.presence import present
from tools.parts.catalog.lambda_runtime import PART, LambdaRuntime

TIMEOUT_S = 8
FUNCTION = Path(__file__).with_name("function")
HANDLER = "sample.handler.answer"


@pytest.fixture(scope="module")
def function() -> Iterator[LambdaRuntime]:
    started = present(PART).start(HANDLER, [FUNCTION], {"SETTING": "on"}, timeout_s=TIMEOUT_S)
    yield started
    started.stop()
