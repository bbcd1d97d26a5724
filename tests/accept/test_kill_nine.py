"""Workers killed at any instant lose nothing that was acknowledged, and tear nothing."""

import json
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.sql.sqlite import Database
from holdfast.app.autoscaler.stores import sqlite_cluster_store
from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.record import Cluster
from holdfast.kernel import Do, DriverPorts, Write, advance
from tests.deep import cases
from tests.proof import prove
from tools.kill_nine.judge import Acknowledged, judge
from tools.kill_nine.worker import AddWorkers, Reporting, WallClock, Wish, locked_by

ROOT = Path(__file__).parent.parent.parent
KILLS = (40, 200)


def run(*argv: str) -> Any:
    """What a program of ours prints, as JSON; it dies with this process, whatever kills it."""
    ended = subprocess.run(
        [sys.executable, "-m", *argv], cwd=ROOT, capture_output=True, text=True, timeout=600, check=False
    )
    assert ended.stdout, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.parametrize("kills", cases(KILLS, deep=KILLS[1:]))
def test_so_many_kills_lose_nothing_that_was_acknowledged(tmp_path: Path, kills: int) -> None:
    found = run(
        "tools.kill_nine", "--kills", str(kills), "--seed", "2", "--file", str(tmp_path / "s.db"), "--json"
    )
    assert found["problems"] == [], json.dumps(found, indent=2)
    assert found["kills"] == kills
    assert found["inside_a_commit"] >= kills / 5, "kills between commits prove little"
    assert found["all_at_once"] >= 1, "the file was never left to recovery alone"
    assert found["acknowledged"] >= kills, "each kill waits for a commit after the one before"
    assert found["conflicts"] > 0, "no two workers raced"
    figures = {name: found[name] for name in ("kills", "acknowledged", "inside_a_commit", "all_at_once")}
    prove("kill9", "sqlite", **figures)


def test_commits_that_are_no_transactions_are_caught(tmp_path: Path) -> None:
    problems = run("tests.accept.torn_commits", str(tmp_path / "s.db"), "60")
    assert any("follows version" in problem or "the log ends with" in problem for problem in problems)
    prove("variant", "a commit is no transaction", caught_by="kill -9")


# The judge is judged: each kind of damage is seen.


@pytest.fixture
def changed_file(tmp_path: Path) -> tuple[str, list[Acknowledged], set[str]]:
    """A file that one worker has changed for a while, and what it reported."""
    path, lines = str(tmp_path / "s.db"), list[str]()
    workflow = locked_by("w-1", 60)
    with closing(Database(path)) as database:
        ports: DriverPorts[Cluster, Wish, AddWorkers] = DriverPorts.on(
            Reporting(sqlite_cluster_store(database), lines.append),
            SUBJECT,
            look=lambda: Wish(uuid.uuid4().hex, 2),
            perform=lambda effect: "w-1",
            clock=WallClock(),
            new_id=lambda: uuid.uuid4().hex,
            random=lambda: 1.0,
        )
        taken = [type(advance(ports, workflow)) for _ in range(9)]
    assert {Write, Do} <= set(taken)
    told = [line.split() for line in lines]
    acknowledged = [(int(version), commit_id) for what, version, commit_id in told if what == "done"]
    return path, acknowledged, {commit_id for _, _, commit_id in told}


def test_an_unharmed_file_is_found_unharmed(changed_file: tuple[str, list[Acknowledged], set[str]]) -> None:
    assert len(changed_file[1]) >= 8
    assert judge(*changed_file) == []


@pytest.mark.parametrize(
    ("damage", "seen"),
    [
        ("DELETE FROM events WHERE version = 4", "version 5 follows version 3"),
        ("DELETE FROM events WHERE version = (SELECT max(version) FROM events)", "was acknowledged to"),
        ("UPDATE events SET commit_id = 'x' WHERE version = 3", "which no worker ever tried"),
        ("DELETE FROM events WHERE version = 3 AND n = 0", "stands where 0 belongs"),
        (
            "UPDATE events SET commit_id = (SELECT max(commit_id) FROM events) WHERE version IN (1, 2)",
            "one commit id made two versions",
        ),
        ("UPDATE events SET commit_id = 'x' WHERE version = 3 AND n = 1", "has two commit ids"),
        ("UPDATE records SET body = json_set(body, '$.workerCount', 1)", "its events make"),
        ("UPDATE records SET version = version - 1", "the log ends with"),
        ("UPDATE records SET body = '{'", "cannot be read"),
        ("UPDATE events SET kind = 'begun' WHERE version = 2", "cannot happen to"),
    ],
)
def test_damage_is_seen(
    changed_file: tuple[str, list[Acknowledged], set[str]], damage: str, seen: str
) -> None:
    with closing(sqlite3.connect(changed_file[0])) as raw:
        assert raw.execute(damage).rowcount > 0
        raw.commit()
    assert any(seen in problem for problem in judge(*changed_file)), judge(*changed_file)


def overwrite(path: str, at: Callable[[int], int]) -> None:
    content = bytearray(Path(path).read_bytes())
    place = at(len(content))
    content[place : place + 64] = b"\xa5" * 64
    Path(path).write_bytes(content)


@pytest.mark.parametrize("at", [lambda size: 100, lambda size: size - 4096], ids=["first page", "last page"])
def test_overwritten_pages_are_seen(
    changed_file: tuple[str, list[Acknowledged], set[str]], at: Callable[[int], int]
) -> None:
    overwrite(changed_file[0], at)
    assert judge(*changed_file)
