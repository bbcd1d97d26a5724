"""Forty failovers on each database: three servers, eight groups of real agents, and troubles of all kinds.

`make failovers` runs more of them: HOLDFAST_FAILOVERS says how many.
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.product.databases.servers import NAMES, Server, started
from tests.real.product.failover_fleet import account
from tests.real.product.failover_fleet.campaign import Campaign
from tests.real.product.failover_fleet.faults import FAULTS
from tests.real.product.failover_fleet.fleet import Fleet
from tests.real.product.failover_fleet.network import Network
from tests.real.product.failover_fleet.weather import weather

FAILOVERS = int(os.environ.get("HOLDFAST_FAILOVERS", "40"))
GROUPS = 8


@pytest.fixture(params=NAMES)
def database(request: pytest.FixtureRequest) -> Iterator[Server]:
    with started(request.param) as made:
        yield made


@pytest.mark.alone
def test_groups_fail_over_through_all_of_it_and_never_two_serve(
    database: Server, network: Network, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = database.make()
    line = network.line(database.started.port)
    farther = url.replace(f":{database.started.port}/", f":{line.port}/")
    fleet = Fleet(tmp_path, network, url, farther=farther)
    try:
        campaign = Campaign(fleet)
        campaign.run(GROUPS, FAILOVERS, weather(fleet, database, line))
        with capsys.disabled():
            print(f"\n{database.name}: {account.shown(campaign)}")
        assert account.two_served(fleet) == []
        assert account.too_late(campaign) == []
        assert account.unaccounted(fleet) == []
        assert account.untold(fleet) == []
        assert len(campaign.failovers) == FAILOVERS
        befell = Counter(failover.fault for failover in campaign.failovers)
        assert min(befell[fault] for fault in FAULTS) >= FAILOVERS // len(FAULTS), (
            "every kind of fault, and often"
        )
    finally:
        fleet.close()
