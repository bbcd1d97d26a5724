"""What operators, agents and the cloud ask, guard by guard: what is refused changes nothing."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.failover import asks
from holdfast.failover.asks import Notice, Promote, Refusal, Register, SwitchTo
from holdfast.failover.asks.create import create
from holdfast.failover.group import Group, NoticeKind, Recovering, Replica, ReplicaStatus
from holdfast.failover.ports import Launched, Terminate
from holdfast.failover.roles import Status
from holdfast.failover.rules.rule import Policy, Situation
from holdfast.failover.workflow import settle
from holdfast.kernel import Happened, Write
from tests.failover.model.scene import (
    EPOCH,
    NOW_S,
    group,
    member,
    said,
    serving,
    taking_over,
)


def code(answer: Any) -> str:
    assert isinstance(answer, Refusal), answer
    return answer.code


def written(answer: Any) -> Group:
    assert isinstance(answer, Write), answer
    found: Group = answer.value
    return found


# --- registration -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [Status.ZOMBIE, Status.TERMINATING])
def test_what_serves_no_more_is_not_taken_back_by_registering(status: Status) -> None:
    made = member(serving(), "i-2", status=status)
    assert code(asks.register(made.group, Register(instance_id="i-2", invited=True), NOW_S)) == "DISABLED"


def launching(**changes: Any) -> Group:
    intent = Replica(replica_id="r-1", token="t-1", pool="m.b", emergency=True)
    return group(serving(), replicas=(replace(intent, **changes),)).group


def test_the_machine_of_an_open_launch_needs_no_other_invitation() -> None:
    ask = Register(instance_id="i-9", invited=False, token="t-1")
    after = written(asks.register(launching(), ask, NOW_S))
    one = after.member("i-9")
    assert one is not None
    assert (one.status, one.replica_id, one.emergency) == (Status.REPLICA, "r-1", True)
    assert (after.replicas[0].instance_id, after.replicas[0].status) == ("i-9", ReplicaStatus.SYNCING)


@pytest.mark.parametrize(
    "intent",
    [{"status": ReplicaStatus.FAILED}, {"instance_id": "i-8"}, {"status": ReplicaStatus.READY}],
)
@pytest.mark.parametrize("invited", [True, False])
def test_a_launch_lets_one_machine_in_and_none_once_it_was_given_up(
    intent: dict[str, Any], invited: bool
) -> None:
    ask = Register(instance_id="i-9", invited=invited, token="t-1")
    assert code(asks.register(launching(**intent), ask, NOW_S)) == "DISABLED"


def test_no_token_is_no_launchs_token() -> None:
    ask = Register(instance_id="i-9", invited=False)
    assert code(asks.register(launching(token=""), ask, NOW_S)) == "DISABLED"


# --- notices ------------------------------------------------------------------------------------------------


def notice(situation: Situation, kind: NoticeKind, instance_id: str = "i-1", at_s: float = 100.0) -> Any:
    return asks.notice(situation, Notice(instance_id, kind, NOW_S + at_s))


def uncovered() -> Situation:
    made = serving(machines=True)
    return group(made, members=made.group.members[:2])


def test_a_notice_to_the_primary_alone_wants_an_emergency_replica_and_only_with_machines() -> None:
    lags = said(uncovered(), "i-2", lag_s=3_600.0)
    assert len(written(notice(lags, NoticeKind.REBALANCE)).replicas) == 1
    assert written(notice(lags, NoticeKind.REBALANCE, "i-2")).replicas == ()
    assert written(notice(uncovered(), NoticeKind.REBALANCE)).replicas == (), "a standby is ready elsewhere"
    without = replace(lags, policy=serving().policy)
    assert written(notice(without, NoticeKind.REBALANCE)).replicas == ()


def test_a_nearer_deadline_is_noted_and_nothing_weaker_replaces_a_termination() -> None:
    noted = group(serving(), members=written(notice(serving(), NoticeKind.TERMINATION)).members)
    assert notice(noted, NoticeKind.TERMINATION) is None
    assert notice(noted, NoticeKind.TERMINATION, at_s=101.0) is None
    assert notice(noted, NoticeKind.REBALANCE) is None
    nearer = written(notice(noted, NoticeKind.TERMINATION, at_s=50.0)).member("i-1")
    assert nearer is not None
    assert nearer.deadline_s == NOW_S + 50
    assert notice(serving(), NoticeKind.NONE) is None


# --- pause and settings -------------------------------------------------------------------------------------


def test_only_a_primary_that_serves_is_held_on_to() -> None:
    for without in (taking_over(), taking_over(candidate="i-2")):
        assert code(asks.pause(without.group, NOW_S + 60, "ada", NOW_S)) == "INVALID_STATE"
    assert code(asks.pause(serving().group, NOW_S, "ada", NOW_S)) == "INVALID_REQUEST"


def test_a_shorter_pause_does_not_hide_the_lease_of_a_longer_one() -> None:
    long = written(asks.pause(serving().group, NOW_S + 600, "ada", NOW_S))
    assert long.long_until_s == NOW_S + 606, "the database keeps a lease a little longer than it grants it"
    resumed = written(asks.resume(long, "ada", NOW_S))
    assert (resumed.paused_until_s, resumed.long_until_s) == (0.0, NOW_S + 606)
    short = written(asks.pause(resumed, NOW_S + 60, "ada", NOW_S))
    assert (short.paused_until_s, short.long_until_s) == (NOW_S + 60, NOW_S + 606)


def test_a_group_is_made_once_and_ends_nothing_by_itself_where_there_are_no_machines() -> None:
    fresh = Group(client_id="c", agent_id="db")
    assert code(create(serving().group, {}, "ada", NOW_S, machines=True)) == "INVALID_STATE"
    assert not written(create(fresh, {}, "ada", NOW_S, machines=False)).settings.auto_terminate
    assert written(create(fresh, {}, "ada", NOW_S, machines=True)).settings.auto_terminate
    asked = create(fresh, {"auto_terminate": True}, "ada", NOW_S, machines=False)
    assert written(asked).settings.auto_terminate


# --- another primary ----------------------------------------------------------------------------------------


def test_a_switch_needs_a_primary_and_no_open_takeover() -> None:
    assert code(asks.switch(taking_over(), SwitchTo())) == "INVALID_STATE"
    none_yet = member(serving(), "i-1", status=Status.REPLICA)
    assert code(asks.switch(none_yet, SwitchTo())) == "INVALID_STATE"


def test_a_switch_is_asked_once_and_may_be_given_another_aim() -> None:
    asked = replace(serving(), group=written(asks.switch(serving(), SwitchTo(wanted="i-2"))))
    assert asks.switch(asked, SwitchTo(wanted="i-2")) is None
    other = written(asks.switch(asked, SwitchTo(wanted="i-3")))
    assert other.switch is not None
    assert other.switch.wanted == "i-3"


@pytest.mark.parametrize(
    ("situation", "wanted", "refused"),
    [
        (serving(), "i-9", "NOT_FOUND"),
        (serving(), "i-1", "INVALID_STATE"),
        (member(serving(), "i-2", status=Status.ZOMBIE), "i-2", "PROMOTION_FAILED"),
        (member(serving(), "i-2", status=Status.TERMINATING), "i-2", "PROMOTION_FAILED"),
        (member(serving(), "i-2", never_promote=True), "i-2", "PROMOTION_FAILED"),
    ],
)
def test_what_can_never_take_over_is_refused_at_once(situation: Situation, wanted: str, refused: str) -> None:
    assert code(asks.switch(situation, SwitchTo(wanted=wanted))) == refused
    for emergency in (False, True):
        ask = Promote(instance_id=wanted, emergency=emergency, accept_data_loss=True)
        assert code(asks.promote(situation, ask)) == refused


def test_a_promotion_names_the_candidate_of_an_open_takeover_and_no_more_than_that() -> None:
    begun = taking_over(rejected=("i-2",), emergency=True)
    begun = said(said(begun, "i-2", healthy=None), "i-3", healthy=True)
    named = written(asks.promote(begun, Promote(instance_id="i-2", emergency=True)))
    assert (named.epoch, named.holder) == (EPOCH + 1, None), "leases are waited for all the same"
    assert named.takeover is not None
    assert (named.takeover.wanted, named.takeover.rejected) == ("i-2", ())
    calm = written(asks.promote(begun, Promote(instance_id="i-3")))
    assert calm.takeover is not None
    assert calm.takeover.emergency, "what began as one remains one"
    chosen = taking_over(candidate="i-2")
    assert code(asks.promote(chosen, Promote(instance_id="i-3"))) == "INVALID_STATE"


def recovering(since_s: float) -> Situation:
    return group(taking_over(code="RECOVERING"), recovering=Recovering(since_s, EPOCH))


def test_after_a_restore_silence_comes_first_and_only_a_standby_is_named() -> None:
    early, late = recovering(NOW_S - 10), recovering(NOW_S - 60)
    assert code(asks.recover(early, "i-2", "ada")) == "INVALID_STATE"
    assert code(asks.promote(early, Promote(instance_id="i-2", emergency=True))) == "INVALID_STATE"
    assert written(asks.recover(late, "i-2", "ada")).recovering is None
    assert code(asks.recover(late, "i-9", "ada")) == "NOT_FOUND"
    zombie = member(late, "i-2", status=Status.ZOMBIE)
    assert code(asks.recover(zombie, "i-2", "ada")) == "PROMOTION_FAILED"
    assert code(asks.recover(serving(), "i-2", "ada")) == "INVALID_STATE"


def test_what_may_still_serve_is_not_gone() -> None:
    made = serving().group
    assert code(asks.gone(made, "i-1", "ada", NOW_S, lease_left_s=0.0)) == "INVALID_STATE"
    assert code(asks.gone(made, "i-2", "ada", NOW_S, lease_left_s=0.1)) == "INVALID_STATE"
    assert written(asks.gone(made, "i-2", "ada", NOW_S, lease_left_s=0.0)).member("i-2") is None


# --- the answers of the cloud -------------------------------------------------------------------------------


def test_only_the_answer_of_a_launch_is_noted() -> None:
    assert settle(launching(), Terminate("i-2"), Happened(None), NOW_S, Policy()) is None
    assert settle(launching(), Terminate("i-2"), Happened(Launched("i-2")), NOW_S, Policy()) is None
