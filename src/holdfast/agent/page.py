"""The page of memory that agent and watchdog share, and in it what a restarted agent goes on with.

The page is a file in the runtime directory, whole from the start: no later write can fail for want of
disk.  What the agent keeps there is written twice in turn, so that a kill in the middle leaves the older.
"""

import json
import os
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from holdfast.agent import watchdog
from holdfast.agent.watchdog import (
    ABLE,
    AGENT,
    AGENT_PID,
    BOOT,
    DEADLINE,
    EPOCH,
    FOUND,
    HOOK,
    IS_PAGE,
    KILLS,
    MAGIC,
    PROTECT,
    TARGETS,
    WATCHDOG,
    WATCHDOG_PID,
    now_ns,
    number_of,
    open_page,
)

SLOTS: Final = (512, 8_448)
SLOT_SIZE: Final = 7_936
HEAD: Final = struct.Struct("<qqq")
FRESH_S: Final = 1.0


def boottime_s() -> float:
    """The clock that runs during suspend: all times of an agent are its."""
    return now_ns() / 1e9


class Page:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.bytes, self.words = open_page(str(path))
        boot = watchdog.boot_number()
        if self.words[BOOT] != boot or self.words[IS_PAGE] != MAGIC:
            self.bytes[: watchdog.SIZE] = bytes(watchdog.SIZE)
            self.words[IS_PAGE], self.words[BOOT] = MAGIC, boot

    # What the watchdog is told.

    def arm(self, until_s: float, epoch: int) -> None:
        self.words[EPOCH] = epoch
        self.words[DEADLINE] = max(1, int(until_s * 1e9))

    def disarm(self) -> None:
        self.words[DEADLINE] = 0

    def count(self) -> None:
        self.words[AGENT], self.words[AGENT_PID] = now_ns(), os.getpid()

    def hook_runs(self, group: int) -> None:
        """The process group of a hook that may still start a service; 0 when it has ended."""
        self.words[HOOK] = group

    @property
    def hook_group(self) -> int:
        return int(self.words[HOOK])

    @property
    def armed_s(self) -> float:
        return float(self.words[DEADLINE] / 1e9)

    # What the watchdog says.

    def why_not_watched(self, what: str) -> str:
        """Empty while a watchdog of this very thing counts, and can kill all that it has found."""
        words, now = self.words, now_ns()
        if now - words[WATCHDOG] > FRESH_S * 1e9:
            return "no watchdog counts"
        if words[PROTECT] != number_of(what):
            return f"the watchdog protects something else than {what}"
        if now - words[FOUND] > 2 * FRESH_S * 1e9:
            return f"the watchdog cannot find out which processes {what} has"
        return (
            ""
            if words[ABLE] == 1
            else f"the watchdog may not kill the processes of {what}, or cannot see them all: run it as root"
        )

    @property
    def watchdog_pid(self) -> int:
        return int(self.words[WATCHDOG_PID])

    @property
    def targets(self) -> int:
        return int(self.words[TARGETS])

    @property
    def kills(self) -> int:
        return int(self.words[KILLS])

    # What a restarted agent goes on with.

    def keep(self, value: Mapping[str, Any]) -> None:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
        if len(text) > SLOT_SIZE - HEAD.size:
            raise ValueError(f"{len(text)} bytes do not fit into a slot of {SLOT_SIZE}")
        newest = max(self._read(slot)[0] for slot in SLOTS)
        older = min(SLOTS, key=lambda slot: self._read(slot)[0])
        begin = older + HEAD.size
        HEAD.pack_into(self.bytes, older, 0, 0, 0)
        self.bytes[begin : begin + len(text)] = text
        HEAD.pack_into(self.bytes, older, newest + 1, len(text), zlib.crc32(text))

    def kept(self) -> dict[str, Any] | None:
        n, text = max((self._read(slot) for slot in SLOTS), key=lambda found: found[0])
        if n == 0:
            return None
        value: dict[str, Any] = json.loads(text)
        return value

    def _read(self, slot: int) -> tuple[int, bytes]:
        n, length, crc = HEAD.unpack_from(self.bytes, slot)
        if n <= 0 or not 0 <= length <= SLOT_SIZE - HEAD.size:
            return 0, b""
        text = bytes(self.bytes[slot + HEAD.size : slot + HEAD.size + length])
        return (n, text) if zlib.crc32(text) == crc else (0, b"")
