"""What a person sees of a bad day, and does about it."""

import json
import sqlite3
import time
from dataclasses import replace
from pathlib import Path

import pytest

from holdfast.autoscaler.record import Cluster, Condemned
from holdfast.autoscaler.report.unseen import in_vain
from holdfast.cloud.kubernetes import UNREACHABLE
from holdfast.kernel import Busy, Event, Lock
from tests.cli.small_shell import Shell, shell_in
from tests.workloads import instance, node


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    return shell_in(tmp_path, monkeypatch)


def test_a_rebuilt_cluster_is_accepted_by_a_person_only(shell: Shell) -> None:
    shell.json("tick")
    shell.world.uid = "rebuilt"

    refused = shell("tick")
    assert refused.exit_code == 1
    assert "another cluster answers" in refused.output
    assert "another cluster answers" in shell("status").output
    done = shell("accept-cluster")

    assert (done.exit_code, "from now on" in done.output) == (0, True)
    assert shell.record().cluster_uid == "rebuilt"
    assert "already" in shell("accept-cluster").output
    assert shell("tick").exit_code == 0
    assert "an operator accepts the cluster rebuilt" in shell("history").output


def test_the_workers_of_a_cluster_that_is_gone_can_be_forgotten(shell: Shell) -> None:
    shell.json("tick")
    assert shell.record().joined

    found = shell.json("accept-cluster", "--forget-workers")

    assert found["changed"]
    assert shell.record().joined == ()


def test_a_dry_sweep_tells_of_lost_nodes_and_of_machines_that_only_seem_ours(shell: Shell) -> None:
    shell.json("tick")
    shell.world.its_nodes.pop(0)
    shell.world.machines.append(instance("i-forged", token=""))

    found = shell.json("sweep", "--dry-run")["found"]

    assert [(each["name"], each["finding"]) for each in found["found"]] == [
        ("i-0", "it had joined, and has no node any more")
    ]
    assert found["foreign"] == 1


def test_a_protected_machine_and_a_node_without_a_name_are_told_with_the_fix(shell: Shell) -> None:
    protected = Condemned("i-0", "1-a", "scale-down", 1, refused=3, retry_s=2)
    shell.world.machines.append(instance("i-own", private_ip="10.0.0.9"))
    shell.world.its_nodes.append(node("ip-10-0-0-9", instance_id="-"))
    shell.world.machines[-1] = instance("i-own", private_dns="ip-10-0-0-9.internal")
    shell.write(Cluster(condemned=(protected,)), Event("terminating", 1.0))

    problems = shell.json("status")["problems"]

    assert "--instance-id i-0 --no-disable-api-termination" in problems[0]
    assert "i-own runs as node ip-10-0-0-9" in problems[1]
    assert "provider id" in problems[1]


def test_the_status_of_a_cluster_that_does_not_answer_is_what_the_record_knows(shell: Shell) -> None:
    shell.json("tick")
    shell("pause", "--until", "2h", "--why", "lunch")
    shell.write(replace(shell.record(), lock=Lock("run-1", time.time() + 6)))
    shell.world.broken = Busy(f"{UNREACHABLE}: list nodes at https://k3s:6443: connection refused")

    done = shell("status")

    assert done.exit_code == 1
    said = " ".join(done.output.split())
    assert "paused 3 workers at the last look (2 to 10)" in said
    assert "Kubernetes API unreachable; nothing is changed (list nodes at https://k3s:6443: conn" in said
    assert "the pause ends (lunch)" in said
    assert "held by run-1, expires in 6 s" in said
    as_json = shell("status", "--json")
    assert as_json.exit_code == 1
    found = json.loads(as_json.stdout)
    assert (found["workers_at_last_look"], found["mode"]) == (3, "paused")
    assert found["unreachable"].startswith("Kubernetes API unreachable")


def test_so_long_does_it_not_answer() -> None:
    why = f"busy: {UNREACHABLE}: list nodes: no route"
    assert in_vain(why, 20.4) == f"{UNREACHABLE} for 20 s; nothing is changed (list nodes: no route)"
    assert in_vain("busy: throttled", 0.2) == "busy: throttled; nothing is changed"


def put_back(shell: Shell) -> None:
    """The record of an earlier moment beside the log of today, as a backup of one table leaves it."""
    shell.json("tick")
    with sqlite3.connect(shell.database) as file:
        earlier = file.execute("SELECT * FROM records").fetchall()
    for n in range(3):
        assert shell("pause", "--until", f"{n + 1}h", "--why", "a test").exit_code == 0
        shell("resume")
    with sqlite3.connect(shell.database) as file:
        file.execute("DELETE FROM records")
        file.executemany("INSERT INTO records VALUES (?, ?, ?, ?, ?)", earlier)
    file.close()


def test_a_record_that_was_put_back_goes_on_behind_its_log_and_the_tick_is_no_success(shell: Shell) -> None:
    put_back(shell)
    shell.world.its_nodes, shell.world.machines = [], []  # there is something to write down

    first = shell("tick")

    assert first.exit_code == 1, first.output
    assert "the record was restored: it was of version" in " ".join(first.output.split())
    assert "the record was restored" in " ".join(shell("history").output.split())
    again = shell("tick")
    assert "restored" not in again.output


def test_an_operator_who_writes_first_lets_a_restored_record_go_on_too(shell: Shell) -> None:
    put_back(shell)

    assert shell("pause", "--until", "2h", "--why", "a test").exit_code == 0

    kinds = [row["kind"] for row in shell.json("history", "--limit", "5")]
    assert kinds[-2:] == ["recordRestored", "paused"]
