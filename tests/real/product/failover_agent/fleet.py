"""Servers, machines with real agents around the counter of the examples, and a prober that writes to all.

`Fleet(folder, database=…, servers=…)` takes any database, and as many servers as wanted.
"""

import contextlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from holdfast.agent import watchdog
from tests.agent.machine import PATIENCE_S, alive, environment, eventually
from tests.real.traces import pids_naming
from tests.tidy.repository import ROOT
from tools.parts.ports import free_port

HOOKS = ROOT / "examples" / "failover" / "hooks"
LEASE_S, HEARTBEAT_S, TIMEOUT_S = 5.0, 1.0, 1.5


def end(process: subprocess.Popen[bytes], number: int = signal.SIGKILL) -> None:
    process.send_signal(number)
    process.wait(PATIENCE_S)


@dataclass(frozen=True, slots=True)
class Write:
    """One write that a counter has acknowledged."""

    asked_s: float
    told_s: float
    instance_id: str
    epoch: int
    count: int


class Machine:
    """One machine: agent, watchdog, counter."""

    def __init__(
        self,
        folder: Path,
        instance_id: str,
        servers: list[str],
        enrolment: str,
        *more: str,
        hooks: Path,
        environ: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.instance_id, self.folder, self.environ = instance_id, folder, environ
        self.port = free_port()
        folder.mkdir(exist_ok=True)
        (folder / "enrol").write_text(enrolment)
        argv = [part for url in servers for part in ("--server", url)]
        argv += ["--enrol", str(folder / "enrol"), "--hooks", str(hooks), "--state", str(folder / "state")]
        argv += ["--protect", f"pidfile:{folder}/counter/counter.pid", "--instance", instance_id]
        argv += ["--address", f"127.0.0.1:{self.port}", "--listen", "off", *(more or ("--imds", "off"))]
        self.argv = [sys.executable, "-m", "holdfast.agent", *argv]
        self.start()

    def start(self) -> None:
        own = {"COUNTER_FOLDER": str(self.folder / "counter"), "COUNTER_PORT": str(self.port)}
        own["COUNTER_PYTHON"] = sys.executable
        with (self.folder / "log").open("ab") as log:
            self.agent = subprocess.Popen(self.argv, stderr=log, env={**environment(), **own, **self.environ})

    @property
    def watchdog(self) -> int:
        page = self.folder / "state" / "run" / "page"
        return int(watchdog.open_page(str(page))[1][watchdog.WATCHDOG_PID]) if page.exists() else 0

    @property
    def counter(self) -> int:
        try:
            return int((self.folder / "counter" / "counter.pid").read_text())
        except (OSError, ValueError):
            return 0

    def signal(self, number: int, *pids: int) -> None:
        """To these processes at once, those that live."""
        for pid in pids:
            if pid > 1 and alive(pid):
                os.kill(pid, number)

    @property
    def all(self) -> tuple[int, int, int]:
        return self.agent.pid, self.watchdog, self.counter

    def said(self) -> str:
        return (self.folder / "log").read_text()

    def close(self) -> None:
        """With all that its hooks have started, and what these were about to start."""
        self.signal(signal.SIGKILL, *self.all)
        self.agent.wait(PATIENCE_S)
        while left := pids_naming(f"COUNTER_FOLDER={self.folder / 'counter'}\0"):
            with contextlib.suppress(ProcessLookupError):
                self.signal(signal.SIGKILL, *left)
            time.sleep(0.02)


@dataclass
class Prober:
    """Asks every counter to add one, again and again, and keeps what was acknowledged."""

    machines: list[Machine]
    writes: list[Write] = field(default_factory=list)
    ends: bool = False

    def start(self) -> "Prober":
        self.thread = threading.Thread(target=self._probe, daemon=True)
        self.thread.start()
        return self

    def _probe(self) -> None:
        while not self.ends:
            for machine in list(self.machines):
                asked_s = time.monotonic()
                said = add(machine.port)
                if said is not None:
                    told_s = time.monotonic()
                    self.writes.append(
                        Write(asked_s, told_s, machine.instance_id, said["epoch"], said["count"])
                    )
            time.sleep(0.02)

    def close(self) -> None:
        self.ends = True
        self.thread.join(PATIENCE_S)

    def accidents(self) -> list[str]:
        """An epoch that two instances served, or one that served after a later one had."""
        found = []
        holders: dict[int, str] = {}
        newest: Write | None = None
        for write in sorted(self.writes, key=lambda write: write.told_s):
            holder = holders.setdefault(write.epoch, write.instance_id)
            if holder != write.instance_id:
                found.append(f"epoch {write.epoch} was served by {holder} and {write.instance_id}")
            if newest and write.epoch < newest.epoch and write.asked_s > newest.told_s:
                found.append(f"{write} after {newest}")
            if newest is None or write.epoch > newest.epoch:
                newest = write
        return found


def add(port: int) -> dict[str, Any] | None:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=0.5)
    try:
        line.request("POST", "/add")
        reply = line.getresponse()
        said: dict[str, Any] = json.loads(reply.read())
        return said if reply.status == 200 else None
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        line.close()


