"""The autoscaler makes one move that is not in the table, and the judge of moves must name it."""

import ast
from pathlib import Path
from typing import Any

import pytest

from holdfast.autoscaler.record import (
    EXTENSIONS_MAX,
    UNNEEDED,
    Cluster,
    Condemned,
    Interrupted,
    Launch,
    LaunchStatus,
    Missing,
    ScaleUp,
)
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.cloud import Market, NoticeKind, State
from holdfast.kernel import Write
from holdfast.testing import legal
from holdfast.testing.explore import Violation
from tests.autoscaler.broken.test_whole_catches import Case, Changes, at_once, caught, interrupted
from tests.autoscaler.explore import test_scaling_up as scaling_up
from tests.autoscaler.model.hands import search
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, booting, snapshot, worker
from tests.proof import prove
from tests.sim.fleets import busy_days
from tests.variants import autoscaler_shell_without, autoscaler_without

SCALES_DOWN = at_once("a scale-down, and the load comes back")
SCALES_UP = scaling_up.CASES["three hands"]

VARIANTS: dict[str, tuple[Changes, Case, str]] = {
    "S-A8: a scale-down goes back from TERMINATING to DRAINING": (
        {
            "scale_down": {
                "scale_down=action.without(instance_id) if action else None": (
                    "scale_down=action.moved(instance_id, Status.PLANNED) if action else None"
                )
            }
        },
        SCALES_DOWN,
        "goes back from TERMINATING to DRAINING",
    ),
    "S-A8: a machine that was launched is forgotten with its scale-up": (
        {"scale_up": {"    if up.intended or up.joining:\n": "    if up.intended:\n"}},
        SCALES_UP,
        "is closed, and what it launched is forgotten: i-new-1",
    ),
    "S-A8: a scale-up is closed, and neither completes nor fails": (
        {
            "scale_up": {
                "kind = AutoscalerEvent.COMPLETE_SCALE_UP if succeeded else AutoscalerEvent.FAIL_SCALE_UP": (
                    "kind = AutoscalerEvent.CONDITION_CHANGED"
                )
            }
        },
        SCALES_UP,
        "is closed, 1 joined, and no completeScaleUp is told",
    ),
    "S-A8: a scale-up that brought nothing completes": (
        {"scale_up": {"    succeeded = bool(up.joined)\n": "    succeeded = True\n"}},
        scaling_up.CASES["a machine that dies"],
        "is closed, 0 joined, and no failScaleUp is told",
    ),
    "S-A8: the cool-down is set back": (
        {"decide": {"last_scale_s=min(cluster.last_scale_s, int(now_s)),\n": "last_scale_s=0,\n"}},
        SCALES_UP,
        r"lastScaleEpoch was \d+ and is 0, and no action ended well",
    ),
    "S-A8: a request is given more time before its own has run out": (
        {"scale_up": {"is_over = now_s - row.at_s > settings.join_timeout_s": "is_over = True"}},
        SCALES_UP,
        "is given more time after 0 s, before it has run out",
    ),
    "S-A8: what the cloud took is told as let go": (
        {
            "interruption": {
                "        events.append(Event(what, now_s, about=affected.instance_id,": (
                    '        events.append(Event("noticeExpired", now_s, about=affected.instance_id,'
                )
            }
        },
        interrupted("an interruption"),
        "i-1 is gone, and no .* or reclaimed is told of it",
    ),
    "S-A8: a removed machine is forgotten while listings may still show it": (
        {
            "workflow": {
                "if now_s - stone.at_s < settings.remember_s or stone.instance_id in ended": "if False"
            }
        },
        SCALES_DOWN,
        r"i-\d is gone for \d+ s, and is forgotten",
    ),
    "S-A8: the next attempt bears the number of the last": (
        {
            "scale_up": {
                "group = 1 + max(other.group for other in up.launches)": "group = row.group",
                "attempt=row.attempt + 1)": "attempt=row.attempt)",
            }
        },
        SCALES_UP,
        "two requests of .* bear one number, and so one token",
    ),
    "S-A8: the next attempt is not booked": (
        {
            "scale_up": {
                "        scale_up=replace(up, launches=(*launches, *rows)),\n"
                "        spent=_booked(cluster, up, rows, now_s),\n": (
                    "        scale_up=replace(up, launches=(*launches, *rows)),\n"
                )
            }
        },
        SCALES_UP,
        "1 are newly asked for in .*, 0 are booked",
    ),
    "S-A8: a hint is let go, and no event says so": (
        {"scale_up": {"    return Write(ended, (event, *expired))\n": "    return Write(ended, (event,))\n"}},
        interrupted("a hint, and no capacity"),
        "i-1 is interrupted no longer, and no .* is told of it",
    ),
    "S-A8: a target has left, and no progress is told": (
        {
            "sweep": {
                "events.append(Event(AutoscalerEvent.TERMINATED, now_s, about=one": (
                    "events.append(Event(AutoscalerEvent.RECLAIMED, now_s, about=one"
                )
            }
        },
        SCALES_DOWN,
        "was terminating and is gone, and no terminated is told",
    ),
    "S-A8: pods that wait have waited from now on, at every look": (
        {"decide": {"    return min(stamp_s, int(now_s)) or int(now_s)\n": "    return int(now_s)\n"}},
        scaling_up.CASES["a late first try"],
        r"pendingSinceEpoch was \d+ and is \d+: it begins now, or it is over",
    ),
    "S-A8: a node that was kept is not left alone": (
        {
            "scale_down": {
                "    return Write(replace(cluster, scale_down=action, skipped=skipped), events)\n": (
                    "    return Write(replace(cluster, scale_down=action), events)\n"
                )
            }
        },
        SCALES_DOWN,
        "is kept, and not left alone for a while",
    ),
}

