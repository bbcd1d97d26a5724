"""Revoke, wait, promote, confirm: each guard that keeps two from serving, by itself."""

from typing import Any

import pytest

from holdfast.cloud.machines import Instance, State
from holdfast.failover.group import Degraded, NoticeKind, Recovering, Replica, ReplicaStatus, Switch, Takeover
from holdfast.failover.roles import Status
from holdfast.failover.rules import takeover
from holdfast.failover.rules.rule import Change, Situation
from holdfast.kernel import Wait
from tests.failover.model.scene import (
    EPOCH,
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

NEW = EPOCH + 1
"""The epoch that the revocation began."""


def opened(situation: Situation) -> Takeover:
    assert situation.group.takeover is not None
    return situation.group.takeover


def candidate(answer: object) -> str:
    found = changed(answer).takeover
    assert found is not None
    return found.candidate


# --- the end of the old epoch -------------------------------------------------------------------------------


def test_a_revocation_ends_the_epoch_and_whatever_was_asked_before() -> None:
    asked = Switch("i-3", "ada", NOW_S - 5, NOW_S + 100)
    before = group(serving(), switch=asked, degraded=Degraded(NOW_S - 50, "X", "x"))
    revoked = takeover.revoke(before, Takeover(old="i-1", reason="lost", code="LEASE_LOST")).group
    assert (revoked.epoch, revoked.holder, revoked.switch) == (NEW, None, None)
    old = revoked.member("i-1")
    assert old is not None
    assert (old.status, old.demoted_at_s) == (Status.DEMOTING, NOW_S)
    assert revoked.degraded is not None
    assert revoked.degraded.since_s == NOW_S - 50
    assert revoked.takeover is not None
    assert revoked.takeover.started_s == NOW_S


def test_only_a_stop_under_the_new_epoch_that_is_done_is_believed() -> None:
    def answer(goal: str, epoch: int, state: str) -> object:
        return takeover.note_stopped(
            said(taking_over(), "i-1", hook_goal=goal, hook_epoch=epoch, hook_state=state, position="7")
        )

    for goal in ("demote", "stop"):
        fenced = changed(answer(goal, NEW, "done")).takeover
        assert fenced is not None
        assert (fenced.fenced, fenced.fenced_s, fenced.position) == (True, NOW_S, "7")
        assert answer(goal, EPOCH, "done") is None
        for state in ("none", "running", "failed"):
            assert answer(goal, NEW, state) is None
    for goal in ("promote", "follow", ""):
        assert answer(goal, NEW, "done") is None


def test_a_stop_is_noted_once_and_never_while_another_is_being_promoted() -> None:
    def stopped(situation: Situation) -> Situation:
        return said(situation, "i-1", hook_goal="demote", hook_epoch=NEW, hook_state="done")

    assert takeover.note_stopped(stopped(taking_over(fenced=True))) is None
    assert takeover.note_stopped(stopped(taking_over(candidate="i-2"))) is None
    assert takeover.note_stopped(stopped(serving())) is None


@pytest.mark.parametrize("state", State)
def test_only_a_machine_that_has_stopped_can_serve_no_more(state: State) -> None:
    listed = look(taking_over(), cloud=(Instance("i-1", state, "a"), Instance("i-2", State.TERMINATED, "b")))
    noted = takeover.note_stopped(listed)
    assert (noted is not None) is (state in (State.TERMINATED, State.STOPPED)), (
        "else it may serve to the last"
    )


def test_after_a_failed_promotion_the_one_that_failed_is_waited_for() -> None:
    """It was the last that held a lease; that the one before it has stopped says nothing of it."""
    failed = member(taking_over(rejected=("i-2",), position="7"), "i-2", status=Status.ZOMBIE)
    first = said(failed, "i-1", hook_goal="demote", hook_epoch=NEW, hook_state="done", position="9")
    assert takeover.note_stopped(first) is None
    second = said(failed, "i-2", hook_goal="stop", hook_epoch=NEW, hook_state="done", position="3")
    fenced = changed(takeover.note_stopped(second)).takeover
    assert fenced is not None
    assert (fenced.fenced, fenced.position) == (True, "7"), "how far the primary had come, not the failed one"


# --- the promotion ------------------------------------------------------------------------------------------


def test_no_lease_of_any_other_member_may_run() -> None:
    assert candidate(takeover.promote(taking_over())) == "i-2"
    for other in ("i-1", "i-3"):
        held = seen(taking_over(), other, lease_left_s=0.5)
        wait = takeover.promote(held)
        assert isinstance(wait, Wait)
        assert other in wait.why
    said_so = seen(taking_over(fenced=True), "i-1", lease_left_s=0.5)
    assert candidate(takeover.promote(said_so)) == "i-2"


def test_nothing_is_promoted_outside_of_a_takeover_in_one_that_has_a_candidate_or_while_recovering() -> None:
    assert takeover.promote(serving()) is None
    assert takeover.promote(taking_over(candidate="i-3")) is None
    assert takeover.promote(group(taking_over(), recovering=Recovering(NOW_S - 60, NEW))) is None


def test_a_switch_goes_to_another_one_only_if_the_old_primary_cannot_return() -> None:
    made = seen(taking_over(code=takeover.SWITCH, wanted="i-2"), "i-2", silent_s=60.0)
    back = changed(takeover.promote(made))
    assert back.holder == "i-1", "rolled back"
    gone = seen(made, "i-1", silent_s=60.0)
    assert candidate(takeover.promote(gone)) == "i-3"


def alone(**changes: Any) -> Situation:
    """No standby is left."""
    return seen(seen(taking_over(**changes), "i-2", silent_s=60.0), "i-3", silent_s=60.0)


def test_the_old_primary_returns_if_it_can_and_if_no_other_lease_runs() -> None:
    back = changed(takeover.promote(alone()))
    assert (back.holder, back.epoch) == ("i-1", NEW)
    assert isinstance(takeover.promote(seen(alone(), "i-2", lease_left_s=0.5)), Wait)


@pytest.mark.parametrize(
    "unfit",
    [
        member(alone(), "i-1", notice=NoticeKind.TERMINATION),
        said(alone(), "i-1", status="stopping"),
        seen(alone(), "i-1", silent_s=11.0),
        said(alone(), "i-1", healthy=False),
        alone(old=Status.ZOMBIE),
        alone(code=takeover.RECOVERED, wanted="i-3"),
    ],
)
def test_the_old_primary_does_not_return_unfit(unfit: Situation) -> None:
    assert isinstance(takeover.promote(unfit), Wait)


def test_an_ill_one_returns_when_the_wait_was_in_vain_for_long() -> None:
    for started_s, returns in ((NOW_S - 20, False), (NOW_S - 21, True)):
        answer = takeover.promote(said(alone(started_s=started_s), "i-1", healthy=False))
        assert isinstance(answer, Change) is returns


def test_the_last_rows_are_waited_for_until_the_deadline_and_no_longer() -> None:
    def behind(**changes: Any) -> Situation:
        made = taking_over(fenced=True, fenced_s=NOW_S - 5, position="100", **changes)
        return said(said(made, "i-2", position="90"), "i-3", position="95")

    assert isinstance(takeover.promote(behind()), Wait)
    assert isinstance(takeover.promote(behind(deadline_s=NOW_S + 1)), Wait)
    assert candidate(takeover.promote(behind(deadline_s=NOW_S))) == "i-2", "the cloud takes the machine"
    assert candidate(takeover.promote(settings(behind(), catch_up_s=5.0))) == "i-2"
    assert candidate(takeover.promote(said(behind(), "i-3", position="100"))) == "i-3", "it has all rows"


# --- what becomes of it -------------------------------------------------------------------------------------


def promoting() -> Situation:
    return taking_over(candidate="i-2")


def test_only_a_promotion_of_this_epoch_that_is_done_is_confirmed() -> None:
    def answer(goal: str, epoch: int, state: str) -> object:
        return takeover.confirm(said(promoting(), "i-2", hook_goal=goal, hook_epoch=epoch, hook_state=state))

    done = changed(answer("promote", NEW, "done"))
    assert (done.primary, done.takeover, done.served_epoch) == ("i-2", None, NEW)
    assert answer("promote", EPOCH, "done") is None
    for state in ("none", "running", "failed"):
        assert answer("promote", NEW, state) is None
    for goal in ("follow", "demote", "stop", ""):
        assert answer(goal, NEW, "done") is None


def old_after(situation: Situation) -> Status:
    done = said(situation, "i-2", hook_goal="promote", hook_epoch=NEW, hook_state="done")
    old = changed(takeover.confirm(done)).member("i-1")
    assert old is not None
    assert old.status is not Status.TERMINATING or old.terminate_at_s == NOW_S + 300, "its wait is kept"
    return old.status


def test_a_former_primary_is_ended_only_where_that_is_wanted_and_its_machine_is_ours() -> None:
    assert old_after(promoting()) is Status.ZOMBIE, "there are no machines"
    begun = promoting()
    with_machines = Situation(begun.group, begun.seen, NOW_S, serving(machines=True).policy)
    assert old_after(with_machines) is Status.ZOMBIE, "no launch and no tag names it"
    tagged = look(with_machines, cloud=(Instance("i-1", State.RUNNING, "a"),))
    launched = group(
        member(with_machines, "i-1", replica_id="r-1"),
        replicas=(Replica(replica_id="r-1", token="t", pool="m.a", status=ReplicaStatus.PROMOTED),),
    )
    for ours in (tagged, launched):
        assert old_after(ours) is Status.TERMINATING
        assert old_after(settings(ours, auto_terminate=False)) is Status.ZOMBIE


def failed(situation: Situation) -> Takeover:
    after = changed(takeover.fail(situation))
    assert after.epoch == NEW + 1, "no lease of the failed epoch can be granted any more"
    one = after.member("i-2")
    assert one is not None
    assert (one.status, bool(one.failure), one.demoted_at_s) == (Status.ZOMBIE, True, NOW_S)
    assert after.takeover is not None
    assert (after.takeover.candidate, after.takeover.rejected) == ("", ("i-2",))
    return after.takeover


def test_a_promotion_fails_by_its_own_word_and_only_that_says_that_nothing_is_left_of_it() -> None:
    says = said(promoting(), "i-2", hook_goal="promote", hook_epoch=NEW, hook_state="failed")
    assert failed(says).fenced
    earlier = said(promoting(), "i-2", hook_goal="promote", hook_epoch=EPOCH, hook_state="failed")
    assert isinstance(takeover.fail(earlier), Wait)
    other = said(promoting(), "i-2", hook_goal="follow", hook_epoch=NEW, hook_state="failed")
    assert isinstance(takeover.fail(other), Wait)


def test_a_promotion_fails_with_its_machine_by_silence_or_by_its_limit() -> None:
    listed = look(promoting(), cloud=(Instance("i-2", State.TERMINATED, "b"),))
    assert not failed(listed).fenced
    old = member(promoting(), "i-2", since_s=NOW_S - 30)
    assert isinstance(takeover.fail(old), Wait)
    assert not failed(seen(old, "i-2", silent_s=11.0)).fenced
    assert isinstance(takeover.fail(seen(promoting(), "i-2", silent_s=11.0)), Wait), "chosen a second ago"
    late = member(promoting(), "i-2", since_s=NOW_S - 60)
    assert not failed(late).fenced


def test_a_server_that_was_cut_off_calls_no_promotion_failed() -> None:
    blind = look(promoting(), may_judge=False)
    for late in (member(blind, "i-2", since_s=NOW_S - 600), seen(blind, "i-2", silent_s=600.0)):
        assert isinstance(takeover.fail(member(late, "i-2", since_s=NOW_S - 600)), Wait)
