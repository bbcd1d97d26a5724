"""A cluster shares nothing with its neighbour, and leaves nothing behind, however its test ends."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.real.traces import HANG_S
from tools.parts.cluster import Cluster, start_cluster
from tools.parts.kubernetes.api import Api

PROGRAMS = {"etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kwok"}
CHILD = """
import json, time
from tools.parts.cluster import start_cluster
cluster = start_cluster()
said = [str(cluster.running.folder), cluster.server, str(cluster.ca_file), cluster.admin_token]
print(json.dumps(said), flush=True)
time.sleep(600)
"""


def processes_of(folder: Path) -> dict[int, str]:
    """Every process whose command line names the folder: its id, and the name it was called by."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue  # it ended while we looked
        if any(str(folder) in word for word in words):
            found[int(entry.name)] = Path(words[0]).name
    return found


def test_a_second_cluster_shares_nothing_and_a_killed_test_leaves_nothing_of_it(cluster: Cluster) -> None:
    with subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            folder, second = _read(child.stdout.readline())
            _shares_nothing(cluster, second)
            assert set(processes_of(folder).values()) >= PROGRAMS
        finally:
            os.kill(child.pid, signal.SIGKILL)
    deadline_s = time.monotonic() + HANG_S
    while (left := processes_of(folder)) or folder.exists():
        assert time.monotonic() < deadline_s, f"still there: {left or folder}"
        time.sleep(0.1)
    assert cluster.request("GET", "/readyz").status == 200


@pytest.mark.usefixtures("installed")
def test_a_stopped_cluster_leaves_nothing() -> None:
    started = start_cluster()
    folder = started.running.folder
    assert set(processes_of(folder).values()) >= PROGRAMS
    started.stop()
    assert processes_of(folder) == {}
    assert not folder.exists()


def _read(line: str) -> tuple[Path, Api]:
    folder, server, ca_file, token = json.loads(line)
    return Path(folder), Api(server, Path(ca_file), token)


def _shares_nothing(cluster: Cluster, second: Api) -> None:
    name = "only-in-the-first"
    cluster.add_node(name)
    cluster.wait_until_ready(name)
    assert name not in _node_names(second.request("GET", "/api/v1/nodes").ok())
    assert second.request("GET", "/api/v1/nodes", token=cluster.admin_token).status == 401
    cluster.request("DELETE", f"/api/v1/nodes/{name}").ok()


def _node_names(listed: Any) -> list[str]:
    return [node["metadata"]["name"] for node in listed["items"]]
