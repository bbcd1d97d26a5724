"""`leases exec` as a user runs it: restarts one at a time, signals, process 1, ids, endpoints."""

import json
import os
import shutil
import signal
import subprocess
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.real.kcl_worker import prepare_leases
from tests.real.product.leases.site import HOLDFAST, Site, executing
from tests.real.traces import wait_until
from tools.parts.ports import free_port

# Each start and each end is a line in a file; to end takes half a second, so that two at once would be seen.
WORKER = """
say() { echo "$1 $HOLDFAST_WORKER_ID $2" >> "$LOG"; }
say start "$1"
trap 'say end; sleep 0.5; say gone; exit 7' TERM
while :; do sleep 0.05; done
"""


def test_supervisors_restart_one_after_the_other_and_only_as_many_as_it_takes(
    site: Site, tmp_path: Path
) -> None:
    site.streams.make(site.stream, 6)
    log = tmp_path / "log"
    client = site.tables
    with ExitStack() as closing:
        prepare_leases(client, site.app, site.streams.open_shards(site.stream))
        for n in (1, 2, 3):
            closing.enter_context(
                executing(
                    site,
                    f"worker-{n}",
                    *("sh", "-c", WORKER, "worker", "{max_leases}"),
                    KDS_WORKER_COUNT="3",
                    LEASE_HEADROOM_WORKERS="0",
                    LOG=str(log),
                )
            )
        wait_until(lambda: log.exists() and log.read_text().count("start") == 3, "all three have begun")
        assert sorted(line.split()[2] for line in lines(log)) == ["2", "2", "2"]
        wait_until(lambda: len(told(site)) == 3, "each row says what its command was told")

        # Twelve rows more, as after a reshard: each of the three must be told six.
        for n in range(100, 112):
            row = {"leaseKey": {"S": f"shardId-{n}"}, "leaseCounter": {"N": "0"}}
            client.put_item(TableName=site.app, Item={**row, "checkpoint": {"S": "SHARD_END"}})
        wait_until(lambda: told(site) == [6, 6, 6], "each was started anew")
        wait_until(lambda: "lockOwner" not in site.agreed, "the last turn has ended")
        happened = lines(log)[3:]
        assert [line.split()[0] for line in happened] == ["end", "gone", "start"] * 3, "never two at once"
        for n in range(0, 9, 3):
            assert len({line.split()[1] for line in happened[n : n + 3]}) == 1, happened

        # Fewer rows: what is told falls, and no command is started anew for that.
        for n in range(100, 112):
            client.delete_item(TableName=site.app, Key={"leaseKey": {"S": f"shardId-{n}"}})
        before = len(lines(log))
        beats = {key: int(row["heartbeat"]) for key, row in site.rows().items() if "heartbeat" in row}
        wait_until(
            lambda: all(int(site.rows()[key]["heartbeat"]) > beat + 6 for key, beat in beats.items()),
            "six beats of each",
        )
        assert len(lines(log)) == before
    assert site.left_behind() == []


def lines(log: Path) -> list[str]:
    return log.read_text().splitlines()


def told(site: Site) -> list[int]:
    return [int(row["toldLeases"]) for row in site.rows().values() if "toldLeases" in row]


def test_the_row_is_gone_with_the_worker_and_the_code_is_the_commands(site: Site, tmp_path: Path) -> None:
    site.streams.make(site.stream, 3)
    log = tmp_path / "log"
    command = ("sh", "-c", WORKER, "worker", "{max_leases}")
    with executing(site, "worker-1", *command, KDS_WORKER_COUNT="1", LOG=str(log)) as worker:
        wait_until(lambda: log.exists() and "start" in log.read_text(), "it has begun")
        wait_until(lambda: "worker-1" in site.rows(), "its row is there")
        assert worker.end() == 7
    assert set(site.rows()) == {f"{site.app}_coordinator"}
    assert site.left_behind() == []


def test_the_newer_process_of_one_id_stays_and_the_older_ends_its_command_and_says_why(
    site: Site,
) -> None:
    site.streams.make(site.stream, 3)
    words = ("worker-1", "sleep", "600")
    with executing(site, *words, KDS_WORKER_COUNT="2") as older:
        wait_until(lambda: older.says("started sleep"), "the older has begun")
        with executing(site, *words, KDS_WORKER_COUNT="2") as newer:
            wait_until(lambda: older.process.poll() is not None, "the older has ended")
            assert older.process.returncode == 1
            wait_until(lambda: older.says("another process has joined under this id"), "it says why")
            wait_until(lambda: newer.says("started sleep"), "the newer has begun")
            assert newer.process.poll() is None
            assert int(site.rows()["worker-1"]["heartbeat"]) > 0
    assert site.left_behind() == []


