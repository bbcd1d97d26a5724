"""Many agents in one process, without hooks: for what happens to fifty groups at once."""

import threading
import time
from pathlib import Path
from typing import Any, cast

import urllib3

from holdfast.failover.api.operations import NEW_AGENT
from tests.real.product.failover_agent.fleet import HEARTBEAT_S, TIMEOUT_S
from tests.real.product.failover_fleet.fleet import Fleet
from tests.server.agents import FakeAgent
from tests.server.running import Running
from tests.server.tenancy import Tenant, enrolled

THREADS = 8


class Crowd:
    """Groups of light agents, each of which speaks to one server until that one does not answer."""

    def __init__(self, fleet: Fleet, folder: Path) -> None:
        self.fleet = fleet
        http = urllib3.PoolManager(THREADS * 2, retries=False, timeout=30.0)
        self.patient = Running(cast("Any", None), fleet.servers[0].url, http, folder)
        quick = urllib3.PoolManager(THREADS * 2, retries=False, timeout=TIMEOUT_S)
        self.servers = [Running(cast("Any", None), each.url, quick, folder) for each in fleet.servers]
        self.shop = Tenant("shop", fleet.token)
        self.groups: dict[str, list[FakeAgent]] = {}
        self.both: list[list[str]] = []
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []

    def group(self, agent_id: str) -> list[FakeAgent]:
        assert self.patient.call(NEW_AGENT, self.shop.token, {"agent_id": agent_id}).http_status == 200
        self.groups[agent_id] = [self.member(agent_id, f"{agent_id}-{n}") for n in (1, 2)]
        return self.groups[agent_id]

    def member(self, agent_id: str, instance_id: str) -> FakeAgent:
        return FakeAgent(self.servers[0], enrolled(self.patient, self.shop, agent_id, instance_id))

    def start(self) -> None:
        names = list(self.groups)
        for n in range(min(THREADS, len(names))):
            thread = threading.Thread(target=self._work, args=(names[n::THREADS],), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _work(self, names: list[str]) -> None:
        while not self._ended.is_set():
            began_s = time.monotonic()
            for name in names:
                agents = list(self.groups[name])
                for agent in agents:
                    if agent.alive and not self._ended.is_set():
                        self._beat(agent)
                serving = [agent.who.instance_id for agent in agents if agent.serving]
                if len(serving) > 1:
                    self.both.append(serving)
            self._ended.wait(max(0.05, HEARTBEAT_S - (time.monotonic() - began_s)))

    def _beat(self, agent: FakeAgent) -> None:
        try:
            answered = agent.beat().http_status < 500
        except (urllib3.exceptions.HTTPError, OSError):
            answered = False
        if not answered:  # as a real agent does
            agent.server = self.servers[(self.servers.index(agent.server) + 1) % len(self.servers)]

    def serving(self, name: str) -> FakeAgent | None:
        return next((agent for agent in self.groups[name] if agent.serving), None)

    def all_serve(self) -> bool:
        return all(self.serving(name) for name in self.groups)

    def close(self) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join(60)
        assert not self.both, f"two served at once: {self.both}"
