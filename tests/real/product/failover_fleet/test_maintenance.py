"""Planned work interrupts nothing: restarts one by one; a pause while servers and database are down."""

import itertools
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.agent import watchdog
from tests.real.product.databases.servers import NAMES, Server, started
from tests.real.product.failover_agent.fleet import LEASE_S
from tests.real.product.failover_fleet import account
from tests.real.product.failover_fleet.campaign import Campaign, load
from tests.real.product.failover_fleet.fleet import PATIENCE_S, Fleet, Group, Wired, eventually
from tests.real.product.failover_fleet.ledger import read
from tests.real.product.failover_fleet.network import Network

pytestmark = pytest.mark.alone

LONG = "HOLDFAST_FAILOVERS" in os.environ
DOWN_S = 60.0 if LONG else 2 * LEASE_S
PAUSE_S = 600


@pytest.fixture(params=NAMES if LONG else ["mariadb"])
def database(request: pytest.FixtureRequest) -> Iterator[Server]:
    with started(request.param) as made:
        yield made


def lease_left_s(wired: Wired) -> float:
    words = watchdog.open_page(str(wired.machine.folder / "state" / "run" / "page"))[1]
    return (int(words[watchdog.DEADLINE]) - watchdog.now_ns()) / 1e9


def longest_gap_s(group: Group) -> float:
    """Between two writes that the services took."""
    return max(after.done_s - before.done_s for before, after in itertools.pairwise(read(group.ledger)))


def test_no_service_stops(database: Server, network: Network, tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, network, database.make(), servers=2)
    campaign = Campaign(fleet)
    try:
        groups = [fleet.group("g1"), fleet.group("g2")]
        for group, _ in itertools.product(groups, range(2)):
            fleet.launch(group, blind=group is groups[0])
        primaries = [campaign.standing(group) for group in groups]
        services = [wired.machine.counter for wired in primaries]
        epochs = [group.probe.newest.epoch for group in groups if group.probe.newest]

        def nothing_stopped(after: str) -> None:
            assert [campaign.standing(group) for group in groups] == primaries, after
            assert [wired.machine.counter for wired in primaries] == services, after
            assert [group.probe.newest.epoch for group in groups if group.probe.newest] == epochs, after
            assert account.two_served(fleet) == []
            for group in groups:
                assert longest_gap_s(group) < LEASE_S * load(), after

        restart_one_by_one(fleet, groups)
        nothing_stopped("servers and agents were restarted one by one")

        for group in groups:
            fleet.ask("POST", f"/api/agents/{group.agent_id}/pause", {"for_s": PAUSE_S, "why": "upgrade"})
        for wired in primaries:
            eventually(lambda wired=wired: lease_left_s(wired) > PAUSE_S / 2, "one long lease")  # type: ignore[misc]
        for server in fleet.servers:
            server.kill()
        database.started.kill()
        time.sleep(DOWN_S)
        database.started.start_again()
        for server in fleet.servers:
            server.start()
            eventually(server.answers, server.said)
        nothing_stopped("servers and database were down")
        for group in groups:
            fleet.ask("POST", f"/api/agents/{group.agent_id}/resume", {})
        time.sleep(2 * LEASE_S)
        nothing_stopped("the pause was ended")
    finally:
        fleet.close()


def restart_one_by_one(fleet: Fleet, groups: list[Group]) -> None:
    for server in fleet.servers:
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(PATIENCE_S) in (0, -signal.SIGTERM), server.said()
        server.start()
        eventually(server.answers, server.said)
    for wired in [wired for group in groups for wired in group.machines]:
        wired.machine.agent.send_signal(signal.SIGTERM)
        wired.machine.agent.wait(PATIENCE_S)
        wired.machine.start()
        time.sleep(1.0)
