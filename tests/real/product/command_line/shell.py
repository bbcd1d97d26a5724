"""`holdfast autoscaler …` as a process, with the settings of a site."""

import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

    def tick_until_serving(self, workers: int) -> dict[str, Any]:
        """Tick after tick, as a schedule would; the status once so many serve."""
        deadline_s = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline_s:
            self.json("tick", "--budget", "20")
            found: dict[str, Any] = self.json("status")
            if found["serving"] == workers and found["action"] is None:
                return found
        raise AssertionError(f"{workers} workers do not serve within {DEADLINE_S:.0f} s: {found}")
