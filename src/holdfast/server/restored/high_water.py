"""How far the database had come: one that is behind it was restored from the past (H30).

Rule 1: the number is kept in memory and in a file.  The file is written aside and renamed, at most once a
        second: what is not yet in it can only make the server less strict after its own restart.
Rule 2: the server that finds the database behind marks it, by a number below 0.  So every server knows, also
        one that has seen nothing of it, and no commit makes up for what is lost: only `recover` does.
Rule 3: after `recover` leases are withheld until each group was looked at, and until one lease time has
        passed since the database was found behind: what was granted by the lost one is over by then.
"""

import logging
import os
import threading
import time
from pathlib import Path
from typing import Final

from holdfast.kernel import Invalid

LOG = logging.getLogger("holdfast")

WRITE_EVERY_S: Final = 1.0
SETTLE_S: Final = 3.0
"""After an operator's `recover`, every group is looked at once before the first lease is granted: the agents'
reports say which of them know a newer epoch."""
MARKED: Final = (
    "the database was found to be restored from the past (change {found}). No lease is granted until an "
    "operator has run `holdfast failover recover`"
)
SETTLING: Final = "an operator has recovered the database: every group is looked at before leases are granted"
BEHIND: Final = (
    "the database is behind what this server has seen of it (change {found}, not {known}): it was restored "
    "from the past. No lease is granted until an operator has run `holdfast failover recover`"
)


class HighWater:
    def __init__(self, path: Path, lease_s: float = 0.0) -> None:
        """`lease_s`: for so long a lease may last that the lost database granted."""
        self._path, self._lease_s = path, lease_s
        self._lock = threading.Lock()
        self._written_s = float("-inf")
        self._known = self._stored = _read(path)
        self._behind: int | None = None
        self._behind_since_s = 0.0
        self._settled_s = float("-inf")

    @property
    def known(self) -> int:
        return self._known

    def saw(self, change_n: int) -> bool:
        """The newest change number of the database, as it says itself; True if it was just recovered."""
        with self._lock:
            was_behind, is_behind = self._behind is not None, change_n < max(0, self._known)
            if is_behind and not was_behind:
                self._behind_since_s = time.monotonic()
            if was_behind and not is_behind:
                self._settled_s = max(time.monotonic() + SETTLE_S, self._behind_since_s + self._lease_s)
            self._behind = number(change_n) if is_behind else None
            self._known = max(self._known, change_n)
            if self._known > self._stored and time.monotonic() - self._written_s >= WRITE_EVERY_S:
                self._write()
        return was_behind and not is_behind

    def reached(self, change_n: int) -> None:
        """A change with this number was seen."""
        with self._lock:
            self._known = max(self._known, change_n)

    def problem(self) -> str:
        """Why nothing is driven on; empty if all is well."""
        behind = self._behind
        if behind is None:
            return ""
        return (BEHIND if behind < self._known else MARKED).format(found=behind, known=self._known)

    def withheld(self) -> str:
        """Why no lease is granted; empty if leases are."""
        return self.problem() or (SETTLING if time.monotonic() < self._settled_s else "")

    def flush(self) -> None:
        with self._lock:
            if self._known != self._stored:
                self._write()

    def _write(self) -> None:
        """A full disk stops no server: it remembers the number, and tries again in a second."""
        self._written_s = time.monotonic()
        aside = self._path.with_name(f"{self._path.name}.{os.getpid()}")
        try:
            aside.write_text(f"{self._known}\n")
            aside.replace(self._path)
        except OSError as error:
            LOG.warning("high_water_file = %s cannot be written: %s", self._path, error.strerror)
            return
        self._stored = self._known


def number(change_n: int) -> int:
    """The change number of a database, whether it is marked as restored or not."""
    return max(change_n, -1 - change_n)


def _read(path: Path) -> int:
    try:
        return int(path.read_text().strip() or 0)
    except FileNotFoundError:
        return 0
    except OSError as error:
        fix = "name a file that may be read and written"
        raise Invalid(f"high_water_file = {str(path)!r}: {error.strerror}; {fix}") from error
    except ValueError:
        fix = "if the database was not restored, remove it; else run `holdfast failover recover` first"
        raise Invalid(f"high_water_file = {str(path)!r} holds no number: {fix}") from None
