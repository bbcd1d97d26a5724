"""Tests that wait more than they compute have one worker to themselves; the others keep the cores busy.

Leases that run out, processes that start and servers that answer take their time, whatever the cores do
meanwhile.  Beside two workers that compute, a third that mostly sleeps costs next to nothing.
"""

from collections.abc import Iterable
from typing import Any

import pytest
from xdist.scheduler import WorkStealingScheduling  # type: ignore[import-untyped]

WAITING = (
    "tests/accept/",
    "tests/adapters/kubernetes/",
    "tests/adapters/proxy/",
    "tests/agent/",
    "tests/app/",
    "tests/cli/loop/",
    "tests/server/",
    "tests/stream/",
)
WORKERS_MIN = 3
"""With fewer, every worker takes of everything."""


def waits(test: str) -> bool:
    return test.startswith(WAITING)


def parted(tests: Iterable[str]) -> tuple[list[int], list[int]]:
    """The places of those that wait, and of the others."""
    places: tuple[list[int], list[int]] = ([], [])
    for place, test in enumerate(tests):
        places[0 if waits(test) else 1].append(place)
    return places


class LaneScheduling(WorkStealingScheduling):  # type: ignore[misc]
    """As its base does, but for the first deal: who is done with its own takes from the others."""

    _is_dealt = False

    def check_schedule(self) -> None:
        if not self._is_dealt and self.collection is not None:
            self._is_dealt = True
            waiting, computing = parted(self.collection)
            self.pending[:] = waiting
            self._send_tests(self.nodes[-1], len(waiting))
            self.pending[:] = computing
        super().check_schedule()


def scheduler(config: pytest.Config, log: Any) -> LaneScheduling | None:
    """For a run whose workers steal; None leaves it to xdist."""
    if config.getvalue("dist") != "worksteal" or len(config.getvalue("tx")) < WORKERS_MIN:
        return None
    return LaneScheduling(config, log)
