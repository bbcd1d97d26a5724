"""Machines that the cloud takes back: each noted once, replaced once if needed, drained in time."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from holdfast.autoscaler.ports import CordonNode, Drain, Drained, Effect, ForgetNotices, LaunchInstances
from holdfast.autoscaler.record import (
    READY,
    UNNEEDED,
    Cluster,
    Condemned,
    Interrupted,
    ScaleDown,
    Status,
    Target,
    Tombstone,
)
from holdfast.autoscaler.snapshot import Ghost, Snapshot
from holdfast.autoscaler.workflow import workflow
from holdfast.cloud import Notice, NoticeKind, State
from holdfast.cloud.launches import Launched
from holdfast.kernel import Do, Event, Happened, Write
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, snapshot, worker

FLOW = workflow(SETTINGS)
AT_S = int(NOW_S)
TWO = (worker("i-1"), worker("i-2", "b"))
DEAD = worker("i-3", state=State.TERMINATED).instance
FULL: Any = lambda leaving, closed: "shop/web: no room"  # noqa: E731


def notice(instance_id: str, kind: NoticeKind = NoticeKind.INTERRUPTION, at_s: int = AT_S) -> Notice:
    return Notice(instance_id, kind, at_s, at_s + 120 if kind is NoticeKind.INTERRUPTION else 0)


def run(
    cluster: Cluster, seen: Snapshot, now_s: float = NOW_S
) -> tuple[Cluster, list[Event], Sequence[Effect]]:
    """All writes until there is none; then the effects that are due."""
    told: list[Event] = []
    for _ in range(20):
        ahead = FLOW.step(cluster, seen, now_s)
        if not isinstance(ahead, Write):
            return cluster, told, ahead.effects if isinstance(ahead, Do) else ()
        cluster, told = ahead.value, [*told, *ahead.events]
    raise AssertionError(f"it writes for ever: {told[-3:]}")


def kinds(events: Sequence[Event]) -> list[str]:
    return [event.kind for event in events if event.kind not in ("decision", "conditionChanged")]


def test_all_waiting_notices_are_folded_in_one_commit_and_duplicates_are_one() -> None:
    workers = [worker(f"i-{n}") for n in range(60)]
    waiting = tuple(notice(w.instance_id) for w in workers) * 2

    ahead = FLOW.step(Cluster(), snapshot(*workers, notices=waiting), NOW_S)

    assert isinstance(ahead, Write)
    assert [event.kind for event in ahead.events] == ["interrupted"] * 60
    assert len(ahead.value.interrupted) == 60


def test_a_needed_machine_has_one_replacement_and_is_drained_beside_it() -> None:
    seen = snapshot(*TWO, notices=(notice("i-1"),), fits_without=FULL)

    cluster, told, due = run(Cluster(), seen)

    assert kinds(told) == ["interrupted", "beginScaleUp"]
    assert cluster.scale_up is not None
    assert cluster.scale_up.requested == 1
    assert Drain("i-1", "interruption-i-1", AT_S + 120) in due
    assert any(isinstance(effect, LaunchInstances) for effect in due)
    assert ForgetNotices(("i-1#interruption",)) in due


def test_a_machine_that_the_fleet_can_spare_is_not_replaced() -> None:
    workers = (*TWO, worker("i-3"))

    cluster, told, _ = run(Cluster(), snapshot(*workers, notices=(notice("i-3"),)))

    assert kinds(told) == ["interrupted", "notReplaced"]
    assert cluster.interrupted[0].replacement == UNNEEDED
    assert cluster.scale_up is None


def test_at_the_floor_every_interrupted_machine_is_replaced_even_if_it_is_empty() -> None:
    cluster, _, _ = run(Cluster(), snapshot(*TWO, notices=(notice("i-1"), notice("i-2"))))

    assert cluster.scale_up is not None
    assert cluster.scale_up.requested == 2


def test_a_rebalance_that_becomes_an_interruption_is_replaced_once() -> None:
    hint = snapshot(*TWO, notices=(notice("i-1", NoticeKind.REBALANCE),), fits_without=FULL)
    cluster, _, due = run(Cluster(), hint)
    assert CordonNode("i-1", f"rebalance-i-1-{AT_S}") in due
    assert not any(isinstance(effect, Drain) for effect in due), "a hint waits for its replacement"

    cluster, told, due = run(cluster, replace(hint, notices=(notice("i-1"),)))

    assert kinds(told) == ["interrupted"]
    assert cluster.scale_up is not None
    assert cluster.scale_up.requested == 1
    assert Drain("i-1", "interruption-i-1", AT_S + 120) in due


def test_a_rebalance_drains_once_the_replacement_is_ready_and_then_ends_the_machine() -> None:
    interrupted = Interrupted("i-1", NoticeKind.REBALANCE, AT_S, AT_S, READY)
    workers = (*TWO, worker("i-9"))
    cluster, _, due = run(Cluster(interrupted=(interrupted,)), snapshot(*workers))
    drain = Drain("i-1", f"rebalance-i-1-{AT_S}")
    assert drain in due

    settled = FLOW.settle(cluster, drain, Happened(Drained()), NOW_S)
    assert settled is not None
    cluster, told, _ = run(settled.value, snapshot(*workers))

    assert "terminating" in kinds(told)
    assert cluster.is_condemned("i-1")


def test_a_notice_extends_an_open_scale_up() -> None:
    cluster, _, _ = run(Cluster(), snapshot(worker("i-1")))  # below the floor
    assert cluster.scale_up is not None

    cluster, told, _ = run(cluster, snapshot(worker("i-1"), notices=(notice("i-1"),), fits_without=FULL))

    assert kinds(told) == ["interrupted", "extendScaleUp"]
    assert cluster.scale_up is not None
    assert cluster.scale_up.requested == 2


def test_a_notice_ends_a_scale_down_and_keeps_what_is_not_condemned() -> None:
    down = ScaleDown("1-a", AT_S, (Target("i-3"), Target("i-4", Status.CONDEMNED)))
    scaling_down = Cluster(scale_down=down, condemned=(Condemned("i-4", "1-a", "scale-down", AT_S),))
    workers = (*TWO, worker("i-3"), worker("i-4"))

    cluster, told, _ = run(scaling_down, snapshot(*workers, notices=(notice("i-1"),), fits_without=FULL))

    assert kinds(told) == ["interrupted", "drainSkipped", "completeScaleDown", "beginScaleUp"]
    assert cluster.is_condemned("i-4"), "a condemnation is never taken back"


def test_notices_that_say_nothing_new_are_dropped_and_nothing_is_touched() -> None:
    known = Cluster(
        gone=(Tombstone("i-gone", AT_S),), condemned=(Condemned("i-going", "a", "scale-down", AT_S),)
    )
    old = notice("i-1", NoticeKind.GONE, AT_S - SETTINGS.remember_s - 1)
    waiting = (notice("i-gone", NoticeKind.GONE), notice("i-going"), old)

    cluster, told, due = run(known, snapshot(*TWO, worker("i-going", cordoned=True), notices=waiting))

    assert kinds(told) == []
    assert cluster.interrupted == ()
    assert {key for effect in due if isinstance(effect, ForgetNotices) for key in effect.keys} == {
        "i-gone#gone",
        "i-going#interruption",
        "i-1#gone",
    }


def test_a_strangers_notice_is_dropped_after_a_while_and_never_acted_on() -> None:
    seen = snapshot(*TWO, notices=(notice("i-stranger"),))

    cluster, told, due = run(Cluster(), seen)
    assert (cluster.interrupted, kinds(told), list(due)) == ((), [], [])
    _, _, due = run(cluster, seen, NOW_S + 121)

    assert list(due) == [ForgetNotices(("i-stranger#interruption",))]


def test_a_machine_that_ended_without_a_word_is_replaced_too() -> None:
    dead = worker("i-1", state=State.SHUTTING_DOWN)

    cluster, told, _ = run(Cluster(), snapshot(dead, TWO[1], notices=(notice("i-1", NoticeKind.GONE),)))

    assert "beginScaleUp" in kinds(told)
    assert cluster.scale_up is not None
    assert cluster.scale_up.requested == 1
    assert cluster.is_gone("i-1")


def test_a_node_whose_notice_has_expired_is_opened_again() -> None:
    interrupted = Interrupted("i-1", NoticeKind.INTERRUPTION, AT_S, AT_S + 120, UNNEEDED, drained=True)
    closed = worker("i-1", cordons=frozenset({interrupted.action_id}), cordoned=True)

    cluster, told, _ = run(
        Cluster(interrupted=(interrupted,)), snapshot(closed, TWO[1], worker("i-3")), NOW_S + 900
    )

    assert "noticeExpired" in kinds(told)
    assert "strayCordonFound" in kinds(told)
    assert cluster.interrupted == ()


def test_a_replacement_that_cannot_be_had_is_decided_anew() -> None:
    seen = snapshot(*TWO, worker("i-3"), notices=(notice("i-1"),), fits_without=FULL)
    cluster, _, due = run(Cluster(), seen)
    asked = next(effect for effect in due if isinstance(effect, LaunchInstances))
    settled = FLOW.settle(cluster, asked, Happened(Launched(("i-9",))), NOW_S)
    assert settled is not None
    dead = worker("i-9", state=State.TERMINATED)

    cluster, told, _ = run(settled.value, snapshot(*TWO, worker("i-3"), dead, fits_without=FULL))

    assert "failScaleUp" in kinds(told)
    assert cluster.interrupted[0].replacement == ""
    later, told, _ = run(cluster, snapshot(*TWO, worker("i-3"), dead, fits_without=FULL), NOW_S + 61)
    assert "beginScaleUp" in kinds(told)
    assert later.scale_up is not None


def test_a_loss_is_told_once_however_long_its_node_stays() -> None:
    dead, left = worker("i-3", state=State.TERMINATED), Ghost("i-3", "n-3", "u-3", State.TERMINATED)
    seen = snapshot(
        *TWO, dead, ghosts=(left,), observed=(notice("i-3", NoticeKind.GONE),), fits_without=lambda *_: ""
    )
    told = Cluster(gone=(Tombstone("i-3", AT_S - 86_400),))

    assert "lost" in kinds(run(Cluster(), seen)[1])
    assert "lost" not in kinds(run(told, seen)[1])


def test_what_the_cloud_shows_itself_is_folded_in_and_asks_no_inbox_to_forget_it() -> None:
    dead = replace(
        worker("i-3", state=State.TERMINATED), instance=replace(DEAD, ended_why="Spot interruption")
    )
    seen = snapshot(
        *TWO, dead, observed=(notice("i-1"), notice("i-3", NoticeKind.GONE)), fits_without=lambda *_: ""
    )

    cluster, told, due = run(Cluster(), seen)

    assert [(e.kind, e.about, e.reason) for e in told if e.kind in ("interrupted", "lost")] == [
        ("interrupted", "i-1", "interruption"),
        ("lost", "i-3", "Spot interruption"),
    ]
    assert not [effect for effect in due if isinstance(effect, ForgetNotices)]
    assert run(cluster, seen)[1] == [], "the same look tells nothing twice"
