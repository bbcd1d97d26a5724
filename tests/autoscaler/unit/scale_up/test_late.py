"""Machines that are late, and of which it is not known whether they joined."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler import decide, sweep, workflow
from holdfast.autoscaler.ports import Admit
from holdfast.autoscaler.record import Cluster, Recent, Tombstone
from holdfast.autoscaler.snapshot import Ghost, Snapshot
from holdfast.cloud import State
from holdfast.kernel import Do, Write
from tests.autoscaler.unit.scale_up.test_action import TWO, kinds, proceed, row, scaling_up, written
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, booting, snapshot

LATE_S = NOW_S + 3_600
GHOST: dict[str, Any] = {"name": "n-9", "uid": "uid-9", "state": None, "ready": True}


def late(seen: Snapshot) -> Write[Cluster]:
    return written(proceed(scaling_up(row(1, "i-9")), seen, LATE_S))


@pytest.mark.parametrize(
    ("seen", "why"),
    [
        (snapshot(*TWO, booting("i-9"), troubles=("many are not ready",)), "many are not ready"),
        (snapshot(*TWO, troubles=("no node is listed",)), "no node is listed"),
        (snapshot(*TWO, booting("i-9", has_pods=True)), "pods are listed on a node of its name"),
        (snapshot(*TWO, ghosts=(Ghost("i-9", **GHOST, joining=True, doubted=True),)), "node n-9 is Ready"),
    ],
)
def test_what_may_have_joined_is_neither_ended_nor_waited_for(seen: Snapshot, why: str) -> None:
    write = late(seen)

    assert kinds(write) == ["joinUnknown"]
    assert write.events[0].reason.startswith(why)
    assert write.value.condemned == ()
    assert write.value.recent == (Recent("i-9", "default", "a", int(LATE_S)),), "the record goes on naming it"
    assert write.value.scale_up is not None
    assert write.value.scale_up.lost == ("i-9",), "and the action does not wait"


def test_it_is_waited_for_while_it_has_time() -> None:
    seen = snapshot(*TWO, booting("i-9"), troubles=("many are not ready",))

    assert proceed(scaling_up(row(1, "i-9")), seen, NOW_S + 60) is None


def test_an_open_node_that_reports_has_joined_though_its_machine_is_not_listed() -> None:
    write = late(snapshot(*TWO, ghosts=(Ghost("i-9", **GHOST),)))

    assert kinds(write) == ["joined"]
    assert write.value.joined == ("i-9",)


def test_a_node_that_joins_is_opened_though_its_machine_is_not_listed() -> None:
    """Else the floor counts on a worker that takes no pod for as long as no listing shows it."""
    reports = Ghost("i-9", **GHOST, joining=True)

    assert opened(reports) == (True, True)
    assert opened(replace(reports, doubted=True)) == (False, False), "the readiness check has its say"
    assert opened(replace(reports, ready=False)) == (False, False)
    assert opened(replace(reports, state=State.SHUTTING_DOWN)) == (False, False)
    assert opened(replace(reports, instance_id="i-8")) == (False, False), "the record does not name it"


def opened(ghost: Ghost) -> tuple[bool, bool]:
    """Whether the scale-up that waits for i-9 opens this node, and whether the sweep does after it."""
    seen, remembered = snapshot(*TWO, ghosts=(ghost,)), Recent("i-9", "default", "a", int(NOW_S))
    ahead = proceed(scaling_up(row(1, "i-9")), seen)
    swept = sweep.effects(Cluster(recent=(remembered,)), seen, SETTINGS, NOW_S)
    return ahead == Do((Admit("i-9"),)), Admit("i-9") in swept


def test_a_node_that_no_tick_opened_is_not_late_though_its_machine_is_not_listed() -> None:
    assert kinds(late(snapshot(*TWO, ghosts=(Ghost("i-9", **GHOST, joining=True),)))) == ["joinExtended"]


def test_what_is_late_does_not_count_for_the_floor_unless_no_node_of_ours_is_listed() -> None:
    one = (TWO[0], booting("i-9", late=True))
    trouble = ("many are not ready",)

    def missing(seen: Snapshot) -> int:
        return sum(need.count for need in decide.below_floor(Cluster(), seen, SETTINGS, NOW_S))

    assert missing(snapshot(*one, troubles=trouble)) == 1
    assert missing(snapshot(*one, troubles=trouble, doubts=trouble)) == 1
    full = [booting(f"i-{n}", late=True) for n in range(SETTINGS.max_workers - 1)]
    assert missing(snapshot(TWO[0], *full, troubles=trouble, doubts=trouble)) == 0, "they may serve after all"
    none = (booting("i-8", late=True), one[1])
    assert missing(snapshot(*none, troubles=trouble, doubts=trouble)) == 0, "a new one would not be listed"
    assert missing(snapshot(TWO[0], booting("i-9", late=True, has_pods=True))) == 0


def test_a_stone_is_kept_while_the_cloud_lists_the_machine_as_ended() -> None:
    old = Cluster(gone=(Tombstone("i-8", 1), Tombstone("i-9", 1)))
    seen = snapshot(*TWO, booting("i-9", state=State.TERMINATED))

    recalled = workflow._recalled(old, seen, SETTINGS, NOW_S)

    assert [stone.instance_id for stone in recalled.gone] == ["i-9"]
