"""Launches: when one is intended, where, what becomes of it, and what none is intended for."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.failover.group import Mode, NoticeKind, Replica, ReplicaStatus, Switch
from holdfast.failover.ports import Launch, Launched, NotLaunched
from holdfast.failover.roles import Status
from holdfast.failover.rules import staffing
from holdfast.failover.rules.rule import Change, Situation
from holdfast.kernel import Do, Wait
from tests.failover.model.scene import (
    NOW_S,
    changed,
    group,
    look,
    member,
    said,
    seen,
    serving,
    settings,
    taking_over,
)


def replica(**changes: Any) -> Replica:
    given = {"replica_id": "r-1", "token": "t-1", "pool": "m.b", "created_s": NOW_S - 50, **changes}
    return Replica(**{"deadline_s": NOW_S + 850, **given})


def intends(situation: Situation, **changes: Any) -> Situation:
    return group(situation, replicas=(replica(**changes),))


def lacking(**policy: Any) -> Situation:
    """One standby is left, and two are wanted."""
    made = settings(serving(machines=True, **policy), standbys=2)
    return group(made, members=made.group.members[:2])


def new(answer: object) -> Replica:
    return changed(answer).replicas[-1]


# --- when ---------------------------------------------------------------------------------------------------


def test_a_standby_that_is_lacking_is_intended() -> None:
    assert new(staffing.staff(lacking())).emergency is False
    assert staffing.staff(settings(lacking(), standbys=1)) is None
    assert staffing.staff(replace(lacking(), policy=serving().policy)) is None, "there are no machines"
    assert staffing.staff(group(lacking(), paused_until_s=NOW_S + 1)) is None
    assert staffing.staff(intends(lacking())) is None, "one is on its way"


@pytest.mark.parametrize(
    "lost",
    [
        member(settings(serving(machines=True), standbys=2), "i-3", notice=NoticeKind.TERMINATION),
        member(settings(serving(machines=True), standbys=2), "i-3", never_promote=True),
        seen(settings(serving(machines=True), standbys=2), "i-3", silent_s=301.0),
    ],
)
def test_a_standby_that_cannot_take_over_does_not_count(lost: Situation) -> None:
    assert staffing.staff(settings(serving(machines=True), standbys=2)) is None
    assert new(staffing.staff(lost)).replica_id


def test_silence_does_not_count_of_a_new_one_nor_for_a_server_that_was_cut_off() -> None:
    silent = seen(settings(serving(machines=True), standbys=2), "i-3", silent_s=301.0)
    assert staffing.staff(look(silent, may_judge=False)) is None
    assert staffing.staff(member(silent, "i-3", since_s=NOW_S - 300)) is None


def test_a_switch_wants_a_candidate_where_no_standby_is_kept() -> None:
    none_kept = settings(serving(machines=True), standbys=0)
    only = group(none_kept, members=none_kept.group.members[:1])
    assert staffing.staff(only) is None
    switching = group(only, switch=Switch("", "ada", NOW_S - 5, NOW_S + 100))
    assert new(staffing.staff(switching)).replica_id


def test_in_manual_replica_mode_it_is_always_one() -> None:
    made = settings(serving(machines=True), standbys=5, mode=Mode.MANUAL_REPLICA)
    assert staffing.staff(made) is None
    assert settings(made, standbys=0).group.settings.standbys_wanted == 1


def test_a_takeover_is_urgent_until_it_has_a_candidate() -> None:
    def alone(situation: Situation) -> Situation:
        made = replace(situation, policy=serving(machines=True).policy)
        return seen(seen(made, "i-2", silent_s=60.0), "i-3", silent_s=60.0)

    assert new(staffing.staff(alone(taking_over()))).emergency
    assert staffing.staff(alone(taking_over(candidate="i-2"))) is None


def test_a_notice_wants_a_ready_standby_in_another_pool() -> None:
    noticed = member(serving(machines=True), "i-1", notice=NoticeKind.REBALANCE)
    assert staffing.staff(noticed) is None
    beside = member(member(noticed, "i-2", az="a"), "i-3", az="a")
    assert new(staffing.staff(beside)).emergency
    unready = said(said(noticed, "i-2", lag_s=3_600.0), "i-3", lag_s=3_600.0)
    assert new(staffing.staff(unready)).emergency
    coming = intends(beside, emergency=True)
    assert staffing.staff(coming) is None
    same = intends(beside, emergency=True, pool="m.a")
    assert new(staffing.staff(same)).pool != "m.a", "what comes beside the primary goes with it"


# --- where --------------------------------------------------------------------------------------------------


def test_the_pool_is_neither_the_holders_nor_one_that_failed_lately_and_the_fastest_of_the_others() -> None:
    assert new(staffing.staff(lacking())).pool == "m.b"
    fast = look(lacking(), ready_s={"m.a": 1.0, "m.b": 100.0, "m.d": 60.0})
    assert new(staffing.staff(fast)).pool == "m.d"
    failed = intends(fast, pool="m.d", status=ReplicaStatus.FAILED, ended_s=NOW_S - 1_799)
    assert new(staffing.staff(failed)).pool == "m.b"
    past = intends(fast, pool="m.d", status=ReplicaStatus.FAILED, ended_s=NOW_S - 1_800)
    assert new(staffing.staff(past)).pool == "m.d"
    other_market = intends(
        fast, pool="m.d", status=ReplicaStatus.FAILED, ended_s=NOW_S - 5, market="on-demand"
    )
    assert new(staffing.staff(other_market)).pool == "m.d", "the spot capacity of this pool has not failed"


def test_a_budget_that_is_spent_is_said() -> None:
    wait = staffing.staff(look(lacking(), launches_left=0))
    assert isinstance(wait, Wait)
    assert "budget" in wait.why


def test_on_demand_is_for_an_emergency_in_which_spot_was_tried_for_long() -> None:
    noticed = member(lacking(), "i-1", notice=NoticeKind.TERMINATION)
    noticed = group(noticed, members=noticed.group.members[:1])
    tried = {"status": ReplicaStatus.FAILED, "ended_s": NOW_S - 1, "emergency": True}
    assert new(staffing.staff(noticed)).market == "spot"
    assert new(staffing.staff(intends(noticed, created_s=NOW_S - 59, **tried))).market == "spot"
    assert new(staffing.staff(intends(noticed, created_s=NOW_S - 60, **tried))).market == "on-demand"
    quiet = intends(lacking(), created_s=NOW_S - 60, **tried)
    assert new(staffing.staff(quiet)).market == "spot", "there is no hurry any more"


def test_two_intents_of_one_moment_are_two() -> None:
    first = new(staffing.staff(lacking()))
    given_up = replace(first, status=ReplicaStatus.FAILED, ended_s=NOW_S)
    second = new(staffing.staff(group(lacking(), replicas=(given_up,))))
    assert second.replica_id != first.replica_id
    assert second.token != first.token


# --- what becomes of it -------------------------------------------------------------------------------------


def test_only_what_has_no_machine_yet_is_asked_for() -> None:
    asked = staffing.launch(intends(lacking()))
    assert asked == Do((Launch("r-1", "t-1", "m.b", "spot", "", "c/db"),))
    assert staffing.launch(intends(lacking(), instance_id="i-9")) is None
    assert staffing.launch(intends(lacking(), status=ReplicaStatus.FAILED)) is None
    assert staffing.launch(replace(intends(lacking()), policy=serving().policy)) is None, "no machines"


LAUNCHED = Launched("i-9")
EFFECT = Launch("r-1", "t-1", "m.b", "spot", "", "c/db")


def settled(situation: Situation, answer: Launched | NotLaunched = LAUNCHED) -> Change | None:
    return staffing.settle_launch(situation, EFFECT, answer)


def test_the_answer_of_a_launch_is_noted() -> None:
    after = changed(settled(intends(lacking())))
    one = after.member("i-9")
    assert one is not None
    assert (one.status, one.pool, one.replica_id) == (Status.LAUNCHING, "m.b", "r-1")
    assert after.replicas[0].instance_id == "i-9"
    refused = changed(settled(intends(lacking()), NotLaunched("NoCapacity", "none left")))
    assert (refused.replicas[0].status, refused.replicas[0].failure) == (ReplicaStatus.FAILED, "none left")


@pytest.mark.parametrize(
    "old_news",
    [
        lacking(),
        intends(lacking(), token="t-2"),
        intends(lacking(), instance_id="i-8"),
        intends(lacking(), status=ReplicaStatus.FAILED),
    ],
)
def test_an_answer_that_comes_late_changes_nothing(old_news: Situation) -> None:
    assert settled(old_news) is None
    assert settled(old_news, NotLaunched("NoCapacity", "none left")) is None


def booting(**changes: Any) -> Situation:
    made = intends(serving(machines=True), **{"instance_id": "i-2", **changes})
    return member(made, "i-2", status=Status.LAUNCHING, replica_id="r-1")


def test_a_launch_without_a_machine_is_given_up_at_its_deadline_and_a_machine_may_boot() -> None:
    no_machine = intends(lacking(), deadline_s=NOW_S, created_s=NOW_S - 60)
    assert changed(staffing.give_up(no_machine)).replicas[0].status is ReplicaStatus.FAILED
    assert staffing.give_up(booting(deadline_s=NOW_S, created_s=NOW_S - 60)) is None
    late = booting(deadline_s=NOW_S, created_s=NOW_S - 900)
    after = changed(staffing.give_up(late))
    one = after.member("i-2")
    assert one is not None
    assert one.status is Status.TERMINATING, "a machine that is given up does not stay"
    assert staffing.give_up(look(late, may_judge=False)) is None, "its silence is not judged"
    assert staffing.give_up(look(no_machine, may_judge=False)) is not None, "this is no silence"


def test_a_launch_is_ready_when_its_standby_is() -> None:
    made = intends(serving(machines=True), instance_id="i-2", status=ReplicaStatus.SYNCING)
    assert changed(staffing.note_standbys(made)).replicas[0].status is ReplicaStatus.READY
    assert staffing.note_standbys(said(made, "i-2", lag_s=61.0)) is None


def test_a_failed_launch_is_kept_for_a_day_and_for_as_long_as_its_machine_is_there() -> None:
    def forgotten(ended_s: float, instance_id: str = "") -> bool:
        failed = intends(lacking(), status=ReplicaStatus.FAILED, ended_s=ended_s, instance_id=instance_id)
        answer = staffing.forget(failed)
        return answer is not None and changed(answer).replicas == ()

    assert forgotten(NOW_S - 86_400)
    assert not forgotten(NOW_S - 86_399)
    assert not forgotten(NOW_S - 86_400, "i-2")
    assert forgotten(NOW_S - 86_400, "i-9")
