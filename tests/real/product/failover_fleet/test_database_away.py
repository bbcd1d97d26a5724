"""The database away for three leases, and the database from the past."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.product.databases.servers import NAMES, Server, started
from tests.real.product.failover_agent.fleet import LEASE_S
from tests.real.product.failover_fleet.campaign import load
from tests.real.product.failover_fleet.fleet import Fleet, eventually
from tests.real.product.failover_fleet.light import Crowd
from tests.real.product.failover_fleet.network import Network
from tests.server.agents import FakeAgent

GROUPS = 50
LONG = "HOLDFAST_FAILOVERS" in os.environ
"""`make failovers`: each of these on both databases; `make real`: one on each."""


@pytest.fixture
def database(request: pytest.FixtureRequest) -> Iterator[Server]:
    with started(request.param) as made:
        yield made


@pytest.mark.alone
@pytest.mark.parametrize("database", NAMES if LONG else ["postgresql"], indirect=True)
def test_fifty_groups_outlive_three_leases_without_a_database(
    database: Server, network: Network, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = database.make()
    line = network.line(database.started.port)
    fleet = Fleet(tmp_path, network, url.replace(f":{database.started.port}/", f":{line.port}/"), servers=2)
    crowd = Crowd(fleet, tmp_path)
    try:
        for n in range(GROUPS):
            crowd.group(f"g{n}")
        crowd.start()
        eventually(crowd.all_serve, "fifty primaries")
        before = {name: _serving(crowd, name) for name in crowd.groups}
        epochs = {name: agent.epoch for name, agent in before.items()}

        network.set(line, asks=False, answers=False)
        time.sleep(3 * LEASE_S)
        assert not any(crowd.serving(name) for name in crowd.groups), (
            "no lease outlives its database for long"
        )
        network.set(line, asks=True, answers=True)
        back_s = time.monotonic()
        eventually(crowd.all_serve, "all serve again")
        took_s = time.monotonic() - back_s
        time.sleep(LEASE_S)  # what would be revoked for its silence is revoked by now

        changed = [name for name in crowd.groups if _serving(crowd, name) is not before[name]]
        raised = [name for name, epoch in epochs.items() if _serving(crowd, name).epoch != epoch]
        with capsys.disabled():
            print(f"\n{database.name}: {GROUPS} groups serve {took_s:.1f} s after; {len(changed)} changed")
        assert took_s < 2 * LEASE_S * load()
        assert len(set(changed + raised)) <= (0 if load() < 2 else GROUPS // 10), "no mass failover"
    finally:
        crowd.close()
        fleet.close()


def _serving(crowd: Crowd, name: str) -> FakeAgent:
    found: FakeAgent = eventually(lambda: crowd.serving(name), f"{name} serves")
    return found


@pytest.mark.waiting
@pytest.mark.parametrize("database", NAMES if LONG else ["mariadb"], indirect=True)
def test_a_restored_database_grants_nothing_and_names_what_it_has_lost(
    database: Server, network: Network, tmp_path: Path
) -> None:
    fleet = Fleet(tmp_path, network, database.make(), servers=2)
    crowd = Crowd(fleet, tmp_path)
    backup = tmp_path / "backup"
    try:
        members = crowd.group("db")
        crowd.start()
        first = _serving(crowd, "db")
        _stopped(database, lambda data: _copy(data, backup))
        eventually(lambda: first.serving, "it serves after the backup")

        members.append(crowd.member("db", "late"))
        late = members[-1]
        first.alive = False
        second = eventually(lambda: (found := crowd.serving("db")) is not first and found, "a takeover")
        highest = second.epoch
        eventually(lambda: late.highest_epoch == highest, "it follows")
        fleet.servers[0].kill()
        first.alive = True

        def restore(data: Path) -> None:
            shutil.rmtree(data)
            _copy(backup, data)

        _stopped(database, restore)
        fleet.servers[0].start()  # it was down meanwhile, and knows by its files; the other one by itself
        eventually(lambda: not crowd.serving("db"), "leases of the lost database end")
        for agent in members:
            agent.codes.clear()
        time.sleep(2 * LEASE_S)
        assert not crowd.serving("db"), "no lease is granted before `recover`"
        told = {code for agent in (first, second) for code in agent.codes}
        assert "RECOVERING" in told, told
        assert set(late.codes) <= {"UNAUTHENTICATED", "UNAVAILABLE"}, late.codes
        eventually(lambda: _unknown(fleet) == ["late"], "the member that it has lost is named")
        assert "late is unknown to the restored database" in fleet.holdfast(
            "status", "--config", _config(fleet)
        )

        fleet.holdfast("recover", "--config", _config(fleet))
        again = eventually(lambda: crowd.serving("db"), "one serves again")
        assert again is second, "the one that served last"
        assert again.epoch > highest, "above all that was heard of"
        assert min(agent.highest_epoch for agent in (first, second)) >= highest
    finally:
        crowd.close()
        fleet.close()


def _config(fleet: Fleet) -> str:
    """That of the commands, which ask the server that was restarted."""
    path = fleet.folder / "commands.toml"
    path.write_text(
        (fleet.folder / "holdfast.toml").read_text()
        + f'server = "{fleet.servers[0].url}"\ntoken_file = "{fleet.folder}/operator.token"\n'
    )
    return str(path)


def _unknown(fleet: Fleet) -> list[str]:
    said = json.loads(fleet.holdfast("status", "db", "--json", "--config", _config(fleet)))
    groups = said if isinstance(said, list) else [said]
    found: list[str] = groups[0]["unknown_members"]
    return found


def _stopped(database: Server, change: "object") -> None:
    """Do this to the files of a database that does not run."""
    assert callable(change)
    database.started.kill()
    time.sleep(1.0)  # the processes of its connections end, too
    change(database.started.running.folder / "data")
    database.started.start_again()


def _copy(source: Path, target: Path) -> None:
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)
