"""One EC2 stand-in for the whole folder; each test finds it in its first manners and its own fleet."""

from collections.abc import Iterator

import pytest

from tests.real.account import Account
from tests.real.presence import present
from tools.parts.catalog.ec2 import PART, Ec2
from tools.parts.catalog.imds import PART as IMDS
from tools.parts.catalog.imds import Imds
from tools.parts.ec2.behaviour import Behaviour


@pytest.fixture(scope="session")
def started_ec2() -> Iterator[Ec2]:
    # The dead are forgotten soon: with hundreds of them every listing would take a second.
    started = present(PART).start(rates=False, behaviour=Behaviour(forget_after_s=15))
    yield started
    started.stop()


@pytest.fixture(scope="session")
def everything(started_ec2: Ec2) -> Account:
    return Account(started_ec2)


@pytest.fixture
def account(everything: Account) -> Iterator[Account]:
    """Nothing limited, nothing late; what the test launches is terminated after it."""
    everything.ec2.reset()
    yield everything
    everything.ec2.reset()
    everything.terminate_the_rest()


@pytest.fixture(scope="session")
def imds() -> Iterator[Imds]:
    started = present(IMDS).start()
    yield started
    started.stop()
