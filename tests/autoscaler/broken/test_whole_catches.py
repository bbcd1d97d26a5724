"""The explorer is shown the whole autoscaler with one guard taken out, and must find what breaks.

Without the judge of moves, which would be faster here and there: what it catches is in `test_moves_catch`.
"""

from typing import Any

import pytest

from holdfast.autoscaler import record
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.workflow import workflow
from holdfast.cloud import NoticeKind
from holdfast.cloud.launches import launch_token
from holdfast.testing.explore import Violation
from tests.autoscaler.explore import test_interrupting as interrupting
from tests.autoscaler.explore import test_scaling_up as scaling_up
from tests.autoscaler.explore import test_whole as whole
from tests.autoscaler.explore.test_removing_nodes import RESTLESS
from tests.autoscaler.model.fleet import World, fleet
from tests.autoscaler.model.hands import Here, search, start
from tests.autoscaler.model.legal import any_move
from tests.proof import prove
from tests.variants import autoscaler_without, broken

Changes = dict[str, dict[str, str]]
Case = tuple[Here, Settings]

UNHINTED = Settings(min_workers=2, max_workers=2, pending_up_s=0, rebalance_replaces=False)


def interrupted(case: str) -> Case:
    return interrupting.CASES[case], interrupting.FULL


def at_once(case: str) -> Case:
    first, most = whole.CASES[case]
    return first, whole.settings_for(most)


CERTAIN = start(
    World(fleet("aaa"), 1, brisk=True), hands=2, coming=(("i-3", NoticeKind.INTERRUPTION),), jumps=0
)
"""Idle, and the cloud takes one of three: no other may leave."""

AGAIN_AND_AGAIN = start(World(fleet("aa"), 2, brisk=True), hands=1, reclaims=2)
"""The cloud takes one, and another as soon as that is replaced."""
FLOOR = Settings(min_workers=2, max_workers=2, pending_up_s=0, idle_down_s=0)

BEYOND_THE_MOST = {"full = left + len(wanted) >= settings.max_workers": "full = False"}
"""The guard behind: a fleet of the greatest size gets no replacement too many, whatever was decided twice."""

VARIANTS: dict[str, tuple[Changes, Case, str]] = {
    "H1: no sweep removes what a late first launch brought": (
        {
            "sweep": {
                "    for worker in _unclaimed(cluster, snapshot, settings, now_s):\n": (
                    "    for worker in ():\n"
                )
            }
        },
        scaling_up.CASES["a late first try"],
        "live and serve no pod",
    ),
    "H1: a node takes pods though no record names its machine": (
        {"sweep": {"for i in sorted(snapshot.unopened & named) if": "for i in sorted(snapshot.unopened) if"}},
        scaling_up.CASES["a late first try"],
        "S-A3",
    ),
    "H4: what was launched counts only once it is listed": (
        {
            "fleet": {
                "    return tuple(dict.fromkeys(i for i in known if i not in listed and i not in leaving))": (
                    "    return ()"
                )
            }
        },
        scaling_up.CASES["an old listing at the top"],
        "L-A3: 4 serve of 3",
    ),
    "S-A2: what is to be asked for elsewhere is asked for twice": (
        {
            "fleet": {
                "    asked_for = cluster.scale_up.owed if cluster.scale_up else 0\n": (
                    "    up = cluster.scale_up\n"
                    "    asked_for = sum(row.count for row in up.intended) if up else 0\n"
                )
            }
        },
        scaling_up.CASES["below the floor"],
        "S-A2",
    ),
    "A6: the replacement is launched, and not written beside the notice": (
        {
            "workflow": {
                "Write(interruption.answered(begun.value, covered, up.action_id), begun.events)": "begun"
            },
            "interruption": BEYOND_THE_MOST,
        },
        interrupted("an interruption"),
        "S-A2",
    ),
    "A6: a hint that becomes certain is replaced again": (
        {
            "interruption": {
                'kept = before.replacement if before and before.replacement != DECLINED else ""': 'kept = ""',
                **BEYOND_THE_MOST,
            }
        },
        interrupted("a hint that becomes certain"),
        "S-A2",
    ),
    "A5: the cordon of a scale-down that was given up stays": (
        {"workflow": {"    tidying = scale_down.tidy_up(": "    tidying = None and scale_down.tidy_up("}},
        at_once("a scale-down, and the load comes back"),
        "L-A2",
    ),
    "H7: the cordon of an interrupted node is taken for a stray": (
        {
            "sweep": {
                "    alive = {affected.action_id for affected in cluster.interrupted}\n": (
                    "    alive = set()\n"
                )
            }
        },
        interrupted("an interruption"),
        "H7",
    ),
    "H7: an interrupted machine counts as one that stays": (
        {
            "fleet": {
                "for affected in cluster.interrupted if affected.kind": "for affected in () if affected.kind",
                "if w.instance_id not in hinted)": "if w.instance_id)",
            },
        },
        (CERTAIN, RESTLESS),
        "S-A5",
    ),
    "S-A1: a second scale-up begins over an open one": (
        {"scale_up": {"    up = cluster.scale_up or ScaleUp(": "    up = ScaleUp("}},
        at_once("scaling up, and an old worker is taken"),
        "S-A1",
    ),
    "H5: a node is deleted because its machine was once not listed": (
        {"sweep": {"(absent and now_s - since_s[ghost.instance_id] >= settings.absent_s)": "absent"}},
        scaling_up.CASES["three hands"],
        "H5",
    ),
    "S-A4: a surplus is ended before it is condemned": (
        {
            "sweep": {
                "        *_kills(cluster, snapshot, now_s),\n": (
                    "        *_kills(cluster, snapshot, now_s),\n"
                    "        *(\n"
                    "            Terminate(w.instance_id)\n"
                    "            for w in _unclaimed(cluster, snapshot, settings, now_s)\n"
                    "        ),\n"
                )
            },
            "workflow": {"        sweep.claim(cluster, snapshot, settings, now_s),\n": ""},
        },
        scaling_up.CASES["a late first try"],
        "without being condemned",
    ),
    "S-A5: a hint empties a zone": (
        {
            "fate": {
                "        and (worker.instance.zone in zones or not zones or not "
                "settings.keep_last_of_zone)\n": ""
            }
        },
        interrupted("a hint, and no capacity"),
        "leaves no worker in",
    ),
    "S-A5: a machine that is listed as dead counts as one that stays": (
        {"fleet": {"if w.alive and w.instance_id not in leaving)": "if w.instance_id not in leaving)"}},
        at_once("a scale-down over two zones, and a reclaim"),
        "S-A5",
    ),
    "L-A3: pods that wait are not believed for an hour": (
        {"decide": {"if waited_s < settings.pending_up_s:": "if waited_s < 3_600:"}},
        scaling_up.CASES["three hands"],
        "L-A3: pods wait, and no worker is asked for within 20 ticks",
    ),
    "L-A4: below the floor, a scale-up cools down first": (
        {
            "decide": {
                'return _of_sound_pools(AddWorkers(missing, Reason.BELOW_FLOOR, "below the floor"),': (
                    "return (lambda wanted, cluster, now_s:"
                    " _within_bounds(wanted, cluster, snapshot, settings, now_s))"
                    '(AddWorkers(missing, Reason.BELOW_FLOOR, "below"),'
                )
            }
        },
        (AGAIN_AND_AGAIN, FLOOR),
        "L-A4: below the floor, and no worker is asked for within 3 ticks",
    ),
    "L-A1: a notice that the settings ignore is folded in and let go for ever": (
        {
            "interruption": {
                "    if notice.kind is NoticeKind.REBALANCE and not settings.rebalance_replaces:\n"
                "        return False\n": ""
            }
        },
        (interrupting.CASES["a hint"], UNHINTED),
        "it writes for ever",
    ),
}


