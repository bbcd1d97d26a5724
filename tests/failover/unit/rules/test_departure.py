"""How members leave: each guard that keeps the last good copy, and what is not ours, by itself."""

from dataclasses import replace

import pytest

from holdfast.cloud.machines import Instance, State
from holdfast.failover.group import Group, Replica, ReplicaStatus, Switch
from holdfast.failover.ports import InstanceSeen, Terminate
from holdfast.failover.roles import IllegalMove, Status
from holdfast.failover.rules import departure
from holdfast.failover.rules.rule import Situation
from holdfast.kernel import Do, Wait
from tests.failover.model.scene import (
    EPOCH,
    LONG_AGO_S,
    NOW_S,
    changed,
    group,
    look,
    member,
    said,
    seen,
    serving,
    settings,
)

ALL = tuple(Instance(each, State.RUNNING, "a") for each in ("i-1", "i-2", "i-3"))


def launched(situation: Situation, *instance_ids: str) -> Situation:
    """These members are machines that we have launched."""
    replicas = tuple(
        Replica(replica_id=f"r-{each}", token=f"t-{each}", pool="m.b", instance_id=each, status=STANDS)
        for each in instance_ids
    )
    for each in instance_ids:
        situation = member(situation, each, replica_id=f"r-{each}")
    return group(situation, replicas=replicas)


STANDS = ReplicaStatus.READY


def listed(situation: Situation, *machines: Instance) -> Situation:
    return look(situation, cloud=machines or ALL)


# --- what the cloud says ------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", State)
def test_only_what_the_cloud_calls_terminated_leaves_the_record(state: State) -> None:
    answer = departure.note_gone(listed(serving(machines=True), Instance("i-2", state, "b")))
    assert (answer is not None) is (state is State.TERMINATED)


def test_a_primary_is_replaced_before_it_leaves() -> None:
    assert departure.note_gone(listed(serving(), Instance("i-1", State.TERMINATED, "a"))) is None
    assert departure.note_gone(serving()) is None, "the cloud was not asked"


def test_what_a_list_lacks_is_missing_only_if_it_is_ours_and_no_longer_new() -> None:
    short = listed(launched(serving(machines=True), "i-2"), ALL[0])
    missing = changed(departure.note_missing(short)).member("i-2")
    assert missing is not None
    assert missing.missing_since_s == NOW_S
    assert departure.note_missing(member(short, "i-2", since_s=NOW_S - 299)) is None, "not listed yet"
    assert departure.note_missing(listed(serving(machines=True), ALL[0])) is None, "it is no machine of ours"
    found = changed(departure.note_missing(listed(member(short, "i-2", missing_since_s=NOW_S - 5)))).member(
        "i-2"
    )
    assert found is not None
    assert found.missing_since_s == 0


def test_what_is_missing_for_long_is_gone() -> None:
    def answer(missing_since_s: float) -> object:
        made = member(launched(serving(machines=True), "i-2"), "i-2", missing_since_s=missing_since_s)
        return departure.note_gone(listed(made, ALL[0]))

    assert answer(0.0) is None
    assert answer(NOW_S - 299) is None
    assert changed(answer(NOW_S - 300)).member("i-2") is None


def test_only_what_may_go_leaves_the_record_and_its_failed_launch_is_remembered() -> None:
    with pytest.raises(IllegalMove):
        departure.leave_record(serving(), serving().group.members[0], "x")
    made = launched(serving(machines=True), "i-2")
    assert departure.leave_record(made, made.group.members[1], "x").group.replicas == ()
    booting = group(made, replicas=(replace(made.group.replicas[0], status=ReplicaStatus.LAUNCHING),))
    (kept,) = departure.leave_record(booting, booting.group.members[1], "x").group.replicas
    assert (kept.status, kept.ended_s) == (ReplicaStatus.FAILED, NOW_S), "a late machine of it may come"


# --- the last good copy -------------------------------------------------------------------------------------

WORSE = {
    "without a lease": seen(serving(), "i-1", lease_left_s=0.0),
    "ill": said(serving(), "i-1", healthy=False),
    "of unknown health": said(serving(), "i-1", healthy=None),
    "still starting": said(serving(), "i-1", hook_state="running"),
    "up in an older epoch": said(serving(), "i-1", hook_epoch=EPOCH - 1),
    "silent in a long lease": seen(serving(), "i-1", silent_s=10.2, lease_left_s=600.0),
    "never heard of": look(serving(), instances={"i-1": InstanceSeen(lease_left_s=5.0)}),
}


@pytest.mark.parametrize("how", WORSE)
def test_a_primary_does_not_serve_well_that_is(how: str) -> None:
    assert departure.serves_well(serving())
    assert not departure.serves_well(WORSE[how])


def condemned(situation: Situation, **changes: float) -> Situation:
    made = member(situation, "i-2", status=Status.TERMINATING, terminate_at_s=NOW_S, **changes)
    return listed(replace(made, policy=serving(machines=True).policy))


def test_what_is_condemned_is_ended_when_its_time_has_come() -> None:
    assert departure.terminate(condemned(serving())) == Do((Terminate("i-2"),))
    assert isinstance(
        departure.terminate(member(condemned(serving()), "i-2", terminate_at_s=NOW_S + 1)), Wait
    )
    assert departure.terminate(replace(condemned(serving()), policy=serving().policy)) is None
    assert departure.terminate(listed(condemned(serving()), ALL[0])) is None, "the cloud does not list it"
    assert departure.terminate(look(condemned(serving()), cloud=None)) is None
    gone = listed(condemned(serving()), Instance("i-2", State.SHUTTING_DOWN, "b"))
    assert departure.terminate(gone) is None, "it is on its way"


