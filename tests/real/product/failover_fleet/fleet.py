"""Servers on one database, and groups of machines: a test reaches their lines, notices and processes."""

import itertools
import json
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.agent.machine import environment
from tests.real.product.failover_agent.fleet import HEARTBEAT_S, HOOKS, LEASE_S, TIMEOUT_S, Machine
from tests.real.product.failover_fleet.ledger import Probe
from tests.real.product.failover_fleet.network import Line, Network
from tools.parts.imds.book import Book
from tools.parts.imds.metadata import Metadata
from tools.parts.imds.server import ImdsServer
from tools.parts.ports import free_port

PATIENCE_S = 300.0
"""A machine with other work beside forty processes of ours is slow, not broken."""
SETTINGS = {"standbys": 1, "unhealthy_s": 2}
ZONES = ("eu-west-1a", "eu-west-1b", "eu-west-1c")


def eventually(holds: Callable[[], Any], what: str | Callable[[], str]) -> Any:
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s:
        if found := holds():
            return found
        time.sleep(0.05)
    raise AssertionError(f"this never came: {what if isinstance(what, str) else what()}")


@dataclass
class Wired:
    """A machine, and the lines over which it speaks to each server."""

    machine: Machine
    lines: list[Line]
    blind: bool
    ended: bool = False

    @property
    def instance_id(self) -> str:
        return self.machine.instance_id


@dataclass
class Group:
    agent_id: str
    folder: Path
    machines: list[Wired] = field(default_factory=list)
    probe: Probe = field(init=False)

    def __post_init__(self) -> None:
        self.probe = Probe(lambda: {m.instance_id: m.machine.port for m in self.machines if not m.ended})

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger"

    def machine(self, instance_id: str) -> Wired:
        return next(each for each in self.machines if each.instance_id == instance_id)


class Server:
    """One server process: it can be killed, stopped, woken and started again."""

    def __init__(self, folder: Path, database: str, **more: str) -> None:
        self.folder, self.port = folder, free_port()
        folder.mkdir()
        self.environ = {**environment(), "FAILOVER_DATABASE": database, **more}
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        argv = [sys.executable, "-m", "holdfast.cli", "failover", "server"]
        argv += ["--listen", f"127.0.0.1:{self.port}", "--config", str(self.folder.parent / "holdfast.toml")]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(argv, cwd=self.folder, env=self.environ, stdout=log, stderr=log)

    def said(self) -> str:
        return f"{self.folder.name}: {(self.folder / 'log').read_text()[-2000:]}"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(PATIENCE_S)

    def answers(self) -> bool:
        try:
            urllib.request.urlopen(f"{self.url}/health", timeout=5).close()
        except OSError:
            return False
        return True


class Fleet:
    """`farther`: a line before the database, through which the last server alone reaches it."""

    def __init__(
        self, folder: Path, network: Network, database: str, *, farther: str = "", servers: int = 3
    ) -> None:
        self.folder, self.network, self.database = folder, network, database
        self.groups: list[Group] = []
        self._number = itertools.count(1)
        self.book = Book()
        self.imds = ImdsServer(self.book)
        self.imds.serve_in_background()
        times = f"lease_s = {LEASE_S}\nheartbeat_s = {HEARTBEAT_S}\nrequest_timeout_s = {TIMEOUT_S}\n"
        (folder / "holdfast.toml").write_text(f'[failover]\ndatabase = "{database}"\n{times}')
        self.hooks = _kit(folder / "kit")
        self.holdfast("clients", "add", "shop")
        self.token = (folder / "operator.token").read_text().strip()
        urls = [database] * (servers - 1) + [farther or database]
        self.servers = [Server(folder / f"server-{n}", url) for n, url in enumerate(urls, 1)]
        for server in self.servers:
            eventually(server.answers, lambda server=server: server.said())  # type: ignore[misc]

    def holdfast(self, *argv: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "holdfast.cli", "failover", *argv],
            cwd=self.folder, env=environment(), capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ask(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Of whichever server answers: one may be away, or all of them while the database is."""
        until_s, said = time.monotonic() + PATIENCE_S, ""
        while time.monotonic() < until_s:
            for server in self.servers:
                request = urllib.request.Request(
                    server.url + path,
                    data=None if body is None else json.dumps(body).encode(),
                    method=method,
                    headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
                )
                try:
                    with urllib.request.urlopen(request, timeout=3) as answer:
                        return json.loads(answer.read())["data"]
                except urllib.error.HTTPError as error:
                    with error:
                        said = error.read().decode()
                    if error.code < 500:
                        raise AssertionError(f"{method} {path}: {said}") from None
                except OSError as error:
                    said = str(error)
            time.sleep(0.2)
        raise AssertionError(f"{method} {path}: no server answers: {said}")

    def group(self, agent_id: str) -> Group:
        """A new group, probed from now on."""
        folder = self.folder / agent_id
        folder.mkdir()
        self.ask("POST", "/api/agents", {"agent_id": agent_id, "settings": SETTINGS})
        made = Group(agent_id, folder)
        self.groups.append(made)
        self.network.run(made.probe.run())
        return made

    def launch(self, group: Group, *, blind: bool = False, environ: Mapping[str, str] | None = None) -> Wired:
        """One more machine of a group, under a name that was never used."""
        number = next(self._number)
        name = f"{group.agent_id}-{number}"
        enrolment = self.ask("POST", f"/api/agents/{group.agent_id}/enrolments", {})["token"]
        self.book.put(Metadata(name, zone=ZONES[number % 3], local_ipv4="127.0.0.1", life_cycle="spot"))
        lines = [self.network.line(server.port) for server in self.servers]
        own = {"SERVICE_LEDGER": str(group.ledger), "SERVICE_BLIND": "1" if blind else "", **(environ or {})}
        machine = Machine(
            group.folder / name,
            name,
            [f"http://127.0.0.1:{line.port}" for line in lines],
            json.dumps({"agent_id": group.agent_id, "token": enrolment}),
            *("--imds", f"{self.imds.url}/{name}"),
            hooks=self.hooks,
            environ=own,
        )
        group.machines.append(Wired(machine, lines, blind))
        return group.machines[-1]

    def end(self, wired: Wired) -> None:
        """The machine is no more, and neither are its lines and its metadata."""
        wired.machine.close()
        self.book.remove(wired.instance_id)
        wired.ended = True

    def close(self) -> None:
        for group in self.groups:
            group.probe.ends = True
            for wired in group.machines:
                wired.machine.close()
        for server in self.servers:
            if server.process.poll() is None:
                server.kill()
        self.imds.shutdown()
        self.imds.server_close()


def _kit(folder: Path) -> Path:
    """The hooks of the examples, around the service that keeps a ledger."""
    shutil.copytree(HOOKS, folder / "hooks")
    shutil.copy(HOOKS.parent / "counter.py", folder / "example.py")
    shutil.copy(Path(__file__).with_name("service.py"), folder / "counter.py")
    return folder / "hooks"
