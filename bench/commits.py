"""Guarded commits a second on SQLite, beside the bare driver executing the same statements.

Both sides write the same record and one event a commit, each into a file of its own on the
same disk, with the shipped settings of the connection.  Neither reads before it commits: a
commit goes on from the one before it, and its ids are drawn beforehand.  The bare side gets
even its JSON ready made, so encoding, checking and sorting out errors are ours alone.  That
both really execute the same statements is checked, not assumed.
"""

import json
import sqlite3
import tempfile
import time
import uuid
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from typing import Final, Protocol

from bench import Row
from holdfast.adapters.sqlite import Database, SqliteItems
from holdfast.autoscaler.codec import CODEC, encode
from holdfast.autoscaler.record import Cluster, ScaleDown, Status, Target, Tombstone
from holdfast.kernel import Event, Lock, Write

RATIO_MAX: Final = 1.5
ROUNDS: Final = 8
"""Each is ours, bare, bare, ours: a machine that slows down slows both."""
COLLECTION, SUBJECT = "bench", "cluster"

RECORD: Final = Cluster(
    scale_down=ScaleDown(
        "1730000300-req-1",
        1730000300,
        (Target("i-0a1b2c3d4e5f60001", Status.CONDEMNED), Target("i-0a1b2c3d4e5f60002", Status.GONE)),
    ),
    worker_count=4,
    last_scale_s=1730000000,
    lock=Lock("req-1", 1730000600.0),
    gone=(Tombstone("i-0a1b2c3d4e5f60009", 1730000000),),
)
EVENT: Final = Event(
    "condemned", 1730000310.5, about="i-0a1b2c3d4e5f60001", reason="idle", numbers={"left": 3}
)


class Side(Protocol):
    def commit(self, commit_ids: Sequence[str]) -> None:
        """One commit an id, one after the other."""
        ...

    def trace(self, statements: list[str] | None) -> None:
        """From now on, note every statement with its values; None: no longer."""
        ...


class Ours:
    def __init__(self, path: str, synchronous: str) -> None:
        self.database = Database(path)
        self.database.rows(f"PRAGMA synchronous = {synchronous}")
        self._store = SqliteItems(self.database, COLLECTION, CODEC)
        self._found = self._store.read(SUBJECT)

    def commit(self, commit_ids: Sequence[str]) -> None:
        write = Write(RECORD, (EVENT,))
        for commit_id in commit_ids:
            self._found = self._store.commit(SUBJECT, self._found, write, commit_id)

    def trace(self, statements: list[str] | None) -> None:
        with self.database.transaction() as db:
            db.set_trace_callback(statements.append if statements is not None else None)

    def close(self) -> None:
        self.database.close()


class Bare:
    """What one would write by hand, guard included."""

    def __init__(self, path: str, synchronous: str) -> None:
        Database(path).close()  # the same tables
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute(f"PRAGMA synchronous = {synchronous}")
        self._version = 0

    def commit(self, commit_ids: Sequence[str]) -> None:
        body, numbers = json.dumps(encode(RECORD)), json.dumps(dict(EVENT.numbers))
        told = (EVENT.at_s, EVENT.kind, EVENT.about, EVENT.reason, numbers)
        execute = self.db.execute
        for commit_id in commit_ids:
            execute("BEGIN IMMEDIATE")
            row = execute(SELECT, (COLLECTION, SUBJECT)).fetchone()
            if (row[0] if row else 0) != self._version:
                raise RuntimeError("somebody else writes into the benchmark's file")
            self._version += 1
            execute(PUT, (COLLECTION, SUBJECT, self._version, commit_id, body))
            execute(TELL, (COLLECTION, SUBJECT, self._version, 0, commit_id, *told))
            execute("COMMIT")

    def trace(self, statements: list[str] | None) -> None:
        self.db.set_trace_callback(statements.append if statements is not None else None)

    def close(self) -> None:
        self.db.close()


SELECT = "SELECT version, commit_id, body FROM records WHERE collection = ? AND subject = ?"
PUT = (
    "INSERT INTO records VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE"
    " SET version = excluded.version, commit_id = excluded.commit_id, body = excluded.body"
)
TELL = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


def run() -> list[Row]:
    shipped = _compare("FULL", commits=150)
    return [
        Row("guarded commits, shipped settings", *shipped, ratio_max=RATIO_MAX),
        Row("guarded commits, without waiting for the disk", *_compare("OFF", commits=1000)),
    ]


def _compare(synchronous: str, *, commits: int) -> tuple[float, str, float, float]:
    """Ours a second, the other's name, its figure, and the ratio: medians over the rounds."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder, ExitStack() as stack:
        ours = stack.enter_context(closing(Ours(str(Path(folder) / "ours.db"), synchronous)))
        bare = stack.enter_context(closing(Bare(str(Path(folder) / "bare.db"), synchronous)))
        _check_same_statements(ours, bare)
        pairs = []
        for _ in range(ROUNDS):
            first, *middle, last = (_seconds(side, commits) for side in (ours, bare, bare, ours))
            pairs.append((first + last, sum(middle)))
    ours_s, bare_s = (median(side) for side in zip(*pairs, strict=True))
    ratio = median(one / other for one, other in pairs)
    return 2 * commits / ours_s, "bare sqlite3", 2 * commits / bare_s, ratio


def _seconds(side: Side, commits: int) -> float:
    commit_ids = [uuid.uuid4().hex for _ in range(commits)]
    began_s = time.perf_counter()
    side.commit(commit_ids)
    return time.perf_counter() - began_s


def _check_same_statements(*sides: Side) -> None:
    """The second commit, traced: the first also asks the log of a record that is not there yet."""
    seen = []
    for side in sides:
        statements: list[str] = []
        side.commit(["first"])
        side.trace(statements)
        side.commit(["second"])
        side.trace(None)
        begin = statements.index("BEGIN IMMEDIATE")
        seen.append(statements[begin : statements.index("COMMIT", begin) + 1])
    if any(statements != seen[0] for statements in seen) or len(seen[0]) < 5:
        raise RuntimeError(f"the sides do not execute the same statements: {json.dumps(seen, indent=2)}")
