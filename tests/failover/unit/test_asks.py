"""What agents and operators may ask of a group, and what they are refused."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.failover import asks
from holdfast.failover.asks import Notice, Promote, Refusal, Register, SwitchTo, membership
from holdfast.failover.group import Group, Mode, NoticeKind
from holdfast.failover.roles import Status
from holdfast.failover.rules.rule import Situation
from holdfast.failover.rules.staffing import emergency_replica
from holdfast.failover.workflow import workflow
from holdfast.kernel import Write
from tests.failover.model.bench import Bench, standing
from tests.failover.model.machine_promises import machines
from tests.proof import prove
from tests.variants import broken


def at(bench: Bench) -> Situation:
    return Situation(bench.group, bench.seen(), bench.now, bench.policy)


def refused(asked: Any) -> str:
    assert isinstance(asked, Refusal), asked
    return asked.code


# --- registration -------------------------------------------------------------------------------------------


def registration_grants_no_role(module: Any) -> None:
    group = Group(client_id="acme", agent_id="db")
    asked = module.register(group, Register(instance_id="i-1", invited=True), 1.0)
    assert isinstance(asked, Write)
    (member,) = asked.value.members
    assert not member.status.is_primary, "the rules promote it, or not"
    assert asked.value.epoch == 0


def a_stranger_is_not_enabled(module: Any) -> None:
    bench = standing()
    code = refused(module.register(bench.group, Register(instance_id="i-9", invited=False), bench.now))
    assert code == "DISABLED"


def a_zombie_is_not_enabled(module: Any) -> None:
    bench = standing()
    bench.silent.add("i-1")
    bench.live(15)
    assert bench.status("i-1") is Status.ZOMBIE
    assert refused(module.register(bench.group, Register(instance_id="i-1", invited=True), bench.now)) == (
        "DISABLED"
    )


def what_is_terminated_does_not_come_back(module: Any) -> None:
    bench = standing()
    ask = Register(instance_id="i-9", invited=True, terminated=True)
    assert refused(module.register(bench.group, ask, bench.now)) == "DISABLED"


REGISTRATIONS = {
    registration_grants_no_role: (
        "S8: registration makes a primary",
        {"status=Status.REPLICA, since_s": "status=Status.PRIMARY, since_s"},
    ),
    a_stranger_is_not_enabled: (
        "H40: a stranger with our name is taken in",
        {"    if not ask.invited and not open_intent:\n": "    if False:\n"},
    ),
    a_zombie_is_not_enabled: (
        "B8: a zombie registers again",
        {"    if member.status in (Status.ZOMBIE, Status.TERMINATING):\n": "    if False:\n"},
    ),
    what_is_terminated_does_not_come_back: (
        "H42: what is terminated comes back",
        {"    if ask.terminated and member is None:\n": "    if False:\n"},
    ),
}
VARIANTS = dict(REGISTRATIONS.values())


@pytest.mark.parametrize("promise", REGISTRATIONS, ids=lambda promise: promise.__name__)
def test_registration(promise: Any) -> None:
    promise(membership)


@pytest.mark.parametrize("promise", REGISTRATIONS, ids=lambda promise: promise.__name__)
def test_registration_needs_its_guard(promise: Any) -> None:
    title, changes = REGISTRATIONS[promise]
    with pytest.raises(AssertionError):
        promise(broken("holdfast.failover.asks.membership", changes))
    prove("variant", title, caught_by=promise.__name__.replace("_", " "))


def test_an_agent_that_registers_again_changes_nothing_unless_it_says_something_new() -> None:
    bench = standing()
    same = Register(instance_id="i-1", invited=False, address="i-1:5432")
    assert asks.register(bench.group, same, bench.now) is None
    bench.commit(asks.register(bench.group, replace(same, address="i-1:6000"), bench.now))
    assert bench.member("i-1").address == "i-1:6000"
    assert bench.group.primary == "i-1"


@pytest.mark.parametrize("name", ["", "i 1", "i" * 65, "i-1\n", "ä"])
def test_ids_that_databases_take_for_each_other_are_refused(name: str) -> None:
    group = Group(client_id="acme", agent_id="db")
    assert refused(asks.register(group, Register(instance_id=name, invited=True), 1.0)) == "INVALID_REQUEST"


# --- notices ------------------------------------------------------------------------------------------------


def test_a_rebalance_notice_names_one_emergency_replica_and_switches_nothing() -> None:
    bench = machines(workflow, settings=Bench().settings)
    bench.silent |= {"i-2", "i-3"}
    bench.live(15)
    ask = Notice("i-1", NoticeKind.REBALANCE)

    first = asks.notice(at(bench), ask)
    bench.commit(first)

    name = emergency_replica(bench.group)
    replica = bench.group.replica(name)
    assert replica is not None
    assert (replica.emergency, replica.pool != "m.a") == (True, True)
    assert asks.notice(at(bench), ask) is None, "however often it comes"
    assert bench.group.primary == "i-1"


def test_a_termination_notice_outranks_a_hint_and_keeps_its_earliest_deadline() -> None:
    bench = standing()
    bench.commit(asks.notice(at(bench), Notice("i-2", NoticeKind.REBALANCE)))
    bench.commit(asks.notice(at(bench), Notice("i-2", NoticeKind.TERMINATION, bench.now + 120)))
    assert asks.notice(at(bench), Notice("i-2", NoticeKind.REBALANCE)) is None
    assert asks.notice(at(bench), Notice("i-2", NoticeKind.TERMINATION, bench.now + 130)) is None
    bench.commit(asks.notice(at(bench), Notice("i-2", NoticeKind.TERMINATION, bench.now + 60)))
    assert bench.member("i-2").deadline_s == bench.now + 60
    assert refused(asks.notice(at(bench), Notice("i-9", NoticeKind.REBALANCE))) == "NOT_FOUND"


# --- operators ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "code"), [("i-9", "NOT_FOUND"), ("i-1", "INVALID_STATE"), ("i-3", "PROMOTION_FAILED")]
)
def test_a_switch_to_what_cannot_take_over_is_refused(wanted: str, code: str) -> None:
    bench = standing()
    ask = Register(instance_id="i-3", invited=False, address="i-3:5432", never_promote=True)
    bench.commit(asks.register(bench.group, ask, bench.now))

    assert refused(asks.switch(at(bench), SwitchTo(wanted=wanted))) == code
    if wanted != "i-1":
        assert refused(asks.promote(at(bench), Promote(instance_id=wanted))) == code


def test_a_switch_that_finds_no_standby_is_dropped_in_the_end() -> None:
    bench = standing()
    for instance_id in ("i-2", "i-3"):
        bench.reports[instance_id] = replace(bench.reports[instance_id], healthy=False)
    bench.commit(asks.switch(at(bench), SwitchTo(by="ada")))
    assert asks.switch(at(bench), SwitchTo(by="ada")) is None, "asked twice is asked once"
    bench.live(980)
    assert bench.group.switch is None
    assert bench.group.primary == "i-1"
    dropped = bench.events("switchDropped")[-1]
    assert "i-2: unhealthy" in dropped.reason


def test_both_modes_at_once_are_refused() -> None:
    bench = standing()
    asked = asks.change_settings(bench.group, {"manual_replica": True}, "ada", bench.now)
    assert refused(asked) == "INVALID_CONFIGURATION", "auto-switch is on"
    both = {"auto_switch": False, "manual_replica": True}
    bench.commit(asks.change_settings(bench.group, both, "ada", bench.now))
    assert bench.group.settings.mode is Mode.MANUAL_REPLICA
    assert bench.group.settings.standbys_wanted == 1
    contradiction = {"mode": Mode.OFF, "auto_switch": True, "manual_replica": False}
    assert refused(asks.change_settings(bench.group, contradiction, "ada", bench.now)) == (
        "INVALID_CONFIGURATION"
    )


@pytest.mark.parametrize(
    "changes",
    [{"colour": 1}, {"standbys": "two"}, {"standbys": 1.5}, {"max_lag_s": -1}, {"auto_terminate": 1},
     {"max_lag_s": float("nan")}, {"mode": "both"}, {"max_lag_s": True}],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused_by_name(changes: dict[str, Any]) -> None:
    asked = asks.change_settings(standing().group, changes, "ada", 1.0)
    assert isinstance(asked, Refusal)
    assert asked.code == "INVALID_REQUEST"
    assert next(iter(changes)) in asked.message


def test_settings_that_stay_as_they_are_write_nothing() -> None:
    group = standing().group
    assert asks.change_settings(group, {"standbys": 1}, "ada", 1.0) is None


def test_a_pause_needs_a_primary_and_a_moment_to_come() -> None:
    bench = standing()
    assert refused(asks.pause(bench.group, bench.now - 1, "ada", bench.now)) == "INVALID_REQUEST"
    assert refused(asks.pause(Bench().group, 9.0, "ada", 1.0)) == "INVALID_STATE"
    assert asks.resume(bench.group, "ada", bench.now) is None
    bench.commit(asks.pause(bench.group, bench.now + 100, "ada", bench.now))
    bench.commit(asks.resume(bench.group, "ada", bench.now + 1))
    assert bench.group.long_until_s == bench.now + 101, "its lease may run on"


def test_an_operator_names_the_member_that_served_last() -> None:
    bench = standing()
    for instance_id in ("i-2", "i-3"):
        bench.reports[instance_id] = replace(bench.reports[instance_id], highest_epoch=7, served_epoch=7)
    bench.beat()
    bench.turns()
    assert refused(asks.recover(at(bench), "i-3", "ada")) == "INVALID_STATE", "silence first"
    bench.live(12)
    assert refused(asks.recover(at(bench), "i-9", "ada")) == "NOT_FOUND"
    bench.commit(asks.recover(at(bench), "i-3", "ada"))
    bench.live(12)
    assert bench.group.primary == "i-3"
    assert refused(asks.recover(at(bench), "i-3", "ada")) == "INVALID_STATE"


def silence_comes_before_an_operators_promotion(module: Any) -> None:
    """A member that the database has lost may hold a lease that it does not know."""
    bench = standing()
    bench.reports["i-2"] = replace(bench.reports["i-2"], highest_epoch=7)
    bench.beat()
    bench.turns()
    assert bench.group.recovering is not None
    now = Promote(instance_id="i-3", emergency=True, accept_data_loss=True)
    assert refused(module.promote(at(bench), now)) == "INVALID_STATE", "silence first"
    bench.live(12)
    bench.commit(module.promote(at(bench), now))
    bench.live(12)
    assert bench.group.primary == "i-3"


def test_silence_comes_before_an_operators_promotion() -> None:
    silence_comes_before_an_operators_promotion(asks)
    guard = {"    if silence := silence_first(situation):\n": "    if silence := None:\n"}
    variant = broken("holdfast.failover.asks.switch", guard)
    with pytest.raises(AssertionError):
        silence_comes_before_an_operators_promotion(variant)
    prove(
        "variant",
        "H30: an operator promotes before the leases of the lost database are over",
        caught_by="silence comes before an operator's promotion",
    )


def test_the_last_copy_that_failed_may_be_revived_by_an_operator() -> None:
    bench = Bench()
    bench.join("i-1")
    bench.reports["i-1"] = replace(bench.reports["i-1"], hook_state="failed")
    bench.live(15)
    assert bench.status("i-1") is Status.ZOMBIE
    assert bench.group.degraded is not None
    bench.reports["i-1"] = replace(bench.reports["i-1"], hook_state="none")
    bench.commit(asks.revive(bench.group, "i-1", "ada", bench.now))
    bench.live(15)
    assert bench.group.primary == "i-1"
    assert refused(asks.revive(bench.group, "i-1", "ada", bench.now)) == "INVALID_STATE"
    assert refused(asks.revive(bench.group, "i-9", "ada", bench.now)) == "NOT_FOUND"


def test_an_operator_may_say_that_a_machine_is_gone_but_not_of_what_may_serve() -> None:
    bench = standing()
    gone = asks.gone(bench.group, "i-1", "ada", bench.now, lease_left_s=9.0)
    assert refused(gone) == "INVALID_STATE"
    gone = asks.gone(bench.group, "i-1", "ada", bench.now, lease_left_s=0.0)
    assert refused(gone) == "INVALID_STATE", "it is primary, and its lease is renewed any moment"
    bench.silent.add("i-1")
    bench.live(15)
    assert refused(asks.gone(bench.group, "i-1", "ada", bench.now, lease_left_s=3.0)) == "INVALID_STATE"
    bench.commit(asks.gone(bench.group, "i-1", "ada", bench.now, lease_left_s=0.0))
    assert bench.group.member("i-1") is None
    assert refused(asks.gone(bench.group, "i-1", "ada", bench.now, lease_left_s=0.0)) == "NOT_FOUND"


def test_data_loss_is_accepted_only_when_it_is_said() -> None:
    bench = standing()
    bench.silent |= {"i-1", "i-3"}
    bench.reports["i-2"] = replace(bench.reports["i-2"], lag_s=900.0)
    bench.live(30)
    assert bench.group.degraded is not None
    assert refused(asks.promote(at(bench), Promote(instance_id="i-2", emergency=True))) == "PROMOTION_FAILED"
    bench.commit(asks.promote(at(bench), Promote(instance_id="i-2", emergency=True, accept_data_loss=True)))
    bench.live(15)
    assert bench.group.primary == "i-2"
