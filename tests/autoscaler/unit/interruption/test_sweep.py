"""What no record remembers: adopted or removed, and only ever what is ours."""

from dataclasses import replace

import pytest

from holdfast.autoscaler.ports import Admit, CordonNode, DeleteNode, Effect, Terminate
from holdfast.autoscaler.record import (
    Cluster,
    Condemned,
    Launch,
    LaunchStatus,
    Missing,
    Recent,
    ScaleUp,
    Tombstone,
)
from holdfast.autoscaler.snapshot import Ghost, Snapshot, Worker
from holdfast.autoscaler.workflow import workflow
from holdfast.cloud import Market, State
from holdfast.kernel import Do, Write
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, booting, snapshot, worker

FLOW = workflow(SETTINGS)
AT_S = int(NOW_S)
TWO = (worker("i-1"), worker("i-2", "b"))
SEATED = Cluster(worker_count=2, hold_code="NeitherBusyNorIdle")


def told(cluster: Cluster, seen: Snapshot, now_s: float = NOW_S) -> tuple[Cluster, list[str]]:
    """All that is written about this snapshot, without the decisions."""
    kinds: list[str] = []
    for _ in range(20):
        ahead = FLOW.step(cluster, seen, now_s)
        if not isinstance(ahead, Write):
            return cluster, kinds
        cluster, kinds = ahead.value, [*kinds, *(e.kind for e in ahead.events if e.kind != "decision")]
    raise AssertionError(f"it writes for ever: {kinds}")


def due(cluster: Cluster, seen: Snapshot, now_s: float = NOW_S) -> tuple[Effect, ...]:
    ahead = FLOW.step(cluster, seen, now_s)
    return ahead.effects if isinstance(ahead, Do) else ()


def surplus() -> Worker:
    return booting("i-9", launched_s=AT_S - 10_000, action_id="1-forgotten")


def test_a_surplus_is_condemned_before_it_is_ended() -> None:
    cluster, kinds = told(SEATED, snapshot(*TWO, surplus()))

    assert kinds == ["terminating"]
    assert due(cluster, snapshot(*TWO, surplus())) == (Terminate("i-9"),)


def test_a_surplus_that_has_joined_is_adopted_where_it_is_needed_and_only_then_takes_pods() -> None:
    joined = worker("i-9", joining=True, launched_s=AT_S - 10_000)

    cluster, kinds = told(SEATED, snapshot(worker("i-1"), joined))

    assert "adopted" in kinds
    assert Admit("i-9") in due(cluster, snapshot(worker("i-1"), joined))


def test_no_node_takes_pods_before_the_record_names_its_machine() -> None:
    joined = worker("i-9", joining=True, launched_s=AT_S)

    assert Admit("i-9") not in due(SEATED, snapshot(*TWO, joined))
    named = replace(SEATED, recent=(Recent("i-9", "default", "a", AT_S),))
    assert Admit("i-9") in due(named, snapshot(*TWO, joined))


@pytest.mark.parametrize(
    "left_alone",
    [
        booting("i-9", action_id="", launched_s=1),
        worker("i-9", action_id="", launched_s=1),
        booting("i-9", launched_s=AT_S - 10),
        worker("i-9", launched_s=1),
    ],
    ids=["not ours", "not ours and serving", "just launched", "serving"],
)
def test_what_is_not_ours_too_young_or_serves_is_never_swept(left_alone: Worker) -> None:
    for record in (SEATED, Cluster()):
        cluster, kinds = told(record, snapshot(*TWO, left_alone))
        assert cluster.condemned == ()
        assert "terminating" not in kinds


def test_an_empty_record_beside_running_workers_adopts_them_and_removes_none() -> None:
    fleet = [worker(f"i-{n}", launched_s=1) for n in range(5)]
    fleet += [worker(f"i-hand-{n}", action_id="", launched_s=1) for n in range(3)]

    cluster, kinds = told(Cluster(), snapshot(*fleet))

    assert kinds == []
    assert cluster.worker_count == 8
    assert due(cluster, snapshot(*fleet)) == ()


