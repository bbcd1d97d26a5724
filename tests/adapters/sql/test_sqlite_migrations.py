"""A SQLite file is brought up to date once, keeps what it holds, and is refused if it is from the future."""

import re
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.sql.database import SqlDatabase
from holdfast.adapters.sql.groups import SqlGroupStore
from holdfast.adapters.sql.migrations import Migration, migrations
from holdfast.adapters.sql.sqlite import Database, migrate
from holdfast.adapters.sql.sqlite.caps import SqliteCapStore
from holdfast.adapters.sql.sqlite.dialect import SqliteDialect
from holdfast.adapters.sql.sqlite.inbox import SqliteInbox
from holdfast.app.autoscaler.stores import sqlite_cluster_store
from holdfast.autoscaler.codec import SUBJECT
from holdfast.cloud import Notice, NoticeKind
from holdfast.failover.roles import Status
from holdfast.kernel import Busy, Corrupt, Event, Invalid, Write
from holdfast.leases.cap import View
from tests.variants import broken

BEFORE = Path(__file__).parent / "files" / "before_migrations.sql"
WRITTEN_S = 1_767_225_600
TABLES = ("records", "events", "notices")
GROUPS = ("agents", "instances")
KNOWN = [(each.number, each.name) for each in migrations()]
NEXT = len(KNOWN) + 1


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A file as a release without migrations left it."""
    path = tmp_path / "old.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(BEFORE.read_text())
    return path


def opened(path: Path) -> Database:
    return Database(str(path), now_s=lambda: float(WRITTEN_S))


def asked(path: Path, sql: str) -> list[Any]:
    """By a connection of its own, which migrates nothing."""
    with closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchall()


def content(path: Path) -> Mapping[str, list[Any]]:
    return {table: asked(path, f"SELECT * FROM {table} ORDER BY 1, 2") for table in TABLES}


def numbers(path: Path) -> list[Any]:
    return asked(path, "SELECT number, name FROM schema_migrations")


def test_a_file_from_before_migrations_keeps_every_row_and_is_marked(old: Path) -> None:
    before = content(old)
    assert {table: len(rows) for table, rows in before.items()} == {"records": 3, "events": 5, "notices": 2}

    opened(old).close()

    after = content(old)
    assert {row[-1] for row in after["events"]} == {""}, "what has come since has its default"
    of_groups, others = [row for row in before["events"] if row[0] == "agents"], before["events"][1:]
    assert {**after, "events": [row[:-1] for row in after["events"]]} == {**before, "events": others}
    assert [row[2] for row in of_groups] == [row[1] for row in asked(old, "SELECT * FROM system_events")]
    assert numbers(old) == KNOWN


def test_every_store_reads_what_was_written_before_migrations(old: Path) -> None:
    with closing(opened(old)) as database:
        clusters = sqlite_cluster_store(database)
        caps = SqliteCapStore(database, stream_name="orders", app_name="billing")

        found = clusters.read(SUBJECT)
        assert (found.version, found.commit_id, found.value.worker_count) == (2, "commit-2", 3)
        assert found.value.scale_up is not None
        assert found.value.scale_up.launches[0].template_version == 3
        told = [(each.version, each.n, each.event.kind) for each in clusters.events(SUBJECT)]
        assert told == [(1, 0, "observed"), (2, 0, "scaleUpStarted"), (2, 1, "launchIntended")]
        assert caps.read("billing_coordinator").value.view == View(30, 4)
        assert list(caps.rows().taken) == ["worker-1"], "a row without its stream is left alone"
        assert SqliteInbox(database).waiting() == [
            Notice("i-0001", NoticeKind.INTERRUPTION, WRITTEN_S + 90, WRITTEN_S + 210),
            Notice("i-0002", NoticeKind.REBALANCE, WRITTEN_S + 95),
        ]


def test_a_group_from_before_clients_is_one_of_the_client_default(old: Path) -> None:
    """Its primary, its lease, its version and its log are what they were."""
    with closing(SqlDatabase(SqliteDialect(str(old), now_s=lambda: float(WRITTEN_S)))) as database:
        groups = SqlGroupStore(database)
        found, seen = groups.read("default/agent-1"), groups.look("default/agent-1")

        assert (found.version, found.commit_id, found.value.epoch) == (1, "commit-1", 1)
        assert [(m.instance_id, m.status) for m in found.value.members] == [
            ("i-a", Status.PRIMARY),
            ("i-b", Status.REPLICA),
        ]
        assert seen.rows[0].lease_until_s - seen.now_s == pytest.approx(30.3)
        assert [logged.event.kind for logged in groups.events("default/agent-1")] == ["groupCreated"]
        done = groups.commit(
            "default/agent-1", found, Write(found.value, (Event("goesOn", 1.0),)), "commit-2"
        )
        assert done.version == 2


def test_a_file_from_before_migrations_goes_on_with_its_record(old: Path) -> None:
    with closing(opened(old)) as database:
        store = sqlite_cluster_store(database)
        found = store.read(SUBJECT)
        store.commit(SUBJECT, found, Write(found.value, (Event("goesOn", WRITTEN_S + 120),)), "commit-3")

        assert store.read(SUBJECT).version == 3
        assert len(store.events(SUBJECT)) == 4


def made(folder: Path) -> Path:
    path = folder / "new.db"
    opened(path).close()
    return path


def test_a_new_file_has_the_tables_of_an_old_one(old: Path, tmp_path: Path) -> None:
    new = made(tmp_path)
    opened(old).close()

    shapes = [
        {
            table: asked(path, f"PRAGMA table_info({table})")
            for table in (*TABLES, *GROUPS, "schema_migrations")
        }
        for path in (new, old)
    ]
    assert shapes[0] == shapes[1]
    assert numbers(new) == KNOWN


def test_a_second_open_changes_nothing(old: Path) -> None:
    opened(old).close()
    before = old.read_bytes()

    Database(str(old), now_s=lambda: WRITTEN_S + 1_000.0).close()

    assert old.read_bytes() == before


OPEN = """
import sys
from holdfast.adapters.sql.sqlite import Database
sys.stdin.readline()
Database(sys.argv[1]).close()
"""


@pytest.mark.parametrize("find", [lambda old: old, lambda old: old.with_name("new.db")], ids=["old", "new"])
def test_processes_that_open_it_at_once_migrate_it_once(old: Path, find: Callable[[Path], Path]) -> None:
    path = find(old)
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN, str(path)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()

    said = [racer.communicate(timeout=60)[1] for racer in racers]

    assert [racer.returncode for racer in racers] == [0, 0, 0], said
    assert numbers(path) == KNOWN


def test_a_process_that_looked_too_early_applies_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both looks said "not migrated"; the second transaction finds that the first has done it."""
    without_guard = broken(
        migrate.__name__, {"if db.execute(NEWEST).fetchone()[0] < migration.number:": "if True:"}
    )
    with closing(opened(made(tmp_path))) as database:
        for module in (migrate, without_guard):
            monkeypatch.setattr(module, "schema_number", lambda _: 0)

        migrate.migrate(database, migrations())
        with pytest.raises(Corrupt, match="UNIQUE"):
            without_guard.migrate(database, migrations())


