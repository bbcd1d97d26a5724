"""The guide, as a new user would follow it: `make stream`, three workers, a reshard, a kill, and back."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import boto3

from tests.real.presence import present
from tests.real.streams import KEYS
from tests.real.traces import HANG_S, processes_naming, wait_until
from tests.tidy.repository import ROOT
from tools.parts.catalog.kinesis_local import PART as KINESIS
from tools.parts.catalog.ministack import PART as MINISTACK

GUIDE = ROOT / "docs" / "guides" / "leases.md"
EXEC = "holdfast leases exec --config worker-{n}.toml -- consumer {{max_leases}}"


@contextmanager
def stream(folder: Path) -> Iterator[list[str]]:
    """What `make stream` starts and prints."""
    for part in (KINESIS, MINISTACK):
        present(part)
    argv = [sys.executable, "-m", "tools.parts.stream", "--folder", str(folder)]
    with subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True) as play:
        assert play.stdout is not None
        try:
            yield [line.strip() for line in _until(play.stdout, "Ctrl-C")]
        finally:
            play.send_signal(signal.SIGINT)
            last_words = play.stdout.read()
    assert play.returncode == 0
    assert "everything is stopped and removed" in last_words


def _until(said: IO[str], word: str) -> Iterator[str]:
    for line in said:
        yield line
        if word in line:
            return


def shell(folder: Path, line: str) -> str:
    # HOSTNAME is exported by many a shell, and must not become the id of all three.
    environ = {**os.environ, "HOSTNAME": "laptop"}
    argv = ["sh", "-c", f"cd {folder} && . ./env && {line}"]
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=HANG_S)
    assert done.returncode == 0, done.stderr
    return done.stdout


@contextmanager
def table(folder: Path) -> Iterator[Any]:
    """The DynamoDB that `make stream` has started, asked without a new process each time."""
    exported = dict(re.findall(r"export (\w+)=(.*)", (folder / "env").read_text()))
    client: Any = boto3.client("dynamodb", endpoint_url=exported["AWS_ENDPOINT_URL_DYNAMODB"], **KEYS)
    try:
        yield client
    finally:
        client.close()


def agreed(client: Any) -> int | None:
    """None before the first worker has made the table and the record."""
    try:
        answer = client.get_item(
            TableName="orders_meta", Key={"worker_id": {"S": "shop_coordinator"}}, ConsistentRead=True
        )
    except client.exceptions.ResourceNotFoundException:
        return None
    return int(answer["Item"]["max_leases_per_worker"]["N"]) if "Item" in answer else None


@contextmanager
def worker(folder: Path, n: int) -> Iterator[subprocess.Popen[bytes]]:
    argv = ["sh", "-c", f"cd {folder} && . ./env && exec {EXEC.format(n=n)}"]
    environ = {**os.environ, "HOSTNAME": "laptop"}
    process = subprocess.Popen(argv, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(HANG_S)


def test_the_cap_goes_10_20_30_and_back(tmp_path: Path) -> None:
    folder = tmp_path / "stream"
    with stream(folder) as printed, table(folder) as client, ExitStack() as closing:

        def becomes(cap: int, what: str) -> None:
            wait_until(lambda: agreed(client) == cap, what)

        assert EXEC.format(n=1) in printed
        first, second, third = (closing.enter_context(worker(folder, n)) for n in (1, 2, 3))
        becomes(10, "three workers share thirty shards")
        assert "60 open shards" in shell(folder, "reshard 60")
        becomes(20, "three workers share sixty")
        second.send_signal(signal.SIGKILL)
        becomes(30, "two workers share sixty")
        closing.enter_context(worker(folder, 2))
        becomes(20, "three again")
        shell(folder, "reshard 30")
        becomes(10, "as it began")
        assert json.loads(shell(folder, "holdfast leases status --json"))["agreed"] == 10
        history = shell(folder, "holdfast leases history")
        for change in ("nothing → 30/3", "30/3 → 60/3", "60/3 → 60/2", "60/2 → 60/3"):
            assert change in history
        assert all(process.poll() is None for process in (first, third))
    assert not folder.exists()
    assert processes_naming(str(folder)) == []


def test_the_guide_shows_the_commands_that_are_tried_here() -> None:
    text = GUIDE.read_text()
    for line in ("make stream", "reshard 60", "holdfast leases history", EXEC.format(n=1)):
        assert line in text