class Fleet:
    """One client with one group, on as many servers as wanted."""

    def __init__(
        self, folder: Path, *, database: str = "", servers: int = 1, group: str = "db", defaults: bool = False
    ) -> None:
        """`defaults`: leases as they are shipped, instead of short ones."""
        self.folder, self.group = folder, group
        times = f"lease_s = {LEASE_S}\nheartbeat_s = {HEARTBEAT_S}\nrequest_timeout_s = {TIMEOUT_S}\n"
        self.ports = [free_port() for _ in range(servers)]
        self.urls = [f"http://127.0.0.1:{port}" for port in self.ports]
        self.machines: list[Machine] = []
        self.begun = 0
        (folder / "holdfast.toml").write_text(
            f'[failover]\ndatabase = "{database or "sqlite:failover.db"}"\nserver = "{self.urls[0]}"\n'
            + ("" if defaults else times)
        )
        self.holdfast("clients", "add", "shop")
        self.token = (folder / "operator.token").read_text().strip()
        self.servers = [self.serve(port) for port in self.ports]
        for url in self.urls:
            eventually(lambda url=url: self._answers(url), "a server")  # type: ignore[misc]
        self.ask("POST", "/api/agents", {"agent_id": group, "settings": {"standbys": 2}})

    def holdfast(self, *argv: str) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "holdfast.cli", "failover", *argv],
            cwd=self.folder, env=environment(), check=True, capture_output=True, text=True,
        )  # fmt: skip
        return done.stdout

    def serve(self, port: int) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-m", "holdfast.cli", "failover", "server", "--listen", f"127.0.0.1:{port}"]
        with (self.folder / f"server-{port}.log").open("ab") as log:
            return subprocess.Popen(argv, cwd=self.folder, env=environment(), stderr=log, stdout=log)

    def _answers(self, url: str) -> bool:
        try:
            urllib.request.urlopen(f"{url}/health", timeout=2).close()
        except OSError:
            return False
        return True

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        request = urllib.request.Request(
            self.urls[0] + path,
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.loads(answer.read())["data"]
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(f"{method} {path}: {error.read().decode()}") from None

    def launch(self, *more: str, hooks: Path = HOOKS) -> Machine:
        """One more machine, under a name that was never used."""
        self.begun += 1
        made = self.ask("POST", f"/api/agents/{self.group}/enrolments", {})
        enrolment = json.dumps({"agent_id": self.group, "token": made["token"]})
        name = f"i-{self.begun}"
        self.machines.append(Machine(self.folder / name, name, self.urls, enrolment, *more, hooks=hooks))
        return self.machines[-1]

    def copy(self, machine: Machine) -> Machine:
        """A second machine with the identity of another, as a cloned image has; known here as its copy."""
        folder = self.folder / f"{machine.instance_id}-copy"
        (folder / "state").mkdir(parents=True)
        shutil.copy(machine.folder / "state" / "identity", folder / "state" / "identity")
        made = Machine(folder, machine.instance_id, self.urls, "used", "--imds", "off", hooks=HOOKS)
        made.instance_id = f"{machine.instance_id}-copy"
        self.machines.append(made)
        return made

    def primary(self) -> Machine | None:
        """The machine that the servers call primary."""
        found = self.ask("GET", f"/api/agents/{self.group}")
        instance_id = found.get("primary")
        name = instance_id.get("instance_id") if isinstance(instance_id, dict) else instance_id
        return next((machine for machine in self.machines if machine.instance_id == name), None)

    def close(self) -> None:
        for machine in self.machines:
            machine.close()
        for server in self.servers:
            if server.poll() is None:
                end(server)
