"""What the stand-in did, in order, as JSON lines: in memory to ask for, and in a file."""

import json
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Entry = dict[str, Any]


def stamp(at_s: float) -> str:
    """A moment as AWS writes it: UTC, to the second."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class Log:
    """Entries are numbered from 1; a client that has read up to n asks for what comes after n."""

    def __init__(self, file: Path | None = None) -> None:
        self._entries: list[Entry] = []
        self._file = file.open("a", encoding="utf-8") if file else None
        self._changed = threading.Condition()

    def add(self, kind: str, **facts: Any) -> None:
        with self._changed:
            entry = {"n": len(self._entries) + 1, "at_s": time.time(), "kind": kind, **facts}
            self._entries.append(entry)
            if self._file:
                self._file.write(json.dumps(entry) + "\n")
                self._file.flush()
            self._changed.notify_all()

    def __len__(self) -> int:
        return len(self._entries)

    def after(self, n: int, wait_s: float = 0) -> list[Entry]:
        """Everything later than entry n; waits up to `wait_s` for there to be something."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._entries) > n, timeout=wait_s)
            return self._entries[n:]
