"""Ground for one test: everything real that the autoscaler stands on."""

from collections.abc import Iterator

import pytest

from tests.real.presence import present
from tools.endure.ground import Ground, start_ground
from tools.parts.catalog.ec2 import PART as EC2
from tools.parts.catalog.kubernetes import PART as KUBERNETES
from tools.parts.catalog.kwok import PART as KWOK
from tools.parts.catalog.lambda_runtime import PART as LAMBDA
from tools.parts.catalog.ministack import PART as MINISTACK
from tools.parts.catalog.prometheus import PART as PROMETHEUS
from tools.parts.part import Absent


@pytest.fixture
def ground() -> Iterator[Ground]:
    for part in (EC2, KUBERNETES, KWOK, LAMBDA, MINISTACK, PROMETHEUS):
        present(part)
    try:
        started = start_ground()
    except Absent as error:  # booting needs more than an installed part
        pytest.fail(str(error), pytrace=False)
    with started:
        yield started
