"""When a primary is replaced, and when it is left alone: each guard of these rules by itself."""

from collections.abc import Callable

import pytest

from holdfast.cloud.machines import Instance, State
from holdfast.failover.group import Degraded, Mode, NoticeKind, Switch
from holdfast.failover.rules import loss
from holdfast.failover.rules.rule import Answer, Situation
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

Rule = Callable[[Situation], Answer]


def interrupted() -> Situation:
    return member(serving(), "i-1", notice=NoticeKind.TERMINATION, deadline_s=NOW_S + 100)


def lost() -> Situation:
    return seen(serving(), "i-1", lease_left_s=0.0, silent_s=30.0)


def ill() -> Situation:
    return member(said(serving(), "i-1", healthy=False), "i-1", unhealthy_since_s=NOW_S - 60)


def idle() -> Situation:
    return member(said(serving(), "i-1", hook_state="none"), "i-1", unhealthy_since_s=NOW_S - 60)


REPLACED: list[tuple[Rule, Callable[[], Situation]]] = [
    (loss.replace_interrupted, interrupted),
    (loss.replace_lost, lost),
    (loss.replace_unhealthy, ill),
    (loss.replace_unhealthy, idle),
]


@pytest.mark.parametrize(("rule", "made"), REPLACED)
def test_roles_change_by_themselves_only_where_that_is_wanted(
    rule: Rule, made: Callable[[], Situation]
) -> None:
    assert changed(rule(made())).epoch == EPOCH + 1
    assert changed(rule(settings(made(), mode=Mode.MANUAL_REPLICA))).epoch == EPOCH + 1
    assert rule(settings(made(), mode=Mode.OFF)) is None
    assert rule(group(made(), paused_until_s=NOW_S + 1)) is None


@pytest.mark.parametrize(("rule", "made"), REPLACED)
def test_without_a_ready_standby_the_primary_goes_on(rule: Rule, made: Callable[[], Situation]) -> None:
    alone = seen(seen(made(), "i-2", silent_s=60.0), "i-3", silent_s=60.0)
    assert isinstance(rule(alone), Wait)


@pytest.mark.parametrize("made", [lost, ill, idle])
def test_when_many_were_revoked_what_may_be_a_trouble_of_the_fleet_is_left_to_an_operator(
    made: Callable[[], Situation],
) -> None:
    rule = loss.replace_lost if made is lost else loss.replace_unhealthy
    assert isinstance(rule(look(made(), may_revoke=False)), Wait)
    certain = look(interrupted(), may_revoke=False)
    assert changed(loss.replace_interrupted(certain)).takeover is not None, "a notice of the cloud is certain"


def test_a_machine_that_is_going_is_known_by_a_notice_the_cloud_or_its_own_word() -> None:
    assert loss.replace_interrupted(serving()) is None
    stopping = changed(loss.replace_interrupted(said(serving(), "i-1", status="stopping")))
    assert stopping.takeover is not None
    assert stopping.takeover.code == "STOPPING"
    for state in State:
        listed = look(serving(), cloud=(Instance("i-1", state, "a"), Instance("i-2", State.RUNNING, "b")))
        answer = loss.replace_interrupted(listed)
        if state in (State.PENDING, State.RUNNING):
            assert answer is None
            continue
        takeover = changed(answer).takeover
        assert takeover is not None
        assert takeover.fenced is (state in (State.TERMINATED, State.STOPPED)), "else it may still serve"


def test_a_notice_is_answered_before_the_machine_is_taken() -> None:
    takeover = changed(loss.replace_interrupted(interrupted())).takeover
    assert takeover is not None
    assert (takeover.code, takeover.deadline_s) == ("TERMINATION_NOTICE", NOW_S + 80)
    assert not takeover.fenced, "it serves until it says otherwise, or its lease is over"


