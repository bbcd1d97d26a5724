"""What each test costs in core-seconds: a run that is made before every commit must stay short.

Counted is the processor's time, of the test's own process and of those that it waited for, and not
the clock's: a busy machine makes a test late, and not dear.
"""

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

LIMIT_S = 3.0
"""What one case of `make test` may cost; one that costs more gets smaller, or is for `make deep`."""
GENEROUS = 5
"""So many times the limit is no slow machine: the case is in the wrong run, and this one fails."""
COST = "core_seconds"
"""The property that carries the cost in a report, and so from a worker to the process that counts."""
SHOWN_MAX = 20


def spent_s() -> float:
    """Of this process with all its threads, and of its children that have ended."""
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def by_test(reports: Iterable[Any]) -> dict[str, float]:
    """Core-seconds by the name of the test; a test has up to three reports, and the last says it all."""
    costs: dict[str, float] = {}
    for report in reports:
        costs.update(
            (report.nodeid, cost) for name, cost in getattr(report, "user_properties", ()) if name == COST
        )
    return costs


def too_dear(costs: Mapping[str, float], limit_s: float) -> dict[str, float]:
    """Those over the limit, the dearest first."""
    return {test: cost for test, cost in sorted(costs.items(), key=lambda one: -one[1]) if cost > limit_s}


def lines(costs: Mapping[str, float]) -> Iterator[str]:
    """What the run cost, and each case that should be smaller."""
    yield f"{len(costs):,} tests took {sum(costs.values()):,.0f} core-seconds"
    dear = too_dear(costs, LIMIT_S)
    if not dear:
        yield f"none took more than {LIMIT_S:g}"
        return
    yield f"{len(dear)} took more than {LIMIT_S:g}: make these smaller, or mark them with tests/deep.py"
    yield from (f"{cost:>8.1f}  {test}" for test, cost in list(dear.items())[:SHOWN_MAX])


def refused(costs: Mapping[str, float]) -> list[str]:
    """Those that belong into another run, however slow this machine is."""
    return [
        f"{test} took {cost:.0f} core-seconds, {LIMIT_S:g} is the limit"
        for test, cost in too_dear(costs, GENEROUS * LIMIT_S).items()
    ]
