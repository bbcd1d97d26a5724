"""What the services of one group took, in their own words and in those of a client: never two at a time."""

import asyncio
import itertools
import json
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

PROBE_EVERY_S = 0.15
ANSWER_S = 0.5
ASKS = b"POST /add HTTP/1.0\r\nContent-Length: 0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Write:
    """One write that a service took; times by the clock of all, which runs during suspend."""

    instance_id: str
    epoch: int
    count: int
    began_s: float
    done_s: float

    @property
    def key(self) -> tuple[str, int, int]:
        return self.instance_id, self.epoch, self.count


def now_s() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def read(path: Path) -> list[Write]:
    """The ledger of a group, in the order in which its writes began."""
    rows = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
    writes = [Write(r[0], int(r[1]), int(r[2]), int(r[3]) / 1e9, int(r[4]) / 1e9) for r in rows]
    return sorted(writes, key=lambda write: write.began_s)


def accidents(ledger: Iterable[Write]) -> list[str]:
    """Two that served at one time: an epoch of two instances, or an older epoch after a newer one."""
    found: list[str] = []
    holders: dict[int, str] = {}
    newest: Write | None = None
    """The last to be done of the newest epoch so far."""
    for write in ledger:
        holder = holders.setdefault(write.epoch, write.instance_id)
        if holder != write.instance_id:
            found.append(f"epoch {write.epoch} was served by {holder} and by {write.instance_id}")
        if newest is None:
            newest = write
            continue
        older, newer = sorted((newest, write), key=lambda each: each.epoch)
        if older.epoch < newer.epoch and older.done_s > newer.began_s:
            found.append(
                f"{older.instance_id} took a write under epoch {older.epoch}, after "
                f"{newer.instance_id} had begun one under epoch {newer.epoch}: "
                f"by {older.done_s - newer.began_s:.3f} s"
            )
        newest = max((newest, write), key=lambda each: (each.epoch, each.done_s))
    return found


def unrecorded(acknowledged: Iterable[Write], ledger: Iterable[Write]) -> list[str]:
    """Writes that a client was promised, and that no ledger has."""
    recorded = {write.key for write in ledger}
    return [f"{write} was acknowledged, and no service has it" for write in acknowledged
            if write.key not in recorded]  # fmt: skip


def gaps(ledger: Sequence[Write]) -> list[tuple[float, float]]:
    """From one write to the next one under a newer epoch: when the first ended, and how long it took."""
    found = []
    for before, after in itertools.pairwise(ledger):
        if after.epoch != before.epoch:
            found.append((before.done_s, after.done_s - before.done_s))
    return found


@dataclass
class Probe:
    """Asks every service of a group to count, again and again; what was acknowledged."""

    ports: Callable[[], dict[str, int]]
    """By instance, all that there ever were."""
    acknowledged: list[Write] = field(default_factory=list)
    ends: bool = False
    _asked: dict[str, "asyncio.Task[None]"] = field(default_factory=dict)

    async def run(self) -> None:
        """One that hangs keeps no other from being asked."""
        while not self.ends:
            for name, port in self.ports().items():
                if name not in self._asked:
                    self._asked[name] = asyncio.create_task(self._ask(name, port))
                    self._asked[name].add_done_callback(lambda _, name=name: self._asked.pop(name))  # type: ignore[misc]
            await asyncio.sleep(PROBE_EVERY_S)

    async def _ask(self, name: str, port: int) -> None:
        began_s = now_s()
        with suppress(OSError, TimeoutError, ValueError, IndexError):
            said = await asyncio.wait_for(self._said(port), ANSWER_S)
            self.acknowledged.append(Write(name, said["epoch"], said["count"], began_s, now_s()))

    async def _said(self, port: int) -> dict[str, int]:
        """Raises ValueError for a service that refuses."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(ASKS)
            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
            if b" 200 " not in head.splitlines()[0]:
                raise ValueError("it refuses")
            said: dict[str, int] = json.loads(body)
            return said
        finally:
            writer.close()

    @property
    def newest(self) -> Write | None:
        return self.acknowledged[-1] if self.acknowledged else None
