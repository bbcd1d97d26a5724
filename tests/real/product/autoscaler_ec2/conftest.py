"""One EC2 stand-in for the folder; each test has a cluster of its own in it."""

import itertools
from collections.abc import Iterator

import pytest

from tests.real.account import Account
from tests.real.presence import present
from tests.real.product.autoscaler_ec2.world import World
from tools.parts.catalog.ec2 import PART
from tools.parts.ec2.behaviour import Behaviour

NUMBERS = itertools.count(1)


@pytest.fixture(scope="session")
def everything() -> Iterator[Account]:
    # The dead are forgotten soon: with hundreds of them every listing would take a second.
    started = present(PART).start(rates=False, behaviour=Behaviour(forget_after_s=15))
    yield Account(started)
    started.stop()


@pytest.fixture
def world(everything: Account) -> Iterator[World]:
    everything.ec2.reset()
    yield World(everything, f"cluster-{next(NUMBERS)}")
    everything.ec2.reset()
    everything.terminate_the_rest()