def test_a_service_that_may_be_ill_for_ever_is_never_replaced_for_it() -> None:
    assert loss.replace_unhealthy(settings(ill(), unhealthy_s=0.0)) is None
    assert loss.replace_unhealthy(settings(idle(), unhealthy_s=0.0)) is not None, "but it must serve"
    assert isinstance(loss.replace_unhealthy(settings(ill(), unhealthy_s=90.0)), Wait)


def test_an_ill_primary_serves_so_only_the_usual_lag_is_accepted_and_more_if_it_does_not() -> None:
    behind = [said(said(made, "i-2", lag_s=30.0), "i-3", lag_s=30.0) for made in (ill(), idle())]
    behind = [member(made, "i-1", unhealthy_since_s=NOW_S - 30.5) for made in behind]
    lagging, not_serving = (said(said(made, "i-2", lag_s=70.0), "i-3", lag_s=70.0) for made in behind)
    assert isinstance(loss.replace_unhealthy(lagging), Wait)
    assert changed(loss.replace_unhealthy(not_serving)).takeover is not None


def test_a_report_of_an_older_epoch_does_not_say_that_a_primary_is_idle() -> None:
    assert loss.is_idle(idle(), idle().group.members[0])
    older = said(idle(), "i-1", hook_epoch=EPOCH - 1)
    assert not loss.is_idle(older, older.group.members[0])


def test_a_switch_without_a_name_goes_to_the_candidate_that_was_ready_then() -> None:
    asked = Switch("", "ada", NOW_S - 5, NOW_S + 100)
    takeover = changed(loss.switch(group(serving(), switch=asked))).takeover
    assert takeover is not None
    assert takeover.wanted == "i-2"


def test_a_switch_is_dropped_when_its_time_is_over_and_not_before() -> None:
    none_ready = seen(seen(serving(), "i-2", silent_s=60.0), "i-3", silent_s=60.0)
    asked = Switch("", "ada", NOW_S - 5, NOW_S + 1)
    assert isinstance(loss.switch(group(none_ready, switch=asked)), Wait)
    over = Switch("", "ada", NOW_S - 5, NOW_S)
    assert changed(loss.switch(group(none_ready, switch=over))).switch is None


def test_a_group_is_degraded_by_what_may_be_judged() -> None:
    degraded = changed(loss.note_degraded(lost())).degraded
    assert degraded is not None
    assert degraded.code == "LEASE_LOST"
    assert loss.note_degraded(look(lost(), may_judge=False)) is None, "this server was cut off itself"


def test_that_a_primary_does_not_serve_is_told_after_a_lease_time() -> None:
    assert loss.note_degraded(member(idle(), "i-1", unhealthy_since_s=NOW_S - 5)) is None
    degraded = changed(loss.note_degraded(idle())).degraded
    assert degraded is not None
    assert degraded.code == "NOT_SERVING"


def test_how_long_a_group_has_been_degraded_counts_from_its_first_trouble() -> None:
    before = Degraded(NOW_S - 300, "LEASE_LOST", "it was silent")
    degraded = changed(loss.note_degraded(group(idle(), degraded=before))).degraded
    assert degraded is not None
    assert (degraded.code, degraded.since_s) == ("NOT_SERVING", NOW_S - 300)


def test_a_takeover_without_a_candidate_is_told_after_two_lease_times() -> None:
    def alone(started_s: float) -> Situation:
        made = taking_over(started_s=started_s)
        return seen(seen(made, "i-2", silent_s=600.0), "i-3", silent_s=600.0)

    assert loss.note_degraded(alone(NOW_S - 15)) is None
    degraded = changed(loss.note_degraded(alone(NOW_S - 25))).degraded
    assert degraded is not None
    assert degraded.code == "NO_CANDIDATE"
    assert loss.note_degraded(look(alone(NOW_S - 25), may_judge=False)) is None
    ready = taking_over(started_s=NOW_S - 25)
    assert loss.note_degraded(ready) is None, "one takes over"
    chosen = taking_over(started_s=NOW_S - 25, candidate="i-3")
    assert loss.note_degraded(seen(chosen, "i-2", silent_s=600.0)) is None, "it is being promoted"
