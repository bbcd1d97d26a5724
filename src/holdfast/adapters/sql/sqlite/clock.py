"""The clock by which leases in a SQLite file are judged.

The file belongs to one machine, so its clock is that machine's CLOCK_BOOTTIME: it runs through a suspend, and
no correction of the time of day moves it.  The file keeps by how much it differs from the time of day, and in
which boot that was found.  In another boot, or on another machine, every lease that was running lasts
once more as long as it was granted for, counted from the first time that it is seen.
"""

import sqlite3
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Final

BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")

FIND: Final = "SELECT boot_id, offset_s FROM clock"
KEEP: Final = "INSERT OR REPLACE INTO clock VALUES (1, ?, ?)"
GRANT_ANEW: Final = """
UPDATE instances SET lease_until_s = :now_s + (lease_until_s - heartbeat_s), heartbeat_s = :now_s
WHERE lease_until_s > heartbeat_s AND heartbeat_s > 0
"""


def boot_id() -> str:
    """Another one after each boot; where it cannot be told, every process is a boot of its own."""
    try:
        return BOOT_ID.read_text().strip()
    except OSError:
        return uuid.uuid4().hex


def since_boot_s() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def set_clock(db: sqlite3.Connection, boot: str, elapsed_s: Callable[[], float] = since_boot_s) -> float:
    """What to add to the time since boot, inside a transaction.  Twice in one boot is once."""
    found = db.execute(FIND).fetchone()
    if found is not None and found[0] == boot:
        return float(found[1])
    now_s = time.time()
    offset_s = now_s - elapsed_s()
    db.execute(KEEP, (boot, offset_s))
    db.execute(GRANT_ANEW, {"now_s": now_s})
    return offset_s