AGAIN = "S-A8: a deadline is postponed for ever"
TWICE = "S-A8: a condemned machine is condemned again by its notice"
LOCK = "S-A8: a lock is taken from a tick that is at work"


@pytest.mark.parametrize("name", VARIANTS)
def test_a_move_that_is_not_allowed(name: str) -> None:
    changes, (first, settings), complaint = VARIANTS[name]

    with pytest.raises(Violation, match=f"{legal.NAME}: .*{complaint}") as violation:
        search(autoscaler_without(changes).workflow(settings), first, settings)

    caught(name, violation)


def extended() -> Cluster:
    """Its one request had all the time that there is, and its node waits to be opened."""
    long_ago = int(NOW_S) - SETTINGS.join_timeout_s - 1
    row = Launch(
        1, 1, "default", "a", "subnet-a", Market.SPOT, "t3.medium", "lt-1", 1, 1, LaunchStatus.ANSWERED,
        ("i-9",), at_s=long_ago, extended=EXTENSIONS_MAX,
    )  # fmt: skip
    return Cluster(scale_up=ScaleUp(f"{long_ago}-a", long_ago, 1, (row,)))


TWO = (worker("i-1"), worker("i-2"))
WAITING = snapshot(*TWO, worker("i-9", joining=True))


def written_over(cluster: Cluster, module: Any, seen: Snapshot = WAITING) -> list[str]:
    """What the judge says to all that is written while the world stands still."""
    problems = list[str]()
    step = module.workflow(SETTINGS).step
    for _ in range(9):
        ahead = step(cluster, seen, NOW_S)
        if not isinstance(ahead, Write):
            break
        problems += legal.illegal(cluster, ahead.value, ahead.events, NOW_S, SETTINGS)
        cluster = ahead.value
    return problems


def test_a_deadline_that_is_postponed_for_ever() -> None:
    variant = autoscaler_without({"scale_up": {"is_over and row.extended < again and (": "is_over and ("}})

    assert written_over(extended(), autoscaler_without({})) == []
    said = written_over(extended(), variant)

    assert "S-A8: request 1.1 is given more time: 3 times before, 4 now, 3 at most" in said
    prove("variant", AGAIN, caught_by="a story")


def test_what_is_more_than_one_commit_can_tell_is_written_next() -> None:
    found_again = tuple(Missing(f"i-{n}", int(NOW_S) - 90) for n in range(100, 250))

    assert written_over(Cluster(missing=found_again), autoscaler_without({}), snapshot(*TWO)) == []


def test_a_machine_that_is_condemned_already_is_not_condemned_again_by_its_notice() -> None:
    """It did not join in time, the cloud had announced to take it, and an operator has stopped it."""
    at_s = int(NOW_S) - 90
    interrupted = Interrupted("i-9", NoticeKind.INTERRUPTION, at_s, at_s + 120, UNNEEDED)
    cluster = Cluster(interrupted=(interrupted,), condemned=(Condemned("i-9", "1-up", "did not join", at_s),))
    seen = snapshot(*TWO, booting("i-9", state=State.STOPPED))
    twice = {
        "interruption": {"TERMINATING and not cluster.is_condemned(affected.instance_id)": "TERMINATING"}
    }

    assert written_over(cluster, autoscaler_without({}), seen) == []
    assert "S-A8: i-9 is condemned twice" in written_over(cluster, autoscaler_without(twice), seen)
    prove("variant", TWICE, caught_by="a story")


def test_a_lock_that_is_taken_from_a_tick_at_work() -> None:
    held = "            if lock.is_held(found.value, self._owner, now_s, ttl_s=ttl_s, urgent=True):\n"
    shell = autoscaler_shell_without({held: "            if found.value.lock.owner == self._owner:\n"})

    days = (busy_days(seed, 24, shell).complaints for seed in range(4))
    said = next((complaints for complaints in days if complaints), ())

    assert any("S-A8" in one and "takes the lock from" in one for one in said), said
    prove("variant", LOCK, caught_by="the simulated fleet")


def test_the_judge_knows_nothing_of_those_that_it_judges() -> None:
    """A table that asked the workflow what is allowed would allow everything."""
    sources = list(Path(legal.__file__).parent.glob("*.py"))
    used = {
        node.module
        for source in sources
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("holdfast.autoscaler")
    }

    assert len(sources) > 5
    assert used == {"holdfast.autoscaler.record", "holdfast.autoscaler.settings"}
