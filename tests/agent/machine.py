"""A machine with a real agent: its processes, its folders, and hooks around a service that only sleeps."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from holdfast.agent import watchdog
from holdfast.agent.watchdog import now_ns
from tests.agent.wire_server import WireServer

PATIENCE_S = 60.0
HOOKS = {
    "on-promote": "setsid sleep 1000 >/dev/null 2>&1 & echo $! > $M/pid\necho promoted under $HOLDFAST_EPOCH",
    "on-demote": 'kill -KILL $(cat $M/pid) 2>/dev/null; rm -f $M/pid; echo 42 > $M/position; echo "bye"',
    "on-follow": 'echo "$HOLDFAST_PRIMARY $HOLDFAST_PRIMARY_ADDRESS" > $M/followed',
    "health": "test ! -e $M/ill || { echo it is ill; exit 1; }",
    "sync-status": 'echo "position=$(cat $M/position 2>/dev/null || echo 7)"; echo lag_s=0.5',
}


def hears(pid: int, sent: signal.Signals) -> bool:
    """Whether the process has a handler for this signal by now."""
    caught = next(
        line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("SigCgt:")
    )
    return bool(int(caught.split()[1], 16) >> (sent - 1) & 1)


def eventually(holds: Callable[[], Any], what: str = "") -> Any:
    """Wait for it; a busy machine is slow, not broken."""
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s:
        if found := holds():
            return found
        time.sleep(0.02)
    raise AssertionError(f"this never came: {what or holds}")


class Machine:
    def __init__(self, folder: Path, server: WireServer, instance_id: str = "i-1") -> None:
        self.folder, self.server, self.instance_id = folder, server, instance_id
        self.state, self.run = folder / "state", folder / "run"
        self.hooks = folder / "hooks"
        self.hooks.mkdir(parents=True)
        for name, body in HOOKS.items():
            self.write_hook(name, body)
        self.enrol = folder / "enrol"
        self.enrol.write_text(json.dumps({"agent_id": "a-1", "token": "once"}))
        self.agent: subprocess.Popen[bytes] | None = None
        self.log = folder / "log"
        self.extra: list[str] = []

    def write_hook(self, name: str, body: str) -> None:
        path = self.hooks / name
        path.write_text(f"#!/bin/sh\nM={self.folder}\necho {name} $HOLDFAST_EPOCH >> $M/ran\n{body}\n")
        path.chmod(0o755)

    @property
    def argv(self) -> list[str]:
        return [
            *(sys.executable, "-m", "holdfast.agent", "--server", self.server.url, "--imds", "off"),
            *("--enrol", str(self.enrol), "--hooks", str(self.hooks), "--listen", "127.0.0.1:0"),
            *("--state", str(self.state), "--run", str(self.run), "--instance", self.instance_id),
            *("--protect", f"pidfile:{self.folder}/pid", "--address", "127.0.0.1:1", *self.extra),
        ]

    def start(self) -> "Machine":
        with self.log.open("ab") as log:
            self.agent = subprocess.Popen(self.argv, stderr=log, env=environment())
        return self

    def serving(self) -> "Machine":
        """Started and promoted under epoch 1."""
        self.server.tell("promote", 1, self.instance_id)
        self.start()
        eventually(lambda: self.told("promote", "done"), f"a promotion: {self.said()}")
        self.server.tell("serve", 1, self.instance_id)
        return self

    def told(self, goal: str, state: str) -> dict[str, Any] | None:
        reports = self.server.reports()
        last = reports[-1] if reports else {}
        return last if (last.get("hook_goal"), last.get("hook_state")) == (goal, state) else None

    def service(self) -> int | None:
        """The process that serves, if one does."""
        try:
            pid = int((self.folder / "pid").read_text())
        except (OSError, ValueError):
            return None
        return pid if alive(pid) else None

    def words(self) -> memoryview:
        return watchdog.open_page(str(self.run / "page"))[1]

    def watchdog_pid(self) -> int:
        return int(self.words()[watchdog.WATCHDOG_PID])

    def lease_left_s(self) -> float:
        return (int(self.words()[watchdog.DEADLINE]) - now_ns()) / 1e9

    def ran(self) -> list[str]:
        path = self.folder / "ran"
        return (
            [line for line in path.read_text().splitlines() if line.startswith("on-")]
            if path.exists()
            else []
        )

    def said(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    def kill(self, number: int = signal.SIGKILL) -> None:
        assert self.agent is not None
        self.agent.send_signal(number)
        if number in (signal.SIGKILL, signal.SIGTERM):
            self.agent.wait(PATIENCE_S)

    def close(self) -> None:
        """End all that was started here, by its id: the agent first, so that it starts nothing more."""
        if self.agent is not None:
            self.agent.kill()
            self.agent.wait(PATIENCE_S)
        if (self.run / "page").exists():
            _kill(self.watchdog_pid())
            hook = int(self.words()[watchdog.HOOK])
            if hook > 1:
                _kill(-hook)
        if (pid := self.service()) is not None:
            _kill(pid)


def _kill(pid: int) -> None:
    """A process, or with a minus its whole group; one that has ended is as good."""
    if abs(pid) > 1:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def environment() -> dict[str, str]:
    root = Path(__file__).parents[2]
    return {**os.environ, "PYTHONPATH": str(root / "src")}