@pytest.mark.parametrize("name", VARIANTS)
def test_the_whole_without(name: str) -> None:
    changes, (first, settings), complaint = VARIANTS[name]

    with pytest.raises(Violation, match=complaint) as violation:
        search(autoscaler_without(changes).workflow(settings), first, settings, allowed=any_move)

    caught(name, violation)


@pytest.mark.parametrize(
    ("case", "settings"),
    [(CERTAIN, RESTLESS), (interrupting.CASES["a hint"], UNHINTED), (AGAIN_AND_AGAIN, FLOOR)],
    ids=["idle, and one is taken", "hints are not wanted", "one is taken, and its replacement"],
)
def test_the_shipped_one_passes_where_only_variants_are_shown(case: Here, settings: Settings) -> None:
    assert search(workflow(settings), case, settings).states > 5


def test_s_a2_a_token_that_all_requests_of_an_action_share(monkeypatch: pytest.MonkeyPatch) -> None:
    shared: Any = broken(
        "holdfast.autoscaler.record",
        {"launch_token(action_id, self.group, self.attempt)": "launch_token(action_id, 1, 1)"},
    )
    monkeypatch.setattr(record.Launch, "token", shared.Launch.token)
    first, settings = scaling_up.CASES["two requests"]

    with pytest.raises(Violation, match="S-A2: two requests were answered with") as violation:
        search(workflow(settings), first, settings)

    caught("S-A2: a token that all requests of an action share", violation)


def test_s_a2_a_token_that_is_another_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that is drawn for each call, not for each request."""
    drawn = iter(range(1, 1_000_000))

    def another_token(row: record.Launch, action_id: str) -> str:
        return launch_token(action_id, row.group, next(drawn))

    monkeypatch.setattr(record.Launch, "token", another_token)
    first, settings = scaling_up.CASES["three hands"]

    with pytest.raises(Violation, match=r"S-A2: .* was carried out more than once") as violation:
        search(workflow(settings), first, settings)

    caught("S-A2: a token that is another each time", violation)


def caught(name: str, violation: pytest.ExceptionInfo[Violation]) -> None:
    print(f"{name}\n{violation.value}")
    prove("variant", name, caught_by="every interleaving", path=len(str(violation.value).splitlines()) - 1)
