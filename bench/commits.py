"""Guarded commits a second on SQLite, beside the bare driver executing the same statements.

Both sides write the same record and one event a commit, each into a file of its own on the
same disk, with the shipped settings of the connection.  Neither reads before it commits: a
commit goes on from the one before it, and its ids are drawn beforehand.  That both really
execute the same statements is checked, not assumed.

The bare side is what one would write by hand: it has its record as a dictionary, turns it
into JSON, and guards by the version.  Knowing our own writes again, keeping attributes of
newer releases, and sorting out errors is ours alone.  A second comparison gives it even
the JSON ready made, which no program that changes anything could have.
"""

import json
import sqlite3
import tempfile
import time
import uuid
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from statistics import median
from typing import Final, Protocol

from bench import Row
from holdfast.adapters.sql.sqlite import Database, SqliteItems
from holdfast.autoscaler.codec import CODEC, encode
from holdfast.autoscaler.record import Cluster, ScaleDown, Status, Target, Tombstone
from holdfast.kernel import Event, Lock, Write

RATIO_MAX: Final = 1.5
ROUNDS: Final = 40
"""Each is ours, bare, bare, ours, and short: a machine that slows down slows both."""
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
RECORDS: Final = tuple(replace(RECORD, worker_count=n) for n in range(7))
"""Taken in turn: a record that never changes would be cheaper for both than any real one."""
EVENT_NUMBERS: Final = {"left": 3.0}
EVENT: Final = Event(
    "terminating", 1730000310.5, about="i-0a1b2c3d4e5f60001", reason="idle", numbers=EVENT_NUMBERS
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
        for commit_id, record in zip(commit_ids, cycle(RECORDS), strict=False):
            self._found = self._store.commit(SUBJECT, self._found, Write(record, (EVENT,)), commit_id)

    def trace(self, statements: list[str] | None) -> None:
        with self.database.transaction() as db:
            db.set_trace_callback(statements.append if statements is not None else None)

    def close(self) -> None:
        self.database.close()


class Bare:
    def __init__(self, path: str, synchronous: str, ready_made: bool) -> None:
        Database(path).close()  # the same tables
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute(f"PRAGMA synchronous = {synchronous}")
        self._version, self._ready_made = 0, ready_made

    def commit(self, commit_ids: Sequence[str]) -> None:
        items = [encode(record) for record in RECORDS]
        bodies = [json.dumps(item) for item in items]
        numbers = json.dumps(EVENT_NUMBERS)
        told = (EVENT.at_s, EVENT.kind, EVENT.about, EVENT.reason)
        execute = self.db.execute
        for commit_id, item, body in zip(commit_ids, cycle(items), cycle(bodies), strict=False):
            execute("BEGIN IMMEDIATE")
            row = execute(SELECT, (COLLECTION, SUBJECT)).fetchone()
            if (row[0] if row else 0) != self._version:
                raise RuntimeError("another process writes into the benchmark's file")
            self._version += 1
            if execute(TOLD, (COLLECTION, SUBJECT, self._version)).fetchone():
                raise RuntimeError("the log is ahead of its record")
            if not self._ready_made:
                body, numbers = json.dumps(item), json.dumps(EVENT_NUMBERS)
            execute(PUT, (COLLECTION, SUBJECT, self._version, commit_id, body))
            execute(TELL, (COLLECTION, SUBJECT, self._version, 0, commit_id, *told, numbers, EVENT.code))
            execute("COMMIT")

    def trace(self, statements: list[str] | None) -> None:
        self.db.set_trace_callback(statements.append if statements is not None else None)

    def close(self) -> None:
        self.db.close()


SELECT = "SELECT version, commit_id, body FROM records WHERE collection = ? AND subject = ?"
TOLD = "SELECT commit_id FROM events WHERE collection = ? AND subject = ? AND version = ? AND n = 0"
PUT = (
    "INSERT INTO records VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE"
    " SET version = excluded.version, commit_id = excluded.commit_id, body = excluded.body"
)
TELL = "INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


def run() -> list[Row]:
    return [
        _compare("guarded commits, shipped settings", "FULL", commits=30, ratio_max=RATIO_MAX),
        _compare("the same, beside JSON ready made", "FULL", commits=30, ready_made=True),
        _compare("guarded commits, not waiting for the disk", "OFF", commits=200),
    ]


def _compare(
    what: str, synchronous: str, *, commits: int, ready_made: bool = False, ratio_max: float | None = None
) -> Row:
    """Medians over the rounds; the ratio is the median of each round's own."""
    with tempfile.TemporaryDirectory(prefix="holdfast-bench-") as folder, ExitStack() as stack:
        ours = stack.enter_context(closing(Ours(str(Path(folder) / "ours.db"), synchronous)))
        bare = stack.enter_context(closing(Bare(str(Path(folder) / "bare.db"), synchronous, ready_made)))
        check_same_statements(ours, bare)
        rounds = []
        for _ in range(ROUNDS):
            first, *middle, last = (_seconds(side, commits) for side in (ours, bare, bare, ours))
            rounds.append((first + last, sum(middle)))
    ours_s, bare_s = (median(side) for side in zip(*rounds, strict=True))
    return Row(
        what,
        ours_per_s=2 * commits / ours_s,
        beside="bare sqlite3",
        beside_per_s=2 * commits / bare_s,
        ratio=median(one / other for one, other in rounds),
        ratio_max=ratio_max,
    )


def _seconds(side: Side, commits: int) -> float:
    commit_ids = [uuid.uuid4().hex for _ in range(commits)]
    began_s = time.perf_counter()
    side.commit(commit_ids)
    return time.perf_counter() - began_s


def check_same_statements(*sides: Side) -> None:
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