def test_a_file_of_a_newer_release_is_refused_by_name_and_untouched(tmp_path: Path) -> None:
    path = made(tmp_path)
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("INSERT INTO schema_migrations VALUES (99, '0099_from_the_future', 0)")
    before = path.read_bytes()

    with pytest.raises(Invalid) as refused:
        opened(path)

    assert str(refused.value).startswith(
        f"{path}: its schema has number 99, and this release knows {len(KNOWN)} at most"
    )
    assert path.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["new.db"]


def test_a_migration_that_fails_half_way_leaves_nothing_behind(tmp_path: Path) -> None:
    wrong = Migration(NEXT, f"{NEXT:04d}_wrong", "CREATE TABLE half (a);\nCREATE TABLE half (a);\n")
    path = made(tmp_path)
    with closing(opened(path)) as database, pytest.raises(Busy, match="half already exists"):
        migrate.migrate(database, [*migrations(), wrong])

    assert numbers(path) == KNOWN
    assert asked(path, "SELECT name FROM sqlite_schema WHERE name = 'half'") == []


def test_only_what_is_missing_is_applied(tmp_path: Path) -> None:
    more = Migration(NEXT, f"{NEXT:04d}_more", "CREATE TABLE more (a);\nINSERT INTO more VALUES (1);\n")
    path = made(tmp_path)
    with closing(opened(path)) as database:
        for _ in range(2):
            migrate.migrate(database, [*migrations(), more])

    assert numbers(path) == [*KNOWN, (NEXT, more.name)]
    assert asked(path, "SELECT a FROM more") == [(1,)]


def test_a_script_is_taken_apart_at_the_ends_of_its_statements() -> None:
    trigger = "CREATE TRIGGER t AFTER INSERT ON a BEGIN\n  DELETE FROM b;\n  DELETE FROM c;\nEND;\n"
    first = "-- a comment; with a semicolon\nCREATE TABLE a (x TEXT DEFAULT ';');\n"
    assert list(migrate.statements(f"{first}{trigger}\n")) == [first, trigger]


def test_migrations_are_numbered_without_a_gap_and_named_for_what_they_bring() -> None:
    assert all(re.fullmatch(r"\d{4}_[a-z0-9_]+", each.name) for each in migrations())
    assert [int(each.name[:4]) for each in migrations()] == [*range(1, len(migrations()) + 1)]


@pytest.mark.parametrize("spoiled", [b"no database at all" * 100, None], ids=["other", "torn"])
def test_a_broken_file_is_named_and_untouched(tmp_path: Path, spoiled: bytes | None) -> None:
    path = made(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(spoiled or whole[:100] + b"\xff" * (len(whole) - 100))
    before = path.read_bytes()

    with pytest.raises(Corrupt) as refused:
        opened(path)

    assert re.fullmatch(rf"{re.escape(str(path))}: [a-z ]+\. Nothing was changed", str(refused.value))
    assert path.read_bytes() == before
