"""The command line on a small world: what stands still is the cluster, and the record is a real file."""

import json
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from holdfast.app.autoscaler import wiring
from holdfast.app.autoscaler.stores import open_stores
from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.settings import Settings
from holdfast.cli import main
from holdfast.kernel import Event, Write
from tests.cli.small_world import SmallWorld


class Shell:
    """A command line whose cluster and cloud are small, and whose record is a real file."""

    def __init__(self, folder: Path) -> None:
        self.world = SmallWorld.of(3)
        self.database = str(folder / "state.db")
        self.environ = {
            "DATABASE": self.database,
            "WORKER_AMI_ID": "ami-1",
            "WORKER_SUBNET_IDS": "subnet-a,subnet-b,subnet-c",
        }

    def __call__(self, *arguments: str, **environ: str) -> Result:
        return CliRunner().invoke(main, ["autoscaler", *arguments], env={**self.environ, **environ})

    def json(self, *arguments: str, **environ: str) -> Any:
        done = self(*arguments, "--json", **environ)
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    def record(self) -> Cluster:
        with open_stores(Settings(database=self.database)) as stores:
            return stores.store.read(SUBJECT).value

    def write(self, cluster: Cluster, *events: Event) -> None:
        with open_stores(Settings(database=self.database)) as stores:
            found = stores.store.read(SUBJECT)
            write = Write(cluster, events or (Event("changed", time.time()),))
            stores.store.commit(SUBJECT, found, write, f"commit-{found.version}")


def shell_in(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Everything that it leaves behind lies in this folder."""
    made = Shell(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(wiring, "assemble", lambda *said, **more: made.world.autoscaler(*said, **more))
    return made
