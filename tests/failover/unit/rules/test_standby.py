"""Which standby is ready, and which one is taken: each limit by itself, from one side and from the other."""

from typing import Any

import pytest

from holdfast.failover.group import Member, NoticeKind
from holdfast.failover.roles import Status
from holdfast.failover.rules.choose import choose
from holdfast.failover.rules.rule import Situation
from holdfast.failover.rules.standby import reached, ready_for, unready
from tests.failover.model.scene import EPOCH, NOW_S, group, member, said, seen, serving, taking_over


def i_2(situation: Situation) -> Member:
    found = situation.group.member("i-2")
    assert found is not None
    return found


def why_not(situation: Situation, **asked: Any) -> str:
    return unready(situation, i_2(situation), **asked)


def test_a_standby_that_is_well_is_ready_in_every_way() -> None:
    for emergency in (False, True):
        assert why_not(serving(), emergency=emergency) == ""
    assert why_not(serving(), since_s=NOW_S - 2) == ""


NEVER = {
    "never to be promoted": member(serving(), "i-2", never_promote=True),
    "a termination notice": member(serving(), "i-2", notice=NoticeKind.TERMINATION),
    "it is zombie": member(serving(), "i-2", status=Status.ZOMBIE),
    "it is launching": member(serving(), "i-2", status=Status.LAUNCHING),
    "silent for 11 s": seen(serving(), "i-2", silent_s=11.0),
    "it is stopping": said(serving(), "i-2", status="stopping"),
    "watchdog is not at work": said(serving(), "i-2", watchdog_ok=False),
}


@pytest.mark.parametrize("reason", NEVER)
def test_what_no_emergency_and_no_operator_makes_ready(reason: str) -> None:
    for emergency, accept_data_loss in ((False, False), (True, False), (True, True)):
        said_no = why_not(NEVER[reason], emergency=emergency, accept_data_loss=accept_data_loss)
        assert reason in said_no, said_no


BEHIND = {
    "it follows epoch 3, not 4": said(serving(), "i-2", sync_epoch=EPOCH - 1),
    "it has not reported how far": said(serving(), "i-2", lag_s=None),
    "it has not reported how": said(serving(), "i-2", sync_age_s=None),
    "report is 35 s old": seen(said(serving(), "i-2", sync_age_s=28.0), "i-2", silent_s=7.0),
    "it lags 61 s": said(serving(), "i-2", lag_s=61.0),
}


@pytest.mark.parametrize("reason", BEHIND)
def test_a_copy_that_is_behind_is_taken_only_where_loss_is_accepted(reason: str) -> None:
    for emergency in (False, True):
        assert reason in why_not(BEHIND[reason], emergency=emergency)
    assert why_not(BEHIND[reason], accept_data_loss=True) == ""
    first = group(BEHIND[reason], served_epoch=0)
    assert why_not(first) == "", "there is nothing yet that it could be behind"


def test_more_lag_is_accepted_in_an_emergency_alone() -> None:
    lags = said(serving(), "i-2", lag_s=30.0)
    assert why_not(lags) == "it lags 30 s, max_lag_s is 10 s"
    assert why_not(lags, emergency=True) == ""


def test_health_must_be_known_and_good_but_in_an_emergency() -> None:
    assert why_not(said(serving(), "i-2", healthy=None)) == "its health is not known"
    ill = said(serving(), "i-2", healthy=False, health_reason="disk")
    assert why_not(ill) == "unhealthy: disk"
    assert why_not(ill, emergency=True) == ""
    assert why_not(serving(), since_s=NOW_S) == "its health has not been asked since"


def test_a_copy_is_not_further_behind_by_the_time_in_which_nothing_was_written() -> None:
    made = said(taking_over(started_s=NOW_S - 30), "i-2", lag_s=85.0)
    assert "it lags 66" in why_not(made, emergency=True), "the old primary may have served for a lease more"
    stopped = taking_over(started_s=NOW_S - 30, fenced=True, fenced_s=NOW_S - 30)
    assert why_not(said(stopped, "i-2", lag_s=85.0), emergency=True) == ""


def test_positions_are_compared_by_what_they_mean() -> None:
    assert reached("100", "99")
    assert not reached("99", "100")
    assert reached("1/0", "0/FFFFFFFF")
    assert not reached("0/FFFFFFFF", "1/0"), "the first half counts more"
    assert reached("0/A", "0/9")
    assert not reached("binlog.7", "binlog.6"), "what has no order must be equal"
    assert reached("binlog.7", "binlog.7")
    assert reached("", "")
    assert not reached("", "7")


def test_in_a_takeover_nothing_is_tried_twice_and_no_loss_is_accepted_unasked() -> None:
    def reason(situation: Situation) -> str:
        assert situation.group.takeover is not None
        return ready_for(situation, situation.group.takeover, i_2(situation))

    served = EPOCH
    assert reason(group(taking_over(), served_epoch=served)) == ""
    assert "its promotion failed" in reason(taking_over(rejected=("i-2",)))
    assert "its promotion failed" in reason(taking_over(rejected=("i-2", "i-3"), accept_data_loss=True))
    lags = said(taking_over(), "i-2", lag_s=3_600.0)
    assert "it lags" in reason(lags)
    accepted = said(taking_over(accept_data_loss=True), "i-2", lag_s=3_600.0)
    assert reason(accepted) == ""


def best(situation: Situation, wanted: str = "") -> str | None:
    chosen = choose(situation, lambda each: unready(situation, each), wanted).best
    return chosen.instance_id if chosen else None


def test_priority_comes_first_then_a_machine_that_stays_then_the_smallest_lag_then_age() -> None:
    lags = said(serving(), "i-2", lag_s=2.0)
    going = member(lags, "i-3", notice=NoticeKind.REBALANCE)
    assert best(serving()) == "i-2"
    assert best(lags) == "i-3"
    assert best(going) == "i-2", "the cloud may soon take i-3"
    assert best(member(going, "i-3", priority=101)) == "i-3"
    assert best(member(serving(), "i-2", priority=99)) == "i-3"


def test_only_the_one_that_was_named_is_taken() -> None:
    assert best(serving(), "i-3") == "i-3"
    assert best(seen(serving(), "i-3", silent_s=60.0), "i-3") is None