@pytest.mark.parametrize("how", WORSE)
def test_a_copy_is_not_ended_while_no_other_serves_well(how: str) -> None:
    assert departure.terminate(condemned(WORSE[how], demoted_at_s=LONG_AGO_S)) is None
    heard = look(condemned(WORSE[how]), instances={**WORSE[how].seen.instances, "i-2": serving().of("i-2")})
    assert departure.terminate(heard) is None, "it was heard of, so it may hold a copy"
    never = look(condemned(WORSE[how]), instances={"i-1": WORSE[how].of("i-1")})
    assert departure.terminate(never) == Do((Terminate("i-2"),)), "it never had an agent"
    former = member(never, "i-2", demoted_at_s=LONG_AGO_S)
    assert departure.terminate(former) is None, "it held the role once, whatever was heard since"


def test_a_server_that_was_cut_off_ends_nothing() -> None:
    assert departure.terminate(look(condemned(serving()), may_judge=False)) is None


# --- zombies ------------------------------------------------------------------------------------------------


def zombie(situation: Situation, *, kept_s: float = 100.0, ours: bool = True) -> Situation:
    situation = settings(situation, zombie_retention_s=kept_s)
    made = member(situation, "i-2", status=Status.ZOMBIE, demoted_at_s=NOW_S - 100)
    made = launched(made, "i-2") if ours else made
    return replace(made, policy=serving(machines=ours).policy)


def status_of(found: Group, instance_id: str) -> Status | None:
    one = found.member(instance_id)
    return one.status if one else None


def test_a_zombie_of_ours_is_condemned_after_its_retention() -> None:
    assert status_of(changed(departure.retain(zombie(serving()))), "i-2") is Status.TERMINATING
    assert isinstance(departure.retain(zombie(serving(), kept_s=101.0)), Wait)


@pytest.mark.parametrize("how", WORSE)
def test_no_zombie_is_condemned_while_no_other_serves_well(how: str) -> None:
    assert departure.retain(zombie(WORSE[how])) is None


def test_what_is_not_ours_is_never_condemned_and_leaves_when_it_was_silent_for_as_long() -> None:
    foreign = zombie(serving(), ours=False)
    assert departure.retain(foreign) is None, "its agent was heard of a second ago"
    silent = seen(foreign, "i-2", silent_s=100.0)
    assert changed(departure.retain(silent)).member("i-2") is None
    assert departure.retain(seen(foreign, "i-2", silent_s=99.0)) is None
    assert departure.retain(look(silent, may_judge=False)) is None


# --- surplus ------------------------------------------------------------------------------------------------


def many(*ours: str) -> Situation:
    """Two standbys, of which one is wanted."""
    return launched(serving(machines=True), *ours)


def test_a_standby_more_than_wanted_is_condemned_if_it_is_ours() -> None:
    assert status_of(changed(departure.surplus(many("i-3"))), "i-3") is Status.TERMINATING
    assert departure.surplus(many()) is None, "what was enrolled by hand is not ours to end"
    assert departure.surplus(settings(many("i-3"), standbys=2)) is None
    newest = member(many("i-2", "i-3"), "i-2", since_s=NOW_S - 1)
    assert status_of(changed(departure.surplus(newest)), "i-2") is Status.TERMINATING
    urgent = member(newest, "i-3", emergency=True)
    assert status_of(changed(departure.surplus(urgent)), "i-3") is Status.TERMINATING


def test_none_is_condemned_without_machines_during_a_switch_or_in_a_quiet_time() -> None:
    assert departure.surplus(replace(many("i-3"), policy=serving().policy)) is None
    switching = Switch("", "ada", NOW_S - 5, NOW_S + 100)
    assert departure.surplus(group(many("i-3"), switch=switching)) is None
    emergency = member(many("i-3"), "i-3", emergency=True)
    assert isinstance(departure.surplus(group(emergency, noticed_s=NOW_S - 7_199)), Wait)
    assert changed(departure.surplus(group(emergency, noticed_s=NOW_S - 7_200)))


@pytest.mark.parametrize("how", WORSE)
def test_no_standby_is_condemned_while_none_serves_well(how: str) -> None:
    made = replace(launched(WORSE[how], "i-2", "i-3"), policy=serving(machines=True).policy)
    assert departure.surplus(made) is None


def test_a_silent_standby_of_ours_is_condemned_once_it_was_replaced() -> None:
    silent = seen(many("i-3"), "i-3", silent_s=301.0)
    assert status_of(changed(departure.surplus(silent)), "i-3") is Status.TERMINATING
    assert departure.surplus(seen(silent, "i-2", silent_s=301.0)) is None, "none has replaced it"
    assert departure.surplus(look(silent, may_judge=False)) is None
    assert departure.surplus(seen(many("i-2"), "i-3", silent_s=301.0)) is None, "it is not ours"
    booting = member(silent, "i-3", since_s=NOW_S - 300)
    extra = changed(departure.surplus(booting)).member("i-3")
    assert extra is not None, "it had no time yet to say anything: it counts as one that lives"
