"""Short stories that the shipped autoscaler tells to a good end, and one with a guard taken out does not."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler import workflow as shipped
from holdfast.autoscaler.record import (
    Cluster,
    Condemned,
    Purpose,
    Recent,
    ScaleDown,
    ScaleUp,
    Status,
    Target,
    Tombstone,
)
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.cloud import State
from holdfast.kernel import Event, Write
from tests.autoscaler.crash.test_scaling_up import SETTINGS as SCALING_UP
from tests.autoscaler.model.fleet import Machine, World, fleet
from tests.autoscaler.model.lives import Story, judge, lives
from tests.autoscaler.model.quiet import Quiet
from tests.autoscaler.unit.decide.test_economy import CLOUDS, ZONES, Fleet
from tests.autoscaler.unit.record.test_workflow import AT_S, FULL, GONE, TWO, kinds, notice
from tests.autoscaler.unit.scale_up.test_action import row
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, snapshot, worker
from tests.proof import prove
from tests.variants import autoscaler_without

Tell = Callable[[Any], str]
"""Takes the whole workflow's module; says what went wrong, and nothing if all is well."""


def every_schedule(story: Story, launched: int, *, faults: int = 1) -> Tell:
    def tell(module: Any) -> str:
        try:
            for life in lives(story, SCALING_UP, module.workflow(SCALING_UP), faults=faults):
                judge(life, launched=(launched,))
        except AssertionError as problem:
            return str(problem)
        return ""

    return tell


def in_quiet(world: World, settings: Settings, cluster: Cluster | None = None) -> Tell:
    """What becomes of it when nothing fails."""
    return lambda module: Quiet(module.workflow(settings), settings)(cluster or Cluster(), world)


def with_snapshot(
    cluster: Cluster, seen: Snapshot, judged: Callable[[Cluster, list[str]], str], **said: Any
) -> Tell:
    """What is written while the world stands still."""

    def tell(module: Any) -> str:
        step = module.workflow(replace(SETTINGS, **said)).step
        now, told, commits = cluster, list[Event](), 0
        while isinstance(ahead := step(now, seen, NOW_S), Write) and commits < 60:
            now, told, commits = ahead.value, [*told, *ahead.events], commits + 1
        return judged(now, [*kinds(told), f"{commits} commits"])

    return tell


def economy(kind: str, within: Callable[[Fleet, Settings], bool], wanted: int = 8, **said: Any) -> Tell:
    def tell(module: Any) -> str:
        settings = Settings(min_workers=4, max_workers=10, **said)
        lived = Fleet(settings, CLOUDS[kind], World(fleet("ab"), wanted, zones=ZONES))
        try:
            lived.live(module.workflow(settings), hours=2)
        except AssertionError as endless:
            return f"economy: {endless}"
        asked = f"{lived.calls} calls, {lived.most_in_an_hour()} launches an hour"
        return "" if within(lived, settings) else f"economy: {asked}"

    return tell


def in_budget(lived: Fleet, settings: Settings) -> bool:
    return lived.most_in_an_hour() <= settings.launch_budget + settings.budget_of(Purpose.REPAIR)


def patient(lived: Fleet, settings: Settings) -> bool:
    """The cloud is not asked again and again for what it refuses each time."""
    return lived.calls <= 20


def begins_to_scale_up(cluster: Cluster, told: list[str]) -> str:
    return "" if "beginScaleUp" in told else f"H6: below the floor, and it does not scale up: {told}"


def interrupts_no_machine(cluster: Cluster, told: list[str]) -> str:
    return (
        f"{[row.instance_id for row in cluster.interrupted]} is taken for interrupted"
        if {"interrupted", "lost"} & set(told)
        else ""
    )


def holds(cluster: Cluster, told: list[str]) -> str:
    return "PENDING_UP_SEC is not waited for" if cluster.scale_up else ""


def few_commits(cluster: Cluster, told: list[str]) -> str:
    commits = int(told[-1].split()[0])
    return f"H11: {commits} commits for 60 notices" if commits > 5 else ""


def floor_kept(cluster: Cluster, told: list[str]) -> str:
    return "S-A5: condemned below the floor" if cluster.condemned else ""


def condemns_no_machine(cluster: Cluster, told: list[str]) -> str:
    return (
        f"S-A4: {cluster.condemned[0].instance_id} runs pods, and is condemned" if cluster.condemned else ""
    )


