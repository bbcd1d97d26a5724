"""Notices, replacements and ends of machines that the cloud takes back, guard by guard."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler import interruption
from holdfast.autoscaler.interruption import CONSIDERED_MAX
from holdfast.autoscaler.interruption.fate import HINT_S, NOTICE_EXPIRED_S
from holdfast.autoscaler.ports import CordonNode, Drain, Drained, Effect, ForgetNotices
from holdfast.autoscaler.record import (
    READY,
    UNNEEDED,
    Cluster,
    Condemned,
    Interrupted,
    Recent,
    ScaleUp,
    Tombstone,
)
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.snapshot import Snapshot, Worker
from holdfast.cloud import Notice, NoticeKind, State
from holdfast.kernel import Busy, Happened, Outcome, Unknown, Write
from holdfast.kernel.write import EVENTS_MAX
from tests.autoscaler.unit.scale_up.test_action import row
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, booting, snapshot, worker

AT_S = int(NOW_S)
TWO = (worker("i-1"), worker("i-2", "b"))
REBALANCE, INTERRUPTION, GONE = NoticeKind.REBALANCE, NoticeKind.INTERRUPTION, NoticeKind.GONE
LONG_MEMORY = replace(SETTINGS, remember_s=5_000)
NO_HINTS = replace(SETTINGS, rebalance_replaces=False)


def notice(instance_id: str, kind: NoticeKind = INTERRUPTION, ago_s: int = 0) -> Notice:
    at_s = AT_S - ago_s
    return Notice(instance_id, kind, at_s, at_s + 120 if kind is INTERRUPTION else 0)


def noticed(
    instance_id: str, kind: NoticeKind = INTERRUPTION, replacement: str = "", **said: Any
) -> Interrupted:
    usual = {"at_s": AT_S, "deadline_s": AT_S + 120 if kind is INTERRUPTION else AT_S}
    return Interrupted(instance_id, kind, replacement=replacement, **{**usual, **said})


def folded(
    *notices: Notice, cluster: Cluster | None = None, settings: Settings = SETTINGS
) -> list[Interrupted]:
    write = interruption.fold(cluster or Cluster(), snapshot(*TWO, notices=notices), settings, NOW_S)
    return [] if write is None else list(write.value.interrupted)


def forgotten(*notices: Notice, cluster: Cluster | None = None, settings: Settings = SETTINGS) -> list[str]:
    effects = interruption.forget(cluster or Cluster(), snapshot(*TWO, notices=notices), settings, NOW_S)
    return [key for effect in effects if isinstance(effect, ForgetNotices) for key in effect.keys]


def test_a_machine_that_is_not_listed_yet_is_no_stranger() -> None:
    launched = Cluster(recent=(Recent("i-9", "default", "a", AT_S),))
    late = notice("i-9", ago_s=200)

    assert [each.instance_id for each in folded(late, cluster=launched)] == ["i-9"]
    assert forgotten(late, cluster=launched) == []
    assert (folded(late), forgotten(late)) == ([], ["i-9#interruption"])


def test_what_ended_without_a_deadline_ended_then() -> None:
    assert folded(notice("i-1", GONE, 30)) == [noticed("i-1", GONE, at_s=AT_S - 30, deadline_s=AT_S - 30)]
    assert folded(notice("i-1", ago_s=30))[0].deadline_s == AT_S + 90


def test_a_fleet_that_follows_no_hints_still_follows_what_is_certain() -> None:
    for kind in (INTERRUPTION, GONE):
        assert folded(notice("i-1", kind), settings=NO_HINTS) != []
        assert forgotten(notice("i-1", kind), settings=NO_HINTS) == []
    assert folded(notice("i-1", REBALANCE), settings=NO_HINTS) == []


@pytest.mark.parametrize(
    ("kind", "ago_s", "is_news"),
    [
        (INTERRUPTION, NOTICE_EXPIRED_S + 120, True),
        (INTERRUPTION, NOTICE_EXPIRED_S + 121, False),
        (GONE, NOTICE_EXPIRED_S, True),
        (GONE, NOTICE_EXPIRED_S + 1, False),
        (REBALANCE, HINT_S, True),
        (REBALANCE, HINT_S + 1, False),
    ],
)
def test_a_notice_is_news_until_it_would_have_expired(kind: NoticeKind, ago_s: int, is_news: bool) -> None:
    assert bool(folded(notice("i-1", kind, ago_s), settings=LONG_MEMORY)) is is_news
    assert bool(forgotten(notice("i-1", kind, ago_s), settings=LONG_MEMORY)) is not is_news


def test_a_notice_that_is_older_than_our_memory_may_be_about_one_that_we_removed() -> None:
    assert folded(notice("i-1", REBALANCE, SETTINGS.remember_s)) != []
    assert folded(notice("i-1", REBALANCE, SETTINGS.remember_s + 1)) == []


def needed(cluster: Cluster, seen: Snapshot, settings: Settings = SETTINGS) -> tuple[list[str], list[str]]:
    waiting = [each for each in cluster.interrupted if not each.replacement]
    wanted, spare = interruption.needed(cluster, seen, waiting, settings)
    return [each.instance_id for each in wanted], [each.instance_id for each in spare]


def test_a_machine_that_may_go_is_no_part_of_the_floor() -> None:
    hints = Cluster(interrupted=(noticed("i-1", REBALANCE), noticed("i-2", REBALANCE)))

    assert needed(hints, snapshot(*TWO)) == (["i-1", "i-2"], [])
    assert needed(hints, snapshot(*TWO, worker("i-3"))) == (["i-1"], ["i-2"])
    assert needed(hints, snapshot(*TWO, worker("i-3"), worker("i-4"))) == ([], ["i-1", "i-2"])


def test_pods_are_moved_with_all_that_leave_unreplaced_and_to_no_node_that_leaves() -> None:
    asked: list[tuple[frozenset[str], frozenset[str]]] = []

    def fits(leaving: frozenset[str], closed: frozenset[str]) -> str:
        asked.append((leaving, closed))
        return ""

    cluster = Cluster(
        interrupted=(
            noticed("i-1", replacement="1-a"),
            noticed("i-2", replacement=UNNEEDED),
            noticed("i-3"),
            noticed("i-4"),
        ),
        condemned=(Condemned("i-5", "1-a", "scale-down", AT_S),),
    )
    fleet = [worker(f"i-{n}") for n in range(1, 9)]

    replacing = replace(cluster, scale_up=ScaleUp("1-a", AT_S, 1))
    assert needed(replacing, snapshot(*fleet, fits_without=fits)) == ([], ["i-3", "i-4"])
    closed = frozenset({"i-1", "i-2", "i-3", "i-4", "i-5"})
    assert asked == [
        (frozenset({"i-2", "i-3"}), closed),
        (frozenset({"i-2", "i-3", "i-4"}), closed),
    ]


def test_the_room_of_a_replacement_that_has_joined_belongs_to_the_pods_that_it_was_asked_for() -> None:
    """i-1 is replaced and not drained yet: its pods and those of i-2 do not both fit on the new one."""

    def fits_one(leaving: frozenset[str], closed: frozenset[str]) -> str:
        return "no room" if {"i-1", "i-2"} <= leaving else ""

    def fits_none(leaving: frozenset[str], closed: frozenset[str]) -> str:
        return "no room" if "i-1" in leaving else ""

    fleet = [worker(f"i-{n}") for n in range(1, 9)]
    cluster = Cluster(interrupted=(noticed("i-1", replacement="1-a"), noticed("i-2")))
    drained = replace(
        cluster, interrupted=(replace(cluster.interrupted[0], drained=True), cluster.interrupted[1])
    )
    coming = replace(cluster, scale_up=ScaleUp("1-a", AT_S, 1))

    assert needed(cluster, snapshot(*fleet, fits_without=fits_one)) == (["i-2"], [])
    assert needed(drained, snapshot(*fleet, fits_without=fits_one)) == ([], ["i-2"])
    assert needed(coming, snapshot(*fleet, fits_without=fits_one)) == ([], ["i-2"])
    assert needed(cluster, snapshot(*fleet, fits_without=fits_none)) == ([], ["i-2"]), "it came to nothing"


@pytest.mark.parametrize(("answer", "most"), [("no room", CONSIDERED_MAX), ("", CONSIDERED_MAX + 10)])
def test_of_hundreds_only_the_first_are_considered_once_one_is_needed(answer: str, most: int) -> None:
    asked: list[frozenset[str]] = []

    def fits(leaving: frozenset[str], closed: frozenset[str]) -> str:
        asked.append(leaving)
        return answer

    fleet = [worker(f"i-{n}") for n in range(100)]
    cluster = Cluster(interrupted=tuple(noticed(f"i-{n}") for n in range(CONSIDERED_MAX + 10)))

    wanted, spare = needed(cluster, snapshot(*fleet, fits_without=fits), replace(SETTINGS, max_workers=200))

    assert len(asked) == most
    assert (len(wanted), len(spare)) == ((50, 0) if answer else (0, 50))


def test_no_more_than_the_maximum_are_replaced_whatever_came_of_a_hint() -> None:
    """A hint was replaced and came to nothing: the fleet has one more than it may have."""
    above = snapshot(*(worker(f"i-{n}") for n in range(5)), fits_without=lambda leaving, closed: "no room")
    most = replace(SETTINGS, max_workers=4)

    assert needed(Cluster(interrupted=(noticed("i-1"),)), above, most) == ([], ["i-1"])
    assert needed(Cluster(interrupted=(noticed("i-1"), noticed("i-2"))), above, most) == (["i-1"], ["i-2"])


def test_a_hint_is_followed_only_where_one_more_may_stay() -> None:
    hints = Cluster(interrupted=(noticed("i-1", REBALANCE), noticed("i-2", REBALANCE)))
    four = snapshot(*(worker(f"i-{n}") for n in range(4)))

    def room(most: int) -> int:
        return interruption.room_for_hints(hints, four, replace(SETTINGS, max_workers=most))

    assert (room(4), room(3), room(2)) == (2, 1, 0)


def test_one_request_covers_as_many_as_it_brings() -> None:
    wanted = [noticed("i-1"), noticed("i-2"), noticed("i-3")]

    chosen = interruption.covered(wanted, [row(count=2)], snapshot(*TWO, worker("i-3")), SETTINGS)

    assert [each.instance_id for each in chosen] == ["i-1", "i-2"]


def test_hundreds_that_are_not_needed_are_commits_that_fit() -> None:
    rows = tuple(noticed(f"i-{n}") for n in range(EVENTS_MAX + 5))

    write = interruption.unneeded(Cluster(interrupted=rows), rows, NOW_S)

    assert len(write.events) == EVENTS_MAX
    assert sum(each.replacement == UNNEEDED for each in write.value.interrupted) == EVENTS_MAX


def due(which: Interrupted, *workers: Worker) -> list[Effect]:
    return list(interruption.effects(Cluster(interrupted=(which,)), snapshot(*workers), NOW_S))


def test_only_a_node_of_a_living_machine_that_is_not_empty_yet_is_drained() -> None:
    certain = noticed("i-1", replacement="1-a")

    assert due(certain, *TWO) == [Drain("i-1", "interruption-i-1", AT_S + 120)]
    assert due(certain, TWO[1]) == []
    assert due(certain, booting("i-1")) == [], "it has no node"
    assert due(certain, worker("i-1", state=State.SHUTTING_DOWN)) == []
    assert due(replace(certain, drained=True), *TWO) == []
    assert due(noticed("i-1", GONE), *TWO) == []


def test_a_hint_is_drained_without_a_deadline_and_only_when_it_is_replaced() -> None:
    name = noticed("i-1", REBALANCE).action_id
    cordon, drain = CordonNode("i-1", name), Drain("i-1", name)

    assert due(noticed("i-1", REBALANCE), *TWO) == []
    assert due(noticed("i-1", REBALANCE, "1-a"), *TWO) == [cordon]
    closed = worker("i-1", cordons=frozenset({name}))
    assert due(noticed("i-1", REBALANCE, "1-a"), closed) == []
    for replacement in (READY, UNNEEDED):
        assert due(noticed("i-1", REBALANCE, replacement), *TWO) == [drain]


def test_each_hint_owns_a_cordon_of_its_own() -> None:
    """Else the stray of the last one, written down before this one came, would open the drained node."""
    first = noticed("i-1", REBALANCE)

    assert replace(first, at_s=first.at_s + 3_600).action_id != first.action_id


def noted(which: Interrupted, outcome: Outcome, action_id: str = "") -> Write[Cluster] | None:
    cluster = Cluster(interrupted=(which, noticed("i-2")))
    return interruption.settle(cluster, Drain("i-1", action_id or which.action_id), outcome, NOW_S)


def test_a_drain_is_noted_when_it_certainly_left_no_pod() -> None:
    certain = noticed("i-1", replacement="1-a")
    write = noted(certain, Happened(Drained()))

    assert write is not None
    assert write.value.interrupted == (replace(certain, drained=True), noticed("i-2"))
    others: list[Outcome] = [
        Busy("throttled"),
        Unknown("no answer"),
        Happened(None),
        Happened(Drained(left=1)),
    ]
    assert [noted(certain, outcome) for outcome in others] == [None] * 4
    assert noted(replace(certain, drained=True), Happened(Drained())) is None
    assert noted(certain, Happened(Drained()), action_id=noticed("i-1", REBALANCE).action_id) is None, (
        "it was a hint then"
    )
    assert interruption.settle(Cluster(), Drain("i-1", "a"), Happened(Drained()), NOW_S) is None


def test_only_a_hint_is_let_go_because_a_pod_may_not_move() -> None:
    blocked: Outcome = Happened(Drained(blocked_by="shop/web may not be evicted"))

    kept = noted(noticed("i-1", REBALANCE, READY), blocked)
    assert kept is not None
    assert kept.value.interrupted == (noticed("i-2"),)
    assert (kept.events[0].kind, kept.events[0].reason) == ("drainSkipped", "shop/web may not be evicted")
    assert noted(noticed("i-1", replacement=READY), blocked) is None


def fate(
    which: Interrupted, *workers: Worker, now_s: float = NOW_S, settings: Settings = SETTINGS
) -> tuple[str, Cluster]:
    """What is written about it, and the record after that."""
    cluster = Cluster(interrupted=(which,))
    write = interruption.end(cluster, snapshot(*workers), settings, now_s)
    if write is None:
        return "", cluster
    assert write.value.interrupted == ()
    return write.events[0].kind, write.value


def test_a_machine_that_is_not_listed_was_taken_back_after_a_while() -> None:
    decided, gone_s = noticed("i-9", replacement="1-a"), NOW_S + 120 + SETTINGS.absent_s

    assert fate(decided, *TWO)[0] == ""
    assert fate(decided, *TWO, now_s=gone_s)[0] == ""
    kind, after = fate(decided, *TWO, now_s=gone_s + 1)
    assert (kind, after.gone) == ("reclaimed", (Tombstone("i-9", int(gone_s) + 1),))
    assert fate(noticed("i-9"), *TWO, now_s=gone_s + 1)[0] == "", "its replacement comes first"


def test_a_machine_that_ends_is_let_go_once_its_replacement_is_decided() -> None:
    for state in (State.SHUTTING_DOWN, State.TERMINATED):
        ending = worker("i-9", state=state)
        assert fate(noticed("i-9"), *TWO, ending)[0] == ""
        assert fate(noticed("i-9", replacement=UNNEEDED), *TWO, ending)[0] == "reclaimed"


def test_an_interrupted_machine_that_was_stopped_is_ended_if_it_is_ours() -> None:
    stopped, decided = worker("i-9", state=State.STOPPED), noticed("i-9", replacement="1-a")

    kind, after = fate(decided, *TWO, stopped)
    assert (kind, after.is_condemned("i-9")) == ("terminating", True)
    assert fate(noticed("i-9"), *TWO, stopped)[0] == ""
    assert fate(decided, *TWO, worker("i-9", state=State.STOPPED, action_id=""))[0] == ""


def test_a_certain_notice_does_not_expire_in_a_fleet_that_follows_no_hints() -> None:
    assert fate(noticed("i-1", replacement="1-a"), *TWO, settings=NO_HINTS)[0] == ""
    assert fate(noticed("i-1", REBALANCE, "1-a"), *TWO, settings=NO_HINTS)[0] == "noticeExpired"


def test_a_replaced_machine_is_ended_only_if_it_is_ours_and_drained() -> None:
    drained = noticed("i-1", REBALANCE, READY, drained=True)
    others = (worker("i-2"), worker("i-3"))

    assert fate(drained, worker("i-1"), *others)[0] == "terminating"
    assert fate(drained, worker("i-1", action_id=""), *others)[0] == ""
    assert fate(replace(drained, drained=False), worker("i-1"), *others)[0] == ""
    assert fate(noticed("i-1", INTERRUPTION, READY, drained=True), worker("i-1"), *others)[0] == ""
    chosen = replace(drained, kind=NoticeKind.REPLACE)
    assert fate(chosen, worker("i-1"), *others)[0] == "terminating"
    assert fate(chosen, worker("i-1", action_id=""), *others)[0] == ""


def test_a_pool_at_its_floor_without_it_and_a_fleet_that_may_be_empty_can_do_without_it() -> None:
    drained = noticed("i-1", REBALANCE, READY, drained=True)

    floor = replace(SETTINGS, pools=(Pool(min_workers=2),))
    assert fate(drained, worker("i-1"), worker("i-2"), worker("i-3"), settings=floor)[0] == "terminating"
    above = replace(SETTINGS, pools=(Pool(min_workers=3),))
    assert fate(drained, worker("i-1"), worker("i-2"), worker("i-3"), settings=above)[0] == ""
    assert fate(drained, worker("i-1"), settings=replace(SETTINGS, min_workers=0))[0] == "terminating"


def test_hundreds_that_were_taken_back_are_commits_that_fit() -> None:
    rows = tuple(noticed(f"i-{n}", replacement=UNNEEDED) for n in range(EVENTS_MAX + 5))

    write = interruption.end(Cluster(interrupted=rows), snapshot(), SETTINGS, NOW_S + 5_000)

    assert write is not None
    assert len(write.events) == len(write.value.gone) == EVENTS_MAX
    assert len(write.value.interrupted) == 5
