"""Two failover servers on one MariaDB, and on one PostgreSQL: a first primary, a silent death, a restart."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from holdfast.failover.api import operations as ops
from holdfast.kernel import Busy
from tests.real.product.databases.servers import Server, started
from tests.real.traces import wait_until as wait_for
from tests.server.running import Running, running
from tests.server.tenancy import Enrolled, Tenant, enrolled, tenant

BEAT_S = 0.3
HANG_S = 120.0

wait_until = partial(wait_for, timeout_s=HANG_S)


class Beating:
    """An agent that does as it is told at once, and serves while its lease runs."""

    def __init__(self, servers: list[Running], who: Enrolled) -> None:
        self.servers, self.who = servers, who
        self.epoch, self.until_s, self.done = 0, 0.0, ""
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._beat)
        self._thread.start()

    def serves(self) -> bool:
        return time.monotonic() < self.until_s

    def stop(self) -> None:
        self._ended.set()
        self._thread.join()

    def _beat(self) -> None:
        turn = 0
        while not self._ended.wait(BEAT_S):
            turn += 1
            sent_s = time.monotonic()
            report: dict[str, object] = {
                "healthy": True,
                "watchdog_ok": True,
                "lag_s": 0.0,
                "sync_age_s": 0.0,
                "sync_epoch": self.epoch,
            }
            report |= (
                {"hook_goal": self.done, "hook_epoch": self.epoch, "hook_state": "done"} if self.done else {}
            )
            body = {"instance_id": self.who.instance_id, "session": self.who.session, "epoch": self.epoch}
            server = self.servers[turn % len(self.servers)]
            answer = server.call(
                ops.HEARTBEAT, self.who.token, {**body, "report": report}, agent_id=self.who.agent_id
            )
            if answer.http_status != 200:
                continue  # the database is away: the lease runs on, or out
            goal = answer.data["goal"] or {"do": "", "epoch": answer.data["epoch"]}
            self.epoch, self.done = goal["epoch"], goal["do"] if goal["do"] != "serve" else "promote"
            if answer.data["lease_s"] > 0:
                self.until_s = sent_s + answer.data["lease_s"]


@pytest.fixture(params=["mariadb", "postgresql"])
def database(request: pytest.FixtureRequest) -> Iterator[Server]:
    with started(request.param) as made:
        yield made


def several_primaries(server: Running) -> object:
    """None while a session still finds out that its server was killed."""
    try:
        return server.server.stores.tenants.more_than_one_primary()
    except Busy:
        return None


def primary(server: Running, shop: Tenant) -> str:
    found = server.call(ops.AGENT, shop.token, agent_id="db").data
    return str(found["primary"] or "")


def test_two_servers_on_one_database(database: Server, tmp_path: Path) -> None:
    url = database.make()
    with ExitStack() as opened:
        folders = [tmp_path / name for name in ("one", "two")]
        for folder in folders:
            folder.mkdir()
        servers = [opened.enter_context(running(folder, database=url)) for folder in folders]
        shop = tenant(servers[0], "shop", "db")
        second = enrolled(servers[1], shop, "db", "shop-db-2")
        agents = {who.instance_id: Beating(servers, who) for who in (shop.instances["db"], second)}
        for agent in agents.values():
            opened.callback(agent.stop)

        wait_until(lambda: any(agent.serves() for agent in agents.values()), "a first primary serves")
        first = next(name for name, agent in agents.items() if agent.serves())
        wait_until(lambda: primary(servers[1], shop) == first, "its promotion is confirmed")
        agents[first].stop()
        (other,) = set(agents) - {first}
        wait_until(agents[other].serves, "the other one takes over")
        assert not agents[first].serves(), "never two"
        wait_until(lambda: primary(servers[0], shop) == other, "and both servers say so")

        database.started.kill()
        database.started.start_again()
        wait_until(agents[other].serves, "it serves again after the database was killed")
        wait_until(lambda: several_primaries(servers[0]) == {}, "and it is the only one")
