"""What the sweep leaves alone, guard by guard: each of these is a machine, node or cordon in use."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler import sweep
from holdfast.autoscaler.ports import Admit, CordonNode, DeleteNode, Effect, Terminate
from holdfast.autoscaler.record import (
    Cluster,
    Condemned,
    Cordon,
    Interrupted,
    Launch,
    LaunchStatus,
    Missing,
    Recent,
    ScaleDown,
    ScaleUp,
    Status,
    Target,
    Tombstone,
)
from holdfast.autoscaler.scale_up.action import ADMISSION_S
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Ghost, Snapshot, Worker
from holdfast.cloud import Market, NoticeKind, State
from holdfast.kernel import Write
from holdfast.kernel.write import EVENTS_MAX
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, booting, snapshot, worker

AT_S = int(NOW_S)
OLD_S = AT_S - SETTINGS.sweep_after_s - 1
TWO = (worker("i-1"), worker("i-2", "b"))


def claimed(
    cluster: Cluster, *workers: Worker, pending: int = 0, settings: Settings = SETTINGS
) -> tuple[str, str]:
    """What the sweep does with a machine that the record does not name, and why."""
    write = sweep.claim(cluster, snapshot(*workers, pending=pending), settings, NOW_S)
    if write is None:
        return "", ""
    assert len(write.events) == 1
    return write.events[0].kind, write.events[0].reason


def due(cluster: Cluster, seen: Snapshot, now_s: float = NOW_S, **said: Any) -> list[Effect]:
    return list(sweep.effects(cluster, seen, replace(SETTINGS, **said), now_s))


def surplus(**said: Any) -> Worker:
    return booting("i-9", **{"launched_s": OLD_S, "action_id": "1-forgotten", **said})


def ready_surplus(**said: Any) -> Worker:
    return worker("i-9", **{"joining": True, "launched_s": OLD_S, **said})


def test_only_a_ready_node_is_adopted_and_only_where_it_is_wanted() -> None:
    one = worker("i-1")

    assert claimed(Cluster(), one, ready_surplus())[0] == "adopted"
    assert claimed(Cluster(), one, ready_surplus(ready=False))[0] == "terminating"
    assert claimed(Cluster(), one, surplus())[0] == "terminating"
    assert claimed(Cluster(), *TWO, ready_surplus())[0] == "terminating", "the floor has enough"
    waiting: dict[str, Any] = {"pending": 1, "settings": replace(SETTINGS, max_workers=3)}
    assert claimed(Cluster(), *TWO, ready_surplus(), **waiting)[0] == "adopted", "it fits the maximum size"
    too_many: dict[str, Any] = {"pending": 1, "settings": replace(SETTINGS, max_workers=2)}
    assert claimed(Cluster(), *TWO, ready_surplus(), **too_many)[0] == "terminating"


def test_a_stopped_machine_of_ours_is_condemned_whatever_its_node_says() -> None:
    for stopped in (ready_surplus(state=State.STOPPED), worker("i-9", state=State.STOPPED, launched_s=OLD_S)):
        assert claimed(Cluster(), worker("i-1"), stopped) == ("terminating", "stopped")
    assert claimed(Cluster(), *TWO, surplus())[1] == "a surplus that no record names"


@pytest.mark.parametrize(
    "named",
    [
        Cluster(recent=(Recent("i-9", "default", "a", AT_S),)),
        Cluster(condemned=(Condemned("i-9", "1-a", "scale-down", AT_S),)),
        Cluster(interrupted=(Interrupted("i-9", NoticeKind.REBALANCE, AT_S, AT_S),)),
        Cluster(gone=(Tombstone("i-9", AT_S),)),
        Cluster(scale_up=ScaleUp("1-a", AT_S, 1, foreign_ids=("i-9",))),
    ],
    ids=["recent", "terminating", "interrupted", "gone", "joining"],
)
def test_what_the_record_names_is_no_surplus(named: Cluster) -> None:
    assert claimed(named, *TWO, surplus()) == ("", "")
    assert claimed(Cluster(), *TWO, surplus())[0] == "terminating", "without that record it would be"


def test_what_the_cloud_is_ending_already_is_not_swept() -> None:
    for state in (State.SHUTTING_DOWN, State.TERMINATED, State.STOPPING):
        assert claimed(Cluster(), *TWO, surplus(state=state)) == ("", "")


def test_a_machine_has_all_of_its_time_to_join() -> None:
    assert claimed(Cluster(), *TWO, surplus(launched_s=OLD_S + 1)) == ("", "")
    assert claimed(Cluster(), *TWO, surplus(launched_s=OLD_S))[0] == "terminating"


def test_only_what_a_closed_request_of_the_open_action_brought_is_a_surplus_at_once() -> None:
    row = Launch(1, 1, "default", "a", "s-a", Market.SPOT, "m5.large", "lt-1", 3, 1, at_s=AT_S)
    closed = replace(row, status=LaunchStatus.REFUSED)
    opened = replace(row, group=2)
    scaling_up = Cluster(scale_up=ScaleUp("1-a", AT_S - 10, 2, (closed, opened)))

    def came(token: str, action_id: str = "1-a") -> tuple[str, str]:
        return claimed(
            scaling_up, *TWO, booting("i-9", launched_s=AT_S - 1, action_id=action_id, token=token)
        )

    assert came(closed.token("1-a"))[0] == "terminating"
    assert came(opened.token("1-a")) == ("", ""), "its answer may be under way"
    assert came("another request") == ("", "")
    assert came(closed.token("1-a"), action_id="2-b") == ("", "")


def absent(n: int) -> tuple[Ghost, ...]:
    return tuple(Ghost(f"i-{100 + i}", f"n-{100 + i}", f"uid-{100 + i}", None) for i in range(n))


def test_nothing_is_noted_as_missing_while_something_could_not_be_looked_at() -> None:
    seen = snapshot(*TWO, ghosts=absent(1))

    assert sweep.missing(Cluster(), seen, SETTINGS, NOW_S) is not None
    assert sweep.missing(Cluster(), replace(seen, troubles=("a half",)), SETTINGS, NOW_S) is None


def test_a_few_are_noted_as_missing_at_a_time_and_each_change_is_told() -> None:
    noted = sweep.missing(Cluster(), snapshot(*TWO, ghosts=absent(30)), SETTINGS, NOW_S)
    assert noted is not None
    assert len(noted.value.missing) == len(noted.events) == SETTINGS.sweep_batch

    back = Cluster(missing=tuple(Missing(f"i-back-{n:03}", 1) for n in range(EVENTS_MAX + 20)))
    cluster, told = back, 0
    while (write := sweep.missing(cluster, snapshot(*TWO, ghosts=absent(2)), SETTINGS, NOW_S)) is not None:
        assert len(write.events) <= EVENTS_MAX
        cluster, told = write.value, told + len(write.events)
    assert told == EVENTS_MAX + 20 + 2
    assert [row.instance_id for row in cluster.missing] == ["i-100", "i-101"]


def ended(cluster: Cluster, *workers: Worker, now_s: float = NOW_S) -> Write[Cluster] | None:
    return sweep.lost(cluster, snapshot(*TWO, *workers), SETTINGS, now_s)


def test_a_condemned_machine_is_gone_when_it_is_listed_as_terminated_and_not_for_its_age() -> None:
    long_ago = Cluster(condemned=(Condemned("i-9", "1-a", "surplus", 1),))
    just_now = Cluster(condemned=(Condemned("i-9", "1-a", "surplus", AT_S),))

    for state in (State.RUNNING, State.SHUTTING_DOWN, State.STOPPED):
        assert ended(long_ago, worker("i-9", state=state)) is None, "it is there, and may come back"
    dead = ended(just_now, worker("i-9", state=State.TERMINATED))
    assert dead is not None
    assert (dead.value.condemned, dead.value.gone) == ((), (Tombstone("i-9", AT_S),))
    assert ended(just_now, now_s=NOW_S + SETTINGS.absent_s) is None
    assert ended(just_now, now_s=NOW_S + SETTINGS.absent_s + 1) is not None


def test_a_target_that_ends_in_an_open_scale_down_ends_there_too() -> None:
    down = ScaleDown("1-a", AT_S, (Target("i-3", Status.CONDEMNED), Target("i-4")))
    cluster = Cluster(
        scale_down=down,
        condemned=(Condemned("i-3", "1-a", "scale-down", AT_S), Condemned("i-9", "1-b", "late", AT_S)),
    )

    write = ended(
        cluster, worker("i-3", state=State.TERMINATED), worker("i-9", state=State.TERMINATED), worker("i-4")
    )

    assert write is not None
    assert write.value.scale_down is not None
    assert [target.status for target in write.value.scale_down.targets] == [Status.GONE, Status.PLANNED]
    assert [(event.kind, event.reason) for event in write.events] == [
        ("terminated", "scale-down"),
        ("terminated", "late"),
    ]


def test_hundreds_that_ended_are_noted_in_commits_that_fit() -> None:
    many = [f"i-{n}" for n in range(100, 100 + EVENTS_MAX + 5)]
    cluster = Cluster(condemned=tuple(Condemned(i, "1-a", "surplus", AT_S) for i in many))

    first = ended(cluster, *(worker(i, state=State.TERMINATED) for i in many))

    assert first is not None
    assert len(first.events) == len(first.value.gone) == EVENTS_MAX
    assert len(first.value.condemned) == 5


def test_the_node_of_a_condemned_machine_that_does_not_run_is_not_waited_for() -> None:
    condemned = Cluster(condemned=(Condemned("i-9", "1-a", "stopped", AT_S),))

    assert due(condemned, snapshot(*TWO, worker("i-9", state=State.STOPPED))) == [Terminate("i-9")]
    assert due(condemned, snapshot(*TWO, worker("i-9"))) == [CordonNode("i-9", "1-a")]


def test_an_adopted_node_is_opened_only_while_that_is_safe() -> None:
    named = Cluster(recent=(Recent("i-9", "default", "a", AT_S),))
    joined = worker("i-9", joining=True)
    last_s = SETTINGS.remember_s - ADMISSION_S

    assert due(named, snapshot(*TWO, joined)) == [Admit("i-9")]
    assert due(named, snapshot(*TWO, joined), NOW_S + last_s - 1) == [Admit("i-9")]
    assert due(named, snapshot(*TWO, joined), NOW_S + last_s) == [], "it may be condemned before that is done"
    assert due(named, snapshot(*TWO, replace(joined, ready=False))) == []
    assert due(named, snapshot(*TWO, replace(joined, joining=False))) == [], "it is open already"
    assert due(named, snapshot(*TWO, worker("i-9", joining=True, state=State.SHUTTING_DOWN))) == []
    interrupted = replace(
        named, interrupted=(Interrupted("i-9", NoticeKind.INTERRUPTION, AT_S, AT_S + 120, "a"),)
    )
    assert due(interrupted, snapshot(*TWO, joined)) == []


def test_a_node_is_deleted_only_for_a_machine_that_is_terminated_or_was_noted_as_missing() -> None:
    long_missing = Cluster(missing=(Missing("i-9", AT_S - 10_000),))
    for state in (State.SHUTTING_DOWN, State.STOPPING, State.STOPPED):
        assert due(long_missing, snapshot(*TWO, ghosts=(Ghost("i-9", "n-9", "uid-9", state),))) == []
    unlisted = snapshot(*TWO, ghosts=(Ghost("i-9", "n-9", "uid-9", None),))
    assert due(Cluster(), unlisted) == [], "absent once is no proof"
    assert due(long_missing, unlisted) == [DeleteNode("i-9", "n-9", "uid-9")]


@pytest.mark.parametrize(("batch", "most"), [(2, 20), (0, 10)])
def test_nodes_are_deleted_a_few_at_a_time(batch: int, most: int) -> None:
    ghosts = tuple(Ghost(f"i-{n}", f"n-{n}", f"uid-{n}", State.TERMINATED) for n in range(100, 150))

    assert len(due(Cluster(), snapshot(*TWO, ghosts=ghosts), sweep_batch=batch)) == most


def test_a_cordon_is_a_stray_only_when_nothing_in_the_record_owns_it() -> None:
    cordoned = worker("i-3", cordons=frozenset({"1-a"}))
    hint = Interrupted("i-3", NoticeKind.REBALANCE, AT_S, AT_S)

    assert sweep.strays(Cluster(), snapshot(*TWO, cordoned)) == {Cordon("i-3", "1-a")}
    for owner in (
        Cluster(scale_down=ScaleDown("1-a", AT_S, (Target("i-3"),))),
        Cluster(scale_up=ScaleUp("1-a", AT_S, 1)),
        Cluster(condemned=(Condemned("i-3", "1-a", "scale-down", AT_S),)),
    ):
        assert sweep.strays(owner, snapshot(*TWO, cordoned)) == frozenset()
    hinted = worker("i-3", cordons=frozenset({hint.action_id, "1-old"}))
    assert sweep.strays(Cluster(interrupted=(hint,)), snapshot(*TWO, hinted)) == {Cordon("i-3", "1-old")}
    dead = worker("i-3", cordons=frozenset({"1-a"}), state=State.TERMINATED)
    assert sweep.strays(Cluster(), snapshot(*TWO, dead)) == frozenset()


def test_a_ready_node_whose_machine_is_not_listed_is_freed_of_strays_too() -> None:
    """Else it takes no pod for as long as a listing lacks its machine, and that may be hours."""
    owners = frozenset({"1-a"})
    left = Ghost("i-3", "n-3", "uid-3", None, ready=True, cordons=owners)

    assert sweep.strays(Cluster(), snapshot(*TWO, ghosts=(left,))) == {Cordon("i-3", "1-a")}
    leaving = Cluster(condemned=(Condemned("i-3", "1-a", "scale-down", AT_S),))
    assert sweep.strays(leaving, snapshot(*TWO, ghosts=(left,))) == frozenset()
    for state, ready in ((State.TERMINATED, True), (None, False)):
        gone = replace(left, state=state, ready=ready)
        assert sweep.strays(Cluster(), snapshot(*TWO, ghosts=(gone,))) == frozenset()
