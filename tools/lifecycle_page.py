"""Writes docs/lifecycle.md from the tables: `python -m tools.lifecycle_page`.

A test compares the page with the tables, so neither can change without the other.
"""

from collections.abc import Iterator
from pathlib import Path

from holdfast.failover.asks.rules import ASKED
from holdfast.failover.goals import GOALS
from holdfast.failover.roles import MOVES, Status
from holdfast.failover.rules.rule import Rule
from holdfast.failover.rules.table import RULES
from holdfast.failover.workflow import LAUNCHED

PAGE = Path(__file__).parent.parent / "docs" / "lifecycle.md"

INTRODUCTION = """# The lifecycle of an instance

This page is written by `python -m tools.lifecycle_page` from the tables in
[`failover/roles.py`](../src/holdfast/failover/roles.py),
[`failover/goals.py`](../src/holdfast/failover/goals.py) and
[`failover/rules/table.py`](../src/holdfast/failover/rules/table.py); a test compares them.

## Statuses and moves

`promoting` and `running_primary` are `is_primary`: at most one member of a group at any time, and the only
one that is granted a lease. A member that is revoked is `demoting` first: until its successor is confirmed,
it may be reinstated. With `auto_terminate` it becomes `terminating`, and no zombie is created. `terminated`
is the cloud's word, and final.
"""

RULES_SAY = """
## The rules

A server reads the group, looks at leases, reports and machines, and asks these rules in this order. The
first that changes something wins, and its number stands in every event that it tells
(`holdfast failover why`). A rule that only waits does not keep the later ones from acting.
"""


def diagram() -> Iterator[str]:
    yield "```mermaid"
    yield "stateDiagram-v2"
    yield "    [*] --> launching: launched"
    yield "    [*] --> running_replica: registered"
    yield "    [*] --> terminating: a launch that was given up"
    for (status, move), after in MOVES.items():
        yield f"    {status.value} --> {after.value}: {move.value}"
    yield f"    running_primary --> running_primary: heartbeat\n    {Status.TERMINATED.value} --> [*]"
    yield "```"


def goals() -> Iterator[str]:
    yield ""
    yield "## What an agent is asked"
    yield ""
    yield "| status | goal |"
    yield "|---|---|"
    for status, do in GOALS.items():
        yield f"| `{status.value}` | `{do.value}` |"


def rules() -> Iterator[str]:
    yield RULES_SAY
    yield "| rule | code | when, and what it does |"
    yield "|---|---|---|"
    for rule in ordered():
        yield f"| {rule.number} | `{rule.code}` | {rule.says} |"


def ordered() -> tuple[Rule, ...]:
    """Every rule there is."""
    return tuple(sorted((*ASKED, *RULES, LAUNCHED), key=lambda rule: rule.number))


def page() -> str:
    return "\n".join([INTRODUCTION, *diagram(), *goals(), *rules(), ""])


if __name__ == "__main__":
    PAGE.write_text(page())
