"""What the rules promise, each as a small story that asserts it: for shipped rules and for broken ones."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from holdfast.failover.asks import (
    Notice,
    SwitchTo,
    notice,
    pause,
    switch,
)
from holdfast.failover.group import NoticeKind
from holdfast.failover.rules.rule import Policy, Situation
from tests.failover.model.bench import TERM, Bench, standing

Make = Callable[[Policy], Any]
"""Makes the workflow that is under trial."""


def situation(bench: Bench) -> Situation:
    return Situation(bench.group, bench.seen(), bench.now, bench.policy)


def bench(make: Make, **options: Any) -> Bench:
    policy = options.pop("policy", Policy(term=TERM))
    return standing(policy=policy, flow=make(policy), **options)


def take(made: Bench, primary: str = "i-1", kind: NoticeKind = NoticeKind.TERMINATION) -> None:
    asked = notice(situation(made), Notice(primary, kind, made.now + 120))
    made.commit(asked)


# --- who is judged ------------------------------------------------------------------------------------------


def silence_is_judged_only_by_a_server_that_saw_the_database(make: Make) -> None:
    made = bench(make)
    made.may_judge = False
    made.now += 600  # the database was away, and no agent could renew
    made.store.renew([], TERM)
    for instance_id in ("i-2", "i-3"):
        made.silent.discard(instance_id)
    made.silent.add("i-1")
    made.beat()
    made.turns()
    assert made.group.primary == "i-1", "it had no chance to renew its lease"
    assert made.group.epoch == 1


def no_more_than_some_are_revoked_at_once(make: Make) -> None:
    made = bench(make)
    made.may_revoke = False
    made.silent.add("i-1")
    made.live(15)
    assert made.group.epoch == 1, "an operator is asked first"


def nothing_changes_while_paused(make: Make) -> None:
    made = bench(make)
    made.commit(pause(made.group, made.now + 600, "ada", made.now))
    made.reports["i-1"] = replace(made.reports["i-1"], healthy=False)
    made.beat()
    made.live(60)
    assert made.group.epoch == 1, "it is unhealthy, and an operator knows"
    made.silent = {"i-1"}
    made.live(300)
    assert made.group.epoch == 1
    assert made.store.look("acme/db").rows[0].lease_until_s > made.now, "one long lease"


# --- who takes over -----------------------------------------------------------------------------------------


def lost(made: Bench) -> Bench:
    made.silent.add("i-1")
    made.live(13)
    return made


def a_standby_that_died_is_not_promoted(make: Make) -> None:
    made = bench(make)
    made.silent.add("i-2")
    made = lost(made)
    assert made.group.primary == "i-3", "i-2 was ready a lease ago, and is dead"


def a_standby_that_follows_an_older_primary_is_not_promoted(make: Make) -> None:
    made = bench(make)
    made = lost(made)
    assert made.group.primary == "i-2"
    made.reports["i-3"] = replace(made.reports["i-3"], sync_epoch=1)
    made.silent = {"i-1", "i-2"}
    for _ in range(15):
        made.reports["i-3"] = replace(made.reports["i-3"], sync_epoch=1)
        frozen = made.reports["i-3"]
        made.beat()
        made.reports["i-3"] = frozen
        made.store.renew([], TERM)
        row = made.store.groups["acme/db"].rows["i-3"]
        made.store.groups["acme/db"].rows["i-3"] = replace(row, report=frozen)
        made.turns()
        made.now += 1
    assert made.group.holder != "i-3", "it still follows the primary before the last one"


def lag_beyond_the_limit_is_said_and_not_accepted(make: Make) -> None:
    made = bench(make)
    for instance_id in ("i-2", "i-3"):
        made.reports[instance_id] = replace(made.reports[instance_id], lag_s=90.0)
    made.live(2)
    made = lost(made)
    assert made.group.holder == "i-1"
    assert made.group.degraded is not None
    assert "max_lag_emergency_s is 60" in made.group.degraded.reason


def lag_rises(made: Bench, seconds: int) -> None:
    """There is nothing to follow: each second adds one to what a copy calls its lag."""
    for _ in range(seconds):
        for instance_id in ("i-2", "i-3"):
            report = made.reports[instance_id]
            made.reports[instance_id] = replace(report, lag_s=(report.lag_s or 0.0) + 1)
        made.live(1)


def a_copy_falls_no_further_behind_a_primary_that_is_gone(make: Make) -> None:
    made = bench(make)
    made.silent.add("i-1")
    made.may_judge = False  # the database was away, too
    lag_rises(made, 120)
    made.may_judge = True
    lag_rises(made, 3)
    assert made.group.primary == "i-2", "it holds all that was ever written"


def an_ill_primary_is_replaced_though_its_copies_cannot_follow_it(make: Make) -> None:
    """Its service has ended: what the copies call their lag grows beyond every limit of a planned switch."""
    made = bench(make)
    made.reports["i-1"] = replace(made.reports["i-1"], healthy=False, health_reason="it has ended")
    lag_rises(made, 45)
    assert made.group.primary == "i-2"


def a_primary_that_hears_no_answers_is_replaced(make: Make) -> None:
    """Its heartbeats renew a lease that it does not hear of: it has stopped, and says so."""
    made = bench(make)
    down = replace(made.reports["i-1"], hook_goal="promote", hook_epoch=1, hook_state="none")
    made.reports["i-1"] = down
    made.live(6)
    made.reports["i-1"] = replace(down, hook_state="running")
    made.live(6)
    made.reports["i-1"] = replace(down, hook_state="done")
    made.live(20)
    assert made.group.epoch == 1, "it was down for a moment"
    made.reports["i-1"] = down
    made.live(25)
    assert made.group.primary == "i-2"


def a_primary_that_hears_no_answers_and_has_no_standby_is_degraded(make: Make) -> None:
    made = bench(make)
    made.silent |= {"i-2", "i-3"}
    made.reports["i-1"] = replace(made.reports["i-1"], hook_goal="promote", hook_epoch=1, hook_state="none")
    made.live(30)
    assert made.group.degraded is not None
    assert made.group.degraded.code == "NOT_SERVING"
    made.reports["i-1"] = replace(made.reports["i-1"], hook_state="done")
    made.live(2)
    assert made.group.degraded is None


def an_old_sync_report_counts_for_nothing(make: Make) -> None:
    made = bench(make)
    for instance_id in ("i-2", "i-3"):
        made.reports[instance_id] = replace(made.reports[instance_id], sync_age_s=100.0)
    made.live(2)
    made = lost(made)
    assert made.group.holder == "i-1"


def an_interrupted_standby_is_not_promoted(make: Make) -> None:
    made = bench(make)
    take(made, "i-2")
    made.silent.add("i-3")
    made.live(15)
    made = lost(made)
    assert made.group.holder == "i-1", "it may come back; i-2 goes for certain"


def a_standby_that_is_stopping_is_not_promoted(make: Make) -> None:
    made = bench(make)
    made.reports["i-2"] = replace(made.reports["i-2"], status="stopping")
    made.live(2)
    made = lost(made)
    assert made.group.primary == "i-3", "i-2 has asked to be relieved"


def no_standby_without_a_watchdog_is_promoted(make: Make) -> None:
    made = bench(make)
    made.reports["i-2"] = replace(made.reports["i-2"], watchdog_ok=False)
    made.live(2)
    made = lost(made)
    assert made.group.primary == "i-3", "i-2 would be granted no lease"


def the_promotion_waits_until_the_candidate_has_caught_up(make: Make) -> None:
    made = bench(make)
    made.reports["i-1"] = replace(made.reports["i-1"], position="0/2000")
    for instance_id in ("i-2", "i-3"):
        made.reports[instance_id] = replace(made.reports[instance_id], position="0/1000")
    made.live(1)
    take(made)
    made.live(4)
    assert made.group.holder is None, "the last rows are under way"
    made.reports["i-3"] = replace(made.reports["i-3"], position="0/2000")
    made.live(3)
    assert made.group.primary == "i-3", "the one that has them"


def a_copy_that_never_catches_up_is_not_waited_for(make: Make) -> None:
    made = bench(make)
    made.reports["i-1"] = replace(made.reports["i-1"], position="20")
    for instance_id in ("i-2", "i-3"):
        made.reports[instance_id] = replace(made.reports[instance_id], position="10")
    made.live(1)
    take(made)
    made.live(14)
    assert made.group.primary == "i-2"
    assert "it has not reached 20" in made.events("promoting")[-1].reason


def health_is_asked_anew_for_a_switch(make: Make) -> None:
    made = bench(make)
    made.now += 1
    made.commit(switch(situation(made), SwitchTo(wanted="i-2", by="ada")))
    made.turns()
    assert made.group.epoch == 1, "its newest report is older than the switch"
    made.now += 1
    made.reports["i-2"] = replace(made.reports["i-2"], healthy=False, health_reason="no disk")
    made.beat()
    ahead = made.turns()
    assert made.group.epoch == 1
    assert "no disk" in ahead.why


# --- promotions ---------------------------------------------------------------------------------------------


def an_older_report_does_not_confirm_a_promotion(make: Make) -> None:
    made = bench(make)
    made.silent = {"i-1", "i-3"}
    made.now += 11
    made.beat()
    made.step()  # revoked
    made.silent = {"i-2", "i-3"}
    made.now += 11
    made.store.renew([], TERM)
    row = made.store.groups["acme/db"].rows["i-1"]
    stale = replace(row.report, hook_goal="promote", hook_epoch=1, hook_state="done")
    made.store.groups["acme/db"].rows["i-1"] = replace(row, heartbeat_s=made.now, report=stale)
    made.step()
    assert made.group.holder == "i-1", "reinstated"
    made.step()
    assert made.group.primary is None, "what it said was about epoch 1"


def an_older_word_does_not_fence(make: Make) -> None:
    made = bench(make)
    row = made.store.groups["acme/db"].rows["i-1"]
    take(made)
    made.step()
    assert made.group.epoch == 2
    stale = replace(row.report, hook_goal="demote", hook_epoch=1, hook_state="done")
    made.store.groups["acme/db"].rows["i-1"] = replace(made.store.groups["acme/db"].rows["i-1"], report=stale)
    made.step()
    assert not (made.group.takeover and made.group.takeover.fenced), "it stopped under another epoch"


def a_silent_candidate_is_not_taken_for_stopped(make: Make) -> None:
    made = bench(make)
    made.silent = {"i-1"}
    made.live(10)
    made.live(1)
    assert made.group.holder == "i-2"
    made.silent = {"i-1", "i-2"}
    made.reports["i-2"] = replace(made.reports["i-2"], hook_state="running")
    while made.group.holder == "i-2" and made.group.primary is None:
        made.now += 1
        made.beat()
        made.step()
    takeover = made.group.takeover
    assert takeover is None or not takeover.fenced, "whether it serves is not known"


# --- the past -----------------------------------------------------------------------------------------------


def a_newer_epoch_stops_all(make: Make) -> None:
    made = bench(make)
    made.reports["i-2"] = replace(made.reports["i-2"], highest_epoch=7, served_epoch=7)
    made.beat()
    made.turns()
    group = made.group
    assert group.holder is None, "the database is from the past"
    assert group.epoch == 8, "above all that was reported"
    made.live(8)
    assert made.group.holder is None, "one lease time of silence"
    made.live(8)
    assert made.group.primary == "i-2", "the member that served last"


def the_old_holder_does_not_return_though_another_served_later(make: Make) -> None:
    made = bench(make)
    made.reports["i-2"] = replace(made.reports["i-2"], highest_epoch=7, served_epoch=7, watchdog_ok=False)
    made.live(40)
    assert made.group.holder is None, "i-2 has what was written under epoch 7, and is not ready yet"
    made.reports["i-2"] = replace(made.reports["i-2"], watchdog_ok=True)
    made.live(5)
    assert made.group.primary == "i-2"


def two_who_claim_the_same_are_left_to_an_operator(make: Make) -> None:
    made = bench(make)
    for instance_id in ("i-2", "i-3"):
        made.reports[instance_id] = replace(made.reports[instance_id], highest_epoch=7, served_epoch=7)
    made.live(60)
    assert made.group.holder is None
    assert made.group.degraded is not None
    assert made.group.degraded.code == "RECOVERING"


def an_epoch_that_none_served_is_left_to_an_operator(make: Make) -> None:
    made = bench(make)
    made.reports["i-2"] = replace(made.reports["i-2"], highest_epoch=7)
    made.live(60)
    assert made.group.holder is None


def an_empty_group_waits_one_lease_time(make: Make) -> None:
    policy = Policy(term=TERM)
    made = Bench(policy=policy, flow=make(policy))
    made.join("i-1")
    made.live(9)
    assert made.group.holder is None


def an_ill_primary_returns_if_none_could_take_over(make: Make) -> None:
    """The only candidate fails: what is left is the old one, and a promotion may be what mends it."""
    made = bench(make)
    made.silent.add("i-3")
    made.reports["i-1"] = replace(made.reports["i-1"], healthy=False)
    made.live(20)
    made.reports["i-2"] = replace(made.reports["i-2"], hook_state="failed")
    made.live(15)
    assert made.group.takeover is not None, "it is waited for a while"
    assert made.group.takeover.rejected == ("i-2",)
    made.live(30)
    assert made.group.primary == "i-1"