def test_what_an_open_request_may_have_brought_is_waited_for() -> None:
    row = Launch(1, 1, "default", "a", "s-a", Market.SPOT, "m5.large", "lt-1", 3, 1, at_s=AT_S)
    scaling_up = replace(SEATED, scale_up=ScaleUp("1-a", AT_S, 1, (row,)))
    came = booting("i-9", launched_s=AT_S - 10_000, action_id="1-a", token=row.token("1-a"))

    cluster, _ = told(scaling_up, snapshot(*TWO, came))
    assert cluster.condemned == ()
    closed = replace(row, status=LaunchStatus.REFUSED, count=0)
    other = replace(row, group=2)
    cluster, kinds = told(
        replace(scaling_up, scale_up=ScaleUp("1-a", AT_S, 1, (closed, other))), snapshot(*TWO, came)
    )
    assert "terminating" in kinds, "its own request was refused: it came late, and no action waits for it"


def test_an_open_node_is_closed_before_its_machine_is_ended() -> None:
    condemned = replace(SEATED, condemned=(Condemned("i-9", "1-a", "did not join", AT_S),))

    assert CordonNode("i-9", "1-a") in due(condemned, snapshot(*TWO, worker("i-9", joining=True)))
    closed = worker("i-9", joining=True, cordoned=True)
    assert Terminate("i-9", keep_console=True) in due(condemned, snapshot(*TWO, closed))


def test_absence_once_is_no_proof_and_twice_five_minutes_apart_is() -> None:
    seen = snapshot(*TWO, ghosts=(Ghost("i-9", "n-9", "uid-9", None),))

    cluster, kinds = told(SEATED, seen)
    assert kinds == ["missing"]
    assert due(cluster, seen, NOW_S + 299) == ()
    assert due(cluster, seen, NOW_S + 300) == (DeleteNode("i-9", "n-9", "uid-9"),)


def test_a_machine_that_is_listed_again_is_forgotten_as_missing() -> None:
    cluster, kinds = told(replace(SEATED, missing=(Missing("i-1", 1),)), snapshot(*TWO))

    assert kinds == ["noLongerMissing"]
    assert cluster.missing == ()


@pytest.mark.parametrize("state", [State.SHUTTING_DOWN, State.STOPPING, State.STOPPED])
def test_only_what_is_listed_as_terminated_is_buried_at_once(state: State) -> None:
    assert due(SEATED, snapshot(*TWO, ghosts=(Ghost("i-9", "n-9", "uid-9", state),))) == ()
    ended = snapshot(*TWO, ghosts=(Ghost("i-9", "n-9", "uid-9", State.TERMINATED),))
    assert due(SEATED, ended) == (DeleteNode("i-9", "n-9", "uid-9"),)


def test_nothing_is_swept_while_something_could_not_be_looked_at() -> None:
    seen = snapshot(
        *TWO,
        surplus(),
        ghosts=(Ghost("i-7", "n-7", "uid-7", None), Ghost("i-8", "n-8", "uid-8", State.TERMINATED)),
        troubles=("half of the workers are not ready",),
    )
    long_missing = replace(SEATED, missing=(Missing("i-7", AT_S - 3_600),))

    cluster, kinds = told(long_missing, seen)

    assert kinds == []
    buried = DeleteNode("i-8", "n-8", "uid-8")
    assert due(cluster, seen) == (buried,), "EC2 itself says that its machine is terminated"


def test_a_condemned_machine_that_is_not_known_any_more_is_gone_after_a_while_and_not_before() -> None:
    condemned = replace(SEATED, condemned=(Condemned("i-9", "1-a", "surplus", AT_S),))

    assert due(condemned, snapshot(*TWO), NOW_S + 299) == (Terminate("i-9"),)
    cluster, kinds = told(condemned, snapshot(*TWO), NOW_S + 301)

    assert kinds == ["terminated"]
    assert cluster.gone == (Tombstone("i-9", AT_S + 301),)
