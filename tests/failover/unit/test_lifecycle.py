"""The life of a group without a cloud: its first primary, losses, failed promotions, and the way back."""

from dataclasses import replace

import pytest

from holdfast.failover.asks import Notice, Promote, Refusal, SwitchTo, notice, promote, switch
from holdfast.failover.group import GroupSettings, NoticeKind
from holdfast.failover.roles import Status
from holdfast.failover.rules.rule import Situation
from tests.failover.model.bench import Bench, standing


def test_an_empty_group_waits_one_lease_time_and_promotes_its_first_ready_member() -> None:
    bench = Bench()
    bench.join("i-1")
    bench.join("i-2")

    bench.live(9)
    assert bench.group.holder is None, "whatever served under a database that is gone has not stopped yet"

    bench.live(5)
    assert bench.group.primary == "i-1"
    assert bench.group.epoch == 1
    assert bench.group.degraded is None
    assert bench.store.look("acme/db").rows[0].lease_until_s > bench.now


def test_a_silent_primary_is_revoked_once_its_lease_is_out_and_a_standby_takes_over() -> None:
    bench = standing()
    bench.silent.add("i-1")

    bench.live(9)
    assert bench.group.primary == "i-1", "its lease still runs"
    bench.live(5)

    assert bench.group.primary == "i-2"
    assert bench.group.epoch == 2
    assert bench.status("i-1") is Status.ZOMBIE, "no machines are configured: it is kept"
    revoked = bench.events("revoked")[-1]
    assert revoked.code == "LEASE_LOST"
    assert revoked.numbers["rule"] == 350


def test_a_notice_hands_over_at_once_because_the_old_primary_says_that_it_stopped() -> None:
    bench = standing()
    deadline_s = bench.now + 120
    bench.commit(ask_notice(bench, Notice("i-1", NoticeKind.TERMINATION, deadline_s)))

    bench.live(2)

    assert bench.group.primary == "i-2"
    assert "fenced" in bench.kinds()
    took_s = bench.events("promoted")[-1].numbers["took_s"]
    assert took_s <= 2


def ask_notice(bench: Bench, asked: Notice) -> object:
    return notice(Situation(bench.group, bench.seen(), bench.now, bench.policy), asked)


def test_a_failed_promotion_is_a_zombie_and_the_next_candidate_is_tried() -> None:
    bench = standing()
    bench.silent.add("i-1")
    bench.reports["i-2"] = replace(bench.reports["i-2"], hook_state="failed", hook_output="disk full")

    bench.live(40)

    assert bench.status("i-2") is Status.ZOMBIE
    assert bench.group.primary == "i-3"
    assert "disk full" in bench.events("promotionFailed")[0].reason
    assert bench.group.epoch == 3, "one for the revocation, one for the failed promotion"


def test_the_old_primary_is_reinstated_when_the_only_candidate_dies() -> None:
    bench = standing()
    bench.silent = {"i-1", "i-3"}
    bench.live(14)  # i-2 is being promoted, or is primary
    bench = standing()
    bench.silent = {"i-1", "i-3"}
    bench.now += 11
    bench.beat()
    bench.step()
    assert bench.group.takeover is not None
    bench.silent = {"i-2", "i-3"}

    bench.live(40)

    assert bench.group.primary == "i-1", bench.group
    assert "reinstated" in bench.kinds()


def test_a_promotion_that_hangs_fails_within_its_limit() -> None:
    bench = standing(settings=GroupSettings(promote_timeout_s=20))
    bench.silent.add("i-1")
    bench.live(11)
    bench.silent.add("i-2")  # chosen, then silent

    bench.live(45)

    assert bench.group.primary == "i-3"


def test_a_switch_to_a_named_standby_and_back_if_it_fails() -> None:
    bench = standing()
    situation = Situation(bench.group, bench.seen(), bench.now, bench.policy)
    bench.commit(switch(situation, SwitchTo(wanted="i-3", by="ada")))
    bench.now += 1
    bench.live(5)
    assert bench.group.primary == "i-3"

    bench = standing()
    bench.reports["i-3"] = replace(bench.reports["i-3"], hook_state="failed")
    situation = Situation(bench.group, bench.seen(), bench.now, bench.policy)
    bench.commit(switch(situation, SwitchTo(wanted="i-3", by="ada")))
    bench.now += 1
    bench.live(30)
    assert bench.group.primary == "i-1", "rolled back"
    assert bench.status("i-3") is Status.ZOMBIE


def test_a_promotion_of_what_is_not_ready_is_refused_with_the_reason() -> None:
    bench = standing()
    bench.reports["i-2"] = replace(bench.reports["i-2"], lag_s=30.0)
    bench.live(2)
    situation = Situation(bench.group, bench.seen(), bench.now, bench.policy)

    refused = promote(situation, Promote(instance_id="i-2"))

    assert refused == Refusal("PROMOTION_FAILED", "i-2: it lags 30 s, max_lag_s is 10 s")
    assert not isinstance(promote(situation, Promote(instance_id="i-2", emergency=True)), Refusal)


@pytest.mark.parametrize("may_judge", [True, False])
def test_a_server_that_was_cut_off_judges_no_silence(may_judge: bool) -> None:
    bench = standing()
    bench.may_judge = may_judge
    bench.now += 600  # the database was away
    bench.turns()
    assert (bench.group.primary == "i-1") is not may_judge or bench.group.degraded is not None
    bench.beat()
    bench.turns()
    assert bench.group.primary == "i-1"
