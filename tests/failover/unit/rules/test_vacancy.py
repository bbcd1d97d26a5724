"""The first primary, a database from the past, and machines that no record names: each guard by itself."""

import pytest

from holdfast.cloud.machines import Instance, State
from holdfast.failover.group import TWO_PRIMARIES, Degraded, Recovering, Replica, ReplicaStatus, Switch
from holdfast.failover.roles import Status
from holdfast.failover.rules import vacancy
from holdfast.failover.rules.rule import Situation
from holdfast.failover.rules.sweep import sweep
from holdfast.failover.rules.takeover import RECOVERED, unfit_to_return
from holdfast.kernel import Wait
from tests.failover.model.scene import (
    EPOCH,
    NOW_S,
    changed,
    group,
    look,
    member,
    said,
    serving,
    taking_over,
)


def empty(since_s: float = NOW_S - 60, code: str = "NEW_GROUP") -> Situation:
    made = member(serving(), "i-1", status=Status.REPLICA)
    return group(made, degraded=Degraded(since_s, code, "no primary yet"), created_s=1.0)


def test_an_empty_group_waits_one_lease_time_since_it_has_no_primary() -> None:
    begun = changed(vacancy.first_primary(empty()))
    assert (begun.epoch, begun.holder) == (EPOCH + 1, None), "a takeover, which promotes"
    assert isinstance(vacancy.first_primary(empty(NOW_S - 10)), Wait)
    assert isinstance(vacancy.first_primary(empty(code=TWO_PRIMARIES)), Wait)


def test_a_group_that_has_a_holder_a_takeover_or_is_recovering_is_not_empty() -> None:
    assert vacancy.first_primary(serving()) is None
    assert vacancy.first_primary(taking_over()) is None
    assert vacancy.first_primary(group(empty(), recovering=Recovering(NOW_S - 60, EPOCH))) is None


def newer(by: int = 1) -> Situation:
    return said(serving(), "i-3", highest_epoch=EPOCH + by)


def test_any_newer_epoch_stops_all_at_an_epoch_above_it() -> None:
    asked = Switch("i-2", "ada", NOW_S - 5, NOW_S + 100)
    for by in (1, 7):
        after = changed(vacancy.note_newer_epoch(group(newer(by), switch=asked)))
        assert (after.epoch, after.holder, after.switch) == (EPOCH + by + 1, None, None)
        assert after.recovering == Recovering(NOW_S, EPOCH + by)
    assert vacancy.note_newer_epoch(serving()) is None


def test_what_stopped_before_the_database_went_back_says_nothing_of_what_serves_since() -> None:
    fenced = said(taking_over(fenced=True, candidate="i-2"), "i-3", highest_epoch=EPOCH + 3)
    after = changed(vacancy.note_newer_epoch(fenced))
    assert after.takeover is not None
    assert (after.takeover.fenced, after.takeover.candidate, after.holder) == (False, "", None)


def recovering(since_s: float = NOW_S - 60) -> Situation:
    made = taking_over(code="RECOVERING", rejected=("i-2",))
    return group(made, recovering=Recovering(since_s, 9), epoch=10)


def test_the_one_that_served_last_is_chosen_after_one_lease_time_of_silence() -> None:
    made = said(recovering(), "i-2", served_epoch=9)
    after = changed(vacancy.recover(made))
    assert after.takeover is not None
    assert (after.takeover.wanted, after.takeover.code) == ("i-2", RECOVERED)
    assert after.takeover.rejected == (), "what failed before says nothing of the newest copy"
    assert after.takeover.accept_data_loss, "no copy is newer"
    early = said(recovering(NOW_S - 10), "i-2", served_epoch=9)
    assert isinstance(vacancy.recover(early), Wait)


@pytest.mark.parametrize("served", [{}, {"i-2": 8}, {"i-2": 9, "i-3": 9}, {"i-2": 10}])
def test_without_one_clear_claim_an_operator_decides(served: dict[str, int]) -> None:
    made = recovering()
    for instance_id, epoch in served.items():
        made = said(made, instance_id, served_epoch=epoch)
    wait = vacancy.recover(made)
    assert isinstance(wait, Wait)
    assert "an operator decides" in wait.why


def test_another_than_the_one_that_served_last_does_not_return() -> None:
    other = taking_over(code=RECOVERED, wanted="i-2")
    assert "served later" in unfit_to_return(other, other.group.member("i-1"))
    own = taking_over(code=RECOVERED, wanted="i-1")
    assert unfit_to_return(own, own.group.member("i-1")) == ""


# --- machines that no member is -----------------------------------------------------------------------------


def machine(instance_id: str, token: str = "", state: State = State.RUNNING) -> Instance:
    return Instance(instance_id, state, "b", token=token)


def listed(*machines: Instance, **replica: object) -> Situation:
    made = serving(machines=True)
    if replica:
        fields = {"replica_id": "r-1", "token": "t-1", "pool": "m.b", **replica}
        made = group(made, replicas=(Replica(**fields),))  # type: ignore[arg-type]
    return look(made, cloud=machines)


def test_only_a_machine_of_a_launch_that_was_given_up_is_condemned() -> None:
    late = changed(sweep(listed(machine("i-9", "t-1"), status=ReplicaStatus.FAILED))).member("i-9")
    assert late is not None
    assert late.status is Status.TERMINATING
    other = listed(machine("i-9", "t-1"), status=ReplicaStatus.SYNCING, instance_id="i-2")
    assert changed(sweep(other)).member("i-9") is not None, "one machine a launch: this is another"
    awaited = listed(machine("i-9", "t-1"), status=ReplicaStatus.LAUNCHING)
    assert sweep(awaited) is None, "its answer was lost: the launch is asked for again"
    own = listed(machine("i-9", "t-1"), status=ReplicaStatus.LAUNCHING, instance_id="i-9")
    assert sweep(own) is None


def test_any_other_is_shown_and_left_alone() -> None:
    for strange in (
        listed(machine("i-9", "t-2")),
        listed(machine("i-9", "t-2"), status=ReplicaStatus.FAILED),
    ):
        after = changed(sweep(strange))
        assert (after.strangers, after.member("i-9")) == (("i-9",), None)
    nameless = listed(machine("i-9"), status=ReplicaStatus.FAILED, token="")
    assert changed(sweep(nameless)).strangers == ("i-9",), "no token is no launch's token"
    for state in (State.TERMINATED, State.SHUTTING_DOWN):
        assert sweep(listed(machine("i-9", "t-1", state), status=ReplicaStatus.FAILED)) is None


def test_very_many_strangers_are_told_in_one_commit() -> None:
    answer = sweep(listed(*(machine(f"i-{n:04}") for n in range(10, 160))))
    assert len(changed(answer).strangers) == 150
    assert len(answer.events) <= 99  # type: ignore[union-attr]
