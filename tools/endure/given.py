"""How much of two cores a run was given: what a neighbour or the hypervisor took is not its doing."""

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CORES = 2
"""What the promises about time are made for."""
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Moment:
    """Counters of core-seconds, since the machine was started."""

    at_s: float
    busy_s: float
    stolen_s: float
    ours_s: float

    def share_until(self, later: "Moment") -> float:
        """From 0 to 1: the part of two cores that was not taken from the run meanwhile."""
        elapsed_s = max(later.at_s - self.at_s, 0.001)
        others_s = max(0.0, later.busy_s - self.busy_s - (later.ours_s - self.ours_s))
        lost = (others_s + later.stolen_s - self.stolen_s) / elapsed_s
        return max(0.0, min(1.0, ((os.cpu_count() or CORES) - lost) / CORES))


def moment(mark: str) -> Moment:
    """Now.  Ours are this process, and those with the mark in their environment."""
    user, nice, system, _, _, irq, softirq, stolen, *_ = map(int, _first_line("/proc/stat").split()[1:])
    busy = user + nice + system + irq + softirq
    return Moment(time.monotonic(), busy / TICKS_PER_S, stolen / TICKS_PER_S, sum(_spent(mark)))


def _spent(mark: str) -> Iterator[float]:
    """Of each process, with its children that have ended."""
    for entry in filter(str.isdigit, os.listdir("/proc")):
        # Processes end while they are looked at.
        with contextlib.suppress(OSError):
            if int(entry) == os.getpid() or mark.encode() in Path(f"/proc/{entry}/environ").read_bytes():
                # The name may hold blanks and brackets, so the fields are counted from behind it.
                fields = _first_line(f"/proc/{entry}/stat").rpartition(")")[2].split()
                yield sum(map(int, fields[11:15])) / TICKS_PER_S


def _first_line(path: str) -> str:
    with open(path) as lines:
        return lines.readline()
