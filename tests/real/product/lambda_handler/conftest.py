"""One site, one DynamoDB and one zip for the folder; each lab is a cluster of its own in them."""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from bench.grounds.zipped import unpacked
from tests.real.presence import present
from tests.real.product import manifest
from tests.real.product.lambda_handler.lab import API_TOKEN_PARAMETER, Lab
from tools.parts.catalog.ec2 import PART as EC2
from tools.parts.catalog.kubernetes import PART as KUBERNETES
from tools.parts.catalog.kwok import PART as KWOK
from tools.parts.catalog.lambda_runtime import PART as LAMBDA
from tools.parts.catalog.ministack import PART as MINISTACK
from tools.parts.ec2.behaviour import Behaviour
from tools.parts.site import Site, start_site

NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    """A control plane that knows the function's service account, and a cloud whose machines join it."""
    for part in (KUBERNETES, KWOK, EC2, LAMBDA, MINISTACK):
        present(part)
    with (
        start_site(behaviour=Behaviour(boot_delay_s=(0.1, 0.3)), rates=False) as started,
        manifest.applied(started.cluster),
    ):
        token = manifest.token_of_the_account(started.cluster)
        started.client("ssm").put_parameter(Name=API_TOKEN_PARAMETER, Value=token, Type="SecureString")
        yield started


@pytest.fixture(scope="session")
def dynamodb(site: Site) -> Iterator[str]:
    started = MINISTACK.start()
    yield started.endpoint
    started.stop()


@pytest.fixture(scope="session")
def code_paths(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Path]:
    """The unpacked zip, and boto3 as Lambda has it."""
    return unpacked(tmp_path_factory.mktemp("zip")).paths


@pytest.fixture
def lab(site: Site, dynamodb: str, code_paths: Sequence[Path]) -> Iterator[Lab]:
    opened = Lab.open(site, dynamodb, code_paths, f"lab-{next(NUMBERS)}")
    yield opened
    site.ec2.reset()
    opened.clean_up()
