"""`holdfast autoscaler …` as a process, with the settings of a site."""

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from holdfast.app.autoscaler.stores import Stores, open_stores
from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.settings import Settings
from holdfast.kernel import Event
from tests.real.traces import wait_until

DEADLINE_S = 600.0


@dataclass(frozen=True)
class Shell:
    settings: Path
    environ: dict[str, str]

    def arguments(self, *said: str) -> list[str]:
        return [sys.executable, "-m", "holdfast.cli", "autoscaler", *said, "--config", str(self.settings)]

    def surroundings(self, **more: str) -> dict[str, str]:
        plain = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "K8S_"))}
        return {**plain, **self.environ, **more}

    def run(self, *said: str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.arguments(*said),
            env=self.surroundings(**more),
            capture_output=True,
            text=True,
            timeout=DEADLINE_S,
        )

    def json(self, *said: str, **more: str) -> Any:
        done = self.run(*said, "--json", **more)
        assert done.returncode == 0, done.stderr + done.stdout
        return json.loads(done.stdout)

    def tick_until_serving(self, workers: int, **more: str) -> dict[str, Any]:
        """Tick after tick, as a schedule would; the status once so many serve."""
        deadline_s = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline_s:
            ticked = self.json("tick", "--budget", "20", **more)
            if ticked["outcome"] == "waiting":
                time.sleep(0.3)
                continue
            found: dict[str, Any] = self.json("status", **more)
            if found["serving"] == workers and found["action"] is None:
                return found
        raise AssertionError(f"{workers} workers do not serve within {DEADLINE_S:.0f} s: {ticked}")

    def loop_until_serving(self, workers: int, **more: str) -> dict[str, Any]:
        """The same by one process that goes on: no second is lost to the start of each tick."""
        deadline_s = time.monotonic() + DEADLINE_S
        with self.looping(1, signal.SIGTERM, **more):
            while time.monotonic() < deadline_s:
                wait_until(lambda: self._rests_with(workers), f"{workers} workers serve")
                found: dict[str, Any] = self.json("status", **more)
                if found["serving"] == workers and found["action"] is None:
                    return found
        raise AssertionError(f"{workers} workers do not serve within {DEADLINE_S:.0f} s: {found}")

    def _rests_with(self, workers: int) -> bool:
        record = self.record()
        return record.worker_count == workers and record.scale_up is None and record.scale_down is None

    @contextmanager
    def looping(
        self, every_s: int, ends_by: signal.Signals = signal.SIGKILL, /, **more: str
    ) -> Iterator[None]:
        """`run`, for as long as the block lasts; what it says stays beside the settings.

        By SIGTERM it ends after its turn, and leaves no lock behind.
        """
        words = self.arguments("run", "--every", str(every_s))
        with (
            self.settings.with_name("loop.log").open("w") as log,
            subprocess.Popen(words, env=self.surroundings(**more), stderr=log) as running,
        ):
            try:
                yield
            finally:
                running.send_signal(ends_by)

    def record(self) -> Cluster:
        with self.stores() as stores:
            return stores.store.read(SUBJECT).value

    def events(self) -> list[Event]:
        """The whole log, without the second that a process needs to begin."""
        with self.stores() as stores:
            return [logged.event for logged in stores.store.events(SUBJECT)]

    def stores(self) -> Stores:
        database = tomllib.loads(self.settings.read_text())["autoscaler"]["database"]
        return open_stores(Settings(database=database))