def claims_again(cluster: Cluster, told: list[str]) -> str:
    """It was adopted, and no tick came to open its node before that ran out."""
    return "" if "adopted" in told else f"L-A3: i-3 waits, and no tick opens it: {told}"


CONDEMNED = Cluster(
    scale_down=ScaleDown("1-a", AT_S - 10, (Target("i-3", Status.CONDEMNED),)),
    condemned=(Condemned("i-3", "1-a", "scale-down", AT_S - 5),),
)
DRAINED = Cluster(scale_down=ScaleDown("1-a", AT_S - 10, (Target("i-3", Status.DRAINED),)))
SIXTY = [worker(f"i-{n}") for n in range(60)]
OLD = World(fleet("aaa"), 3, zones=("a",))
"""An empty record beside workers that were launched long ago."""
STRANGER = replace(
    OLD, machines=(*OLD.machines, Machine("i-hand", action_id="", launched_s=1, node=False, pods=False))
)
CALM = Settings(min_workers=2, max_workers=3)

STORIES: dict[str, tuple[dict[str, dict[str, str]], Tell, str]] = {
    "A1: capacity is asked for before it is intended": (
        {
            "workflow": {
                "        return _told(begun, cluster, snapshot, decision, now_s)\n    return begun or": (
                    "        up = begun.value.scale_up\n"
                    "        return Do(tuple(LaunchInstances(up.action_id, r) for r in up.launches))\n"
                    "    return begun or"
                )
            }
        },
        every_schedule(Story(World(fleet("aa"), 3)), 1),
        "A1",
    ),
    "A4: what did not join is left behind": (
        {
            "scale_up": {
                "            condemned.append(Condemned(instance_id, up.action_id, why, int(now_s)))\n": ""
            },
            "sweep": {
                "    for worker in _unclaimed(cluster, snapshot, settings, now_s):\n": (
                    "    for worker in ():\n"
                )
            },
        },
        every_schedule(Story(World(fleet("aa"), 3), duds=frozenset({"i-new-1"})), 2),
        "live and serve no pod",
    ),
    "S-A4: a node that runs pods is condemned because it was not ready at one look": (
        {
            "scale_up": {
                "_is_open(worker) and (worker.ready or late_s > 0)": "_is_open(worker) and worker.ready"
            }
        },
        with_snapshot(
            Cluster(scale_up=ScaleUp("1-a", AT_S - 3_600, 1, (row(1, "i-9", at_s=AT_S - 3_600),))),
            snapshot(*TWO, worker("i-9", ready=False)),
            condemns_no_machine,
        ),
        "S-A4",
    ),
    "H16: an empty record takes every worker for forgotten": (
        {"sweep": {"        and _is_of_no_use(cluster, worker, settings, now_s)\n": ""}},
        in_quiet(OLD, CALM),
        "S-A",
    ),
    "H16: a machine that is not ours is swept": (
        {
            "sweep": {
                "        if worker.ours\n        and worker.instance_id not in named": (
                    "        if worker.instance_id not in named"
                )
            }
        },
        lambda module: "not ours" if "not ours" in in_quiet(STRANGER, CALM)(module) else "",
        "not ours",
    ),
    "H6: a scale-up waits for a termination that is never confirmed": (
        {
            "workflow": {
                "        if isinstance(decision, AddWorkers):\n            yield _cut_short(": (
                    "        if isinstance(decision, AddWorkers) and not decision:\n"
                    "            yield _cut_short("
                )
            }
        },
        with_snapshot(
            CONDEMNED,
            snapshot(worker("i-1"), worker("i-2", state=State.TERMINATED), worker("i-3", cordoned=True)),
            begins_to_scale_up,
        ),
        "H6",
    ),
    "H11: notices are folded in one at a time": (
        {"interruption": {"        if len(events) == EVENTS_MAX:\n            break\n": "        break\n"}},
        with_snapshot(
            Cluster(),
            snapshot(*SIXTY, notices=tuple(notice(w.instance_id) for w in SIXTY), fits_without=FULL),
            few_commits,
            max_workers=60,
        ),
        "H11",
    ),
    "A6: a notice for a machine that we removed ourselves": (
        {"interruption": {"    if cluster.is_gone(notice.instance_id) or now_s": "    if now_s"}},
        with_snapshot(
            Cluster(gone=(Tombstone("i-3", AT_S),)),
            snapshot(*TWO, worker("i-3", state=State.SHUTTING_DOWN), notices=(notice("i-3", GONE),)),
            interrupts_no_machine,
        ),
        "taken for interrupted",
    ),
    "A.9.9: a notice for a machine that is not of this cluster": (
        {
            "interruption": {
                "        if notice.instance_id not in ours or not _is_news": "        if not _is_news"
            }
        },
        with_snapshot(Cluster(), snapshot(*TWO, notices=(notice("i-stranger"),)), interrupts_no_machine),
        "taken for interrupted",
    ),
    "S-A5: the floor is not guarded where it can be broken": (
        {"scale_down": {"    if others < settings.min_workers:\n": "    if others < 0:\n"}},
        with_snapshot(DRAINED, snapshot(worker("i-1"), worker("i-3"), cpu=0.1), floor_kept, min_workers=2),
        "S-A5",
    ),
    "PENDING_UP_SEC: pods that were only just seen have waited for ever": (
        {
            "decide": {
                "_since(cluster.pending_since_s or now_s, now_s)": "_since(cluster.pending_since_s, now_s)"
            }
        },
        with_snapshot(Cluster(), snapshot(*TWO, pending=1), holds),
        "PENDING_UP_SEC",
    ),
    "PENDING_UP_SEC: pods whose gates were lifted just now have waited for ever": (
        {
            "decide": {
                "min(_since(snapshot.pending_since_s(), now_s), seen_s + UNSEEN_MAX_S)": (
                    "_since(snapshot.pending_since_s(), now_s)"
                )
            }
        },
        with_snapshot(Cluster(), snapshot(*TWO, pending=1, pending_since_s=lambda: 0.0), holds),
        "PENDING_UP_SEC",
    ),
    "L-A3: what has run out is waited for until the next write": (
        {"workflow": {"_recalled(cluster, snapshot, settings, now_s), snapshot,": "cluster, snapshot,"}},
        with_snapshot(
            Cluster(recent=(Recent("i-3", "default", "a", AT_S - 900),), pending_since_s=AT_S),
            snapshot(*TWO, worker("i-3", joining=True), pending=1),
            claims_again,
        ),
        "L-A3",
    ),
    "L-A3: a broken node is waited for": (
        {
            "fleet": {
                "    return len(coming) + len(unlisted(cluster, snapshot)) + (up.owed if up else 0)\n": (
                    "    return size(cluster, snapshot) - len(serving(cluster, snapshot))\n"
                )
            }
        },
        with_snapshot(
            Cluster(pending_since_s=AT_S - 900),
            snapshot(*TWO, worker("i-3", ready=False), pending=1),
            begins_to_scale_up,
        ),
        "H6",
    ),
    "H10: an answer that was lost is taken for one that came": (
        {
            "launch_result": {
                "or not isinstance(outcome, Happened):\n        return None\n    row = effect.launch\n": (
                    ":\n        return None\n    row = effect.launch\n"
                    "    if not isinstance(outcome, Happened):\n"
                    "        outcome = Happened(Launched(()))\n"
                )
            }
        },
        every_schedule(Story(World(fleet("aa"), 3)), 1),
        "i-new-2",
    ),
    "economy: the launches of the hour are not counted": (
        {
            "launch_plan": {
                (
                    "    return sum(spent.count for spent in this_hour(cluster, now_s) "
                    "if spent.purpose is purpose)\n"
                ): "    return 0\n"
            }
        },
        economy("every machine is taken back", in_budget, launches_per_hour_max=9, repairs_per_hour_max=9),
        "economy",
    ),
    "economy: a failed scale-up is begun again at once": (
        {"pool_failures": {"int(now_s) + wait_s, why[:REASON_MAX])": "0, why[:REASON_MAX])"}},
        economy("no permission", patient),
        "economy",
    ),
    "economy: a scale-up that failed is extended for the floor": (
        {"pool_failures": {" and not fails_now(cluster, pool)": ""}},
        economy("no permission", patient, wanted=2),
        "economy",
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_a_story_without(name: str) -> None:
    changes, tell, complaint = STORIES[name]

    assert tell(shipped) == ""
    said = tell(autoscaler_without(changes))

    assert complaint in said, said or "nothing was noticed"
    prove("variant", name, caught_by="a story")