def test_it_may_be_process_1_of_a_container(site: Site, tmp_path: Path) -> None:
    """In a PID namespace of its own there is no other init: orphans are its to reap."""
    unshare = shutil.which("unshare")
    assert unshare is not None, "install util-linux"
    site.streams.make(site.stream, 3)
    script = """
    for n in 1 2 3; do sh -c 'setsid sleep 0.1 & :'; done
    sleep 1
    for stat in /proc/[0-9]*/stat; do cat "$stat"; done > "$LOG/processes"
    echo done > "$LOG/done"; sleep 600
    """
    argv = [
        unshare,
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        "--mount-proc",
        "--kill-child",
        *HOLDFAST,
    ]
    environment = site.environment("worker-1", KDS_WORKER_COUNT="1", LOG=str(tmp_path))
    process = subprocess.Popen(
        [*argv, "exec", "--", "sh", "-c", script], env=environment, stderr=subprocess.PIPE, text=True
    )
    try:
        wait_until(
            lambda: (tmp_path / "done").exists() or process.poll() is not None,
            "the command has looked around",
        )
        assert process.poll() is None, process.communicate()[1]
        states = [
            line.rpartition(")")[2].split()[0] for line in (tmp_path / "processes").read_text().splitlines()
        ]
        assert len(states) >= 2
        assert "Z" not in states, "no zombie is left"
        inside = subprocess.run(
            ["pgrep", "--parent", str(process.pid)], capture_output=True, text=True, check=True
        ).stdout.split()
        os.kill(int(inside[0]), signal.SIGTERM)
        assert process.wait(60) == 143
    finally:
        process.kill()
        process.communicate()
    assert site.left_behind() == []


def test_health_ready_and_metrics_are_served(site: Site) -> None:
    site.streams.make(site.stream, 3)
    port = free_port()
    with executing(site, "worker-1", "sleep", "600", KDS_WORKER_COUNT="1", HEALTH_PORT=str(port)) as worker:
        wait_until(lambda: worker.says("started sleep"), "it has begun")
        wait_until(lambda: "holdfast_leases_unread" in _get(port, "metrics"), "its numbers are there")
        assert (
            f'holdfast_leases_shards{{app="{site.app}",stream="{site.stream}",worker="worker-1"}} 3'
            in _get(port, "metrics")
        )
        assert '"ready": true' in _get(port, "ready")


def _get(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/{path}") as answer:
        return str(answer.read().decode())


NO_KEYS = {
    "AWS_ACCESS_KEY_ID": "",
    "AWS_SECRET_ACCESS_KEY": "",
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@pytest.mark.parametrize(
    ("words", "more", "code", "message"),
    [
        (["exec", "--", "nosuchprogram"], {}, 1, "command 'nosuchprogram': there is no such program"),
        (["exec"], {}, 2, "Missing argument"),
        (["exec", "--", "true"], {"KDS_WORKER_COUNT": "three"}, 2, "KDS_WORKER_COUNT = 'three'"),
        (["exec", "--", "true"], {"STREAM_NAME": "nosuch"}, 1, "there is no stream nosuch in this region"),
        (
            ["exec", "--", "echo", "{max_leases}"],
            {"ENABLE_DYNAMIC_MAX_LEASES": "false"},
            1,
            "enable_dynamic_max_leases is false, and the command asks for {max_leases}",
        ),
        (["cap"], {"KDS_WORKER_COUNT": "three"}, 2, "KDS_WORKER_COUNT = 'three'"),
        (["cap"], {"MAX_LEASES_LIMIT": "0"}, 2, "MAX_LEASES_LIMIT = 0"),
        (["cap"], {"STREAM_NAME": "nosuch"}, 1, "there is no stream nosuch in this region"),
        (["cap"], {"KDS_WORKER_COUNT": "0"}, 1, "set KDS_WORKER_COUNT to the number of workers"),
        (["cap"], {"WORKER_ID": "other_coordinator"}, 1, "ends in _coordinator"),
        (["cap"], NO_KEYS, 1, "Sign in to AWS: set AWS_PROFILE or the keys"),
        (["cap"], {"AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:9"}, 1, "AWS_ENDPOINT_URL, and try again"),
        (["cap"], {"ENABLE_DYNAMIC_MAX_LEASES": "false"}, 1, "enable_dynamic_max_leases is false"),
        (["cap", "--properties", "/nosuch/file"], {}, 1, "--properties /nosuch/file"),
    ],
)
def test_what_is_wrong_is_told_with_its_fix_and_stdout_stays_empty(
    site: Site, words: list[str], more: dict[str, str], code: int, message: str
) -> None:
    site.streams.make(site.stream, 3)
    done = site.run(*words, **{"KDS_WORKER_COUNT": "1", **more})
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_without_a_dynamic_cap_a_command_runs_as_it_is(site: Site) -> None:
    script = 'echo "told ${HOLDFAST_MAX_LEASES-nothing}"; exit 5'
    done = site.run("exec", "--", "sh", "-c", script, ENABLE_DYNAMIC_MAX_LEASES="false")
    assert done.returncode == 5
    assert done.stdout == "told nothing\n"


def test_cap_prints_the_told_number_alone_and_sets_it_in_a_file(site: Site, tmp_path: Path) -> None:
    site.streams.make(site.stream, 30)
    properties = tmp_path / "kcl.properties"
    properties.write_text("applicationName = shop\n")
    done = site.run("cap", "--properties", str(properties), KDS_WORKER_COUNT="3")
    assert (done.returncode, done.stdout) == (0, "10\n"), done.stderr
    assert properties.read_text() == "applicationName = shop\nmaxLeasesForWorker = 10\n"
    prepare_leases(site.tables, site.app, [f"shardId-{n}" for n in range(36)])
    assert site.run("cap", KDS_WORKER_COUNT="3").stdout == "12\n"
    assert site.run("cap", KDS_WORKER_COUNT="3", LEASE_HEADROOM_WORKERS="1").stdout == "18\n"
    found = json.loads(site.run("cap", "--json", KDS_WORKER_COUNT="3").stdout)
    assert found == {"max_leases": 12, "agreed": 12, "lease_rows": 36}
