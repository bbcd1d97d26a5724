"""`python -m tools.parts.boot --ec2 URL --folder F --join JSON`: boots what EC2 sets running."""

import argparse
import json
import threading
import time
import urllib.error
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tools.parts.boot.cluster import Cluster, Join, KubernetesApi, RecordedCluster
from tools.parts.boot.kubernetes import KubernetesCluster
from tools.parts.boot.machine import Machine
from tools.parts.imds.client import ask

BOOTING_MAX = 4
"""So many run their user data side by side."""
OFF = ("shutting-down", "terminated", "stopping", "stopped")


class PowerPlant:
    """Turns machines on and off as EC2's log says."""

    def __init__(self, ec2: str, folder: Path, join: Join, cluster: Cluster) -> None:
        self._ec2, self._folder, self._join, self._cluster = ec2, folder, join, cluster
        self._machines: dict[str, Machine] = {}
        self._room = threading.BoundedSemaphore(BOOTING_MAX)
        self._read = 0

    def follow(self) -> None:
        """Read on in the log, and act on the last thing it says of each instance."""
        entries = ask("GET", f"{self._ec2}/_control/log?after={self._read}&wait_s=10")["entries"]
        last: Mapping[str, str] = {e["instance"]: e["state"] for e in entries if e["kind"] == "state"}
        for instance_id, state in last.items():
            if state == "running" and instance_id not in self._machines:
                self._turn_on(instance_id)
            elif state in OFF and instance_id in self._machines:
                self._machines.pop(instance_id).power_off()
        self._read += len(entries)

    def _turn_on(self, instance_id: str) -> None:
        url = f"{self._ec2}/_control/instances/{instance_id}"
        facts: dict[str, Any] = {**ask("GET", url), "ec2": self._ec2}
        if facts["state"] != "running":
            return
        folder = self._folder / "machines" / instance_id
        publish = partial(_publish, f"{url}/console")
        self._machines[instance_id] = Machine(facts, folder, self._join, self._cluster, publish, self._room)
        self._machines[instance_id].start()


def _publish(url: str, console: str) -> None:
    ask("PUT", url, console.encode())


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools.parts.boot", description=__doc__)
    parser.add_argument("--ec2", required=True, help="the stand-in's endpoint")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--join", required=True, help="JSON: server, token, and perhaps api")
    asked = parser.parse_args()
    wanted = json.loads(asked.join)
    api = KubernetesApi(**wanted.pop("api")) if wanted.get("api") else None
    cluster: Cluster = KubernetesCluster(api) if api else RecordedCluster(asked.folder / "nodes")
    plant = PowerPlant(asked.ec2, asked.folder, Join(**{**wanted, "api": api}), cluster)
    (asked.folder / "ready").touch()
    while True:
        try:
            plant.follow()
        except urllib.error.URLError:
            time.sleep(0.5)  # the stand-in is gone, or not there yet


if __name__ == "__main__":
    main()
