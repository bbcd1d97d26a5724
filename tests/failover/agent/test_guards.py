"""Each guard of an agent's brain by itself: one state, one word that is heard, and what is not done."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.failover.agent import words
from holdfast.failover.agent.brain import allowed_epoch, think
from holdfast.failover.agent.goals import Do, Goal, Hook
from holdfast.failover.agent.hear import hear
from holdfast.failover.agent.lease import Lease
from holdfast.failover.agent.report import HookState, Record
from holdfast.failover.agent.resume import kept, resumed
from holdfast.failover.agent.speak import report
from holdfast.failover.agent.state import Phase, Running, State, Stop, booted

NOW_S = 1_000.0
TICK = words.Tick()


def goal(do: Do = Do.PROMOTE, epoch: int = 4, version: int = 7) -> Goal:
    return Goal(version=version, epoch=epoch, do=do, primary="i-1", address="a:1")


def down(**changes: Any) -> State:
    """Nothing runs, and all is there that serving under epoch 4 needs."""
    begun = State(
        registered=True, enabled=True, goal=goal(), lease=Lease(4, NOW_S + 9), highest_epoch=4,
        stored_epoch=4, served_epoch=4, stored_served=4, watchdog_ok=True, beating=True,
        check_at_s=NOW_S + 60,
    )  # fmt: skip
    return replace(begun, **changes)


def up(**changes: Any) -> State:
    return replace(
        down(phase=Phase.UP, serving_epoch=4, goal=goal(Do.SERVE), armed_s=NOW_S + 9).noted(
            Record(Do.PROMOTE, 4, HookState.DONE)
        ),
        **changes,
    )


def done(state: State, heard: words.Heard = TICK, now_s: float = NOW_S) -> list[str]:
    _, actions = think(state, heard, now_s)
    return [
        action.hook.value if isinstance(action, words.RunHook) else type(action).__name__
        for action in actions
    ]


# --- what is started ----------------------------------------------------------------------------------------


def test_all_that_serving_needs_is_there_and_the_watchdog_comes_first() -> None:
    assert done(down()) == ["Arm", "on-promote"]
    _, (armed, started) = think(down(), TICK, NOW_S)
    assert isinstance(armed, words.Arm)
    assert isinstance(started, words.RunHook)
    assert (armed.until_s, armed.epoch) == (NOW_S + 9, 4)
    assert started.before_s == NOW_S + 9, "not later than its lease, however long a thread takes to begin"


LACKS: dict[str, dict[str, Any]] = {
    "a watchdog": {"watchdog_ok": False},
    "the epoch on disk": {"stored_epoch": 3, "storing": True},
    "the served epoch on disk": {"stored_served": 3, "storing": True},
    "a lease": {"lease": Lease(4, NOW_S)},
    "a lease that is long enough to begin": {"lease": Lease(4, NOW_S + 1)},
    "a lease of this epoch": {"lease": Lease(3, NOW_S + 9)},
    "a goal": {"goal": None},
    "a goal that serves": {"goal": goal(Do.FOLLOW)},
    "a goal of the highest epoch": {"highest_epoch": 5, "stored_epoch": 5},
    "a server that enables it": {"enabled": False},
    "a role": {"revoked_epoch": 4},
    "a wish to stay": {"leaving": True, "release_until_s": NOW_S + 60},
}


@pytest.mark.parametrize("what", LACKS)
def test_no_promotion_begins_without(what: str) -> None:
    assert "on-promote" not in done(down(**LACKS[what]))


@pytest.mark.parametrize("what", ["a goal", "a goal that serves", "a server that enables it", "a role"])
def test_no_epoch_is_allowed_without(what: str) -> None:
    assert allowed_epoch(down()) == 4
    assert allowed_epoch(down(**LACKS[what])) is None


def test_another_hook_is_ended_before_a_promotion_begins() -> None:
    follows = Running(Hook.ON_FOLLOW, 3, 4, goal(Do.FOLLOW))
    assert done(down(hook=follows)) == ["KillHook"]
    assert done(down(hook=follows, killing_hook=True)) == []


def test_a_failed_promotion_is_not_begun_again_and_what_serves_is_after_a_while() -> None:
    failed = Record(Do.PROMOTE, 4, HookState.FAILED, "x", NOW_S - 4)
    assert done(down().noted(failed)) == []
    assert done(down(goal=goal(Do.SERVE)).noted(failed)) == []
    assert done(down(goal=goal(Do.SERVE)).noted(replace(failed, at_s=NOW_S - 5))) == ["Arm", "on-promote"]
    assert done(down().noted(replace(failed, epoch=3))) == ["Arm", "on-promote"]


def test_a_standby_follows_only_what_the_newest_goal_names() -> None:
    follows = down(goal=goal(Do.FOLLOW), lease=Lease())
    assert done(follows) == ["on-follow"]
    assert done(replace(follows, followed=(4, "i-1", "a:1"))) == []
    assert "on-follow" not in done(replace(follows, enabled=False))
    assert "on-follow" not in done(replace(follows, highest_epoch=5, stored_epoch=5))
    other = Running(Hook.ON_FOLLOW, 3, 4, replace(goal(Do.FOLLOW), primary="i-9"))
    assert done(replace(follows, hook=other)) == ["KillHook"], "it follows another primary"
    same = Running(Hook.ON_FOLLOW, 3, 4, goal(Do.FOLLOW))
    assert done(replace(follows, hook=same)) == []


# --- what is stopped ----------------------------------------------------------------------------------------


STOPS: dict[str, dict[str, Any]] = {
    "another goal": {"goal": goal(Do.DEMOTE, 5), "highest_epoch": 5, "stored_epoch": 5},
    "a newer epoch": {"highest_epoch": 5, "stored_epoch": 5},
    "an end that comes near": {"lease": Lease(4, NOW_S + 1), "armed_s": NOW_S + 1},
    "no role": {"revoked_epoch": 4},
    "no right": {"enabled": False},
    "a handover that took too long": {"leaving": True, "release_until_s": NOW_S},
}


@pytest.mark.parametrize("why", STOPS)
def test_a_service_is_stopped_by(why: str) -> None:
    assert done(up()) == []
    after, actions = think(up(**STOPS[why]), TICK, NOW_S)
    assert after.phase is Phase.STOPPING
    assert "on-demote" in [each.hook for each in actions if isinstance(each, words.RunHook)]


def test_a_start_whose_lease_is_over_is_killed_with_its_hook() -> None:
    starting = up(phase=Phase.STARTING, hook=Running(Hook.ON_PROMOTE, 3, 4, goal()))
    assert done(replace(starting, lease=Lease(4, NOW_S + 1))) == [], "a hook may take its whole lease"
    assert done(replace(starting, lease=Lease(4, NOW_S))) == ["KillHook", "StopProtected"]


def stopping(**stop: Any) -> State:
    return up(phase=Phase.STOPPING, goal=goal(Do.DEMOTE), stop=Stop(**stop))


def test_a_service_whose_hook_failed_or_whose_lease_is_over_is_killed_and_waited_for() -> None:
    assert done(stopping(hooked=True, failed=True)) == ["StopProtected"]
    over = replace(stopping(), lease=Lease(4, NOW_S))
    assert done(over) == ["StopProtected"], "and the hook only when no process is left"
    assert done(stopping(hooked=True, failed=True, killing=True)) == []
    assert done(stopping(hooked=True, failed=True, killing=True, killed=True)) == ["sync-status"]


def test_the_watchdog_is_kept_armed_until_all_is_stopped_and_a_position_was_read() -> None:
    assert "Disarm" not in done(stopping())
    assert "Disarm" not in done(stopping(hooked=True))
    assert "Disarm" not in done(stopping(hooked=True, reading=9))
    assert "Disarm" in done(stopping(hooked=True, reading=9, position=""))
    hook = Running(Hook.ON_DEMOTE, 3, 4, goal(Do.DEMOTE))
    assert done(replace(stopping(hooked=True, position=""), hook=hook)) == []


def test_a_demotion_of_an_older_epoch_is_not_called_fulfilled() -> None:
    for do in (Do.DEMOTE, Do.STOP):
        known, _ = think(down(goal=goal(do)).noted(Record(Do.DEMOTE, 3, HookState.DONE)), TICK, NOW_S)
        assert known.state_of(Do.DEMOTE, 4) is HookState.DONE, "nothing is served"
        old = down(goal=goal(do), highest_epoch=5, stored_epoch=5)
        after, _ = think(old.noted(Record(Do.DEMOTE, 3, HookState.DONE)), TICK, NOW_S)
        assert after.state_of(Do.DEMOTE, 4) is HookState.NONE


# --- what is heard ------------------------------------------------------------------------------------------


def answered(**changes: Any) -> words.Answered:
    given = {"sent_s": NOW_S - 1, "epoch": 4, "primary": True, "lease_s": 10.0, **changes}
    return words.Answered(**given)


def test_a_lease_is_heard_only_of_the_primary_of_the_highest_epoch() -> None:
    fresh = down(lease=Lease())
    assert hear(fresh, answered(), NOW_S).lease == Lease(4, NOW_S + 9), "it counts from the sending"
    for other in ({"primary": False}, {"epoch": 3}, {"lease_s": 0.0}):
        assert hear(fresh, answered(**other), NOW_S).lease == Lease()


def test_a_word_that_it_is_no_primary_counts_unless_a_newer_one_granted_a_lease() -> None:
    granted = hear(down(), answered(), NOW_S)
    late = answered(sent_s=NOW_S - 2, primary=False, lease_s=0.0)
    assert hear(granted, late, NOW_S).revoked_epoch == 0
    newer = answered(sent_s=NOW_S - 0.5, primary=False, lease_s=0.0)
    revoked = hear(granted, newer, NOW_S)
    assert revoked.revoked_epoch == 4
    assert hear(revoked, answered(sent_s=NOW_S), NOW_S).revoked_epoch == 0


def test_of_two_goals_the_one_of_the_higher_epoch_then_of_the_higher_version_holds() -> None:
    for older in (goal(Do.STOP, 3, 99), goal(Do.DEMOTE, 4, 6)):
        assert hear(down(), words.Told(older), NOW_S).goal == goal()
    for newer in (goal(Do.DEMOTE, 4, 8), goal(Do.FOLLOW, 5, 1)):
        assert hear(down(), words.Told(newer), NOW_S).goal == newer


def ended(hook: Hook, run: int = 3, **changes: Any) -> words.HookEnded:
    return words.HookEnded(**{"hook": hook, "run": run, "ok": True, **changes})


def test_a_hook_counts_for_its_own_run_and_phase() -> None:
    starts = up(phase=Phase.STARTING, hook=Running(Hook.ON_PROMOTE, 3, 4, goal()))
    assert hear(starts, ended(Hook.ON_PROMOTE), NOW_S).phase is Phase.UP
    assert hear(starts, ended(Hook.ON_PROMOTE, run=2), NOW_S) == starts
    stops = replace(starts, phase=Phase.STOPPING, killing_hook=True)
    late = hear(stops, ended(Hook.ON_PROMOTE), NOW_S)
    assert (late.phase, late.hook) == (Phase.STOPPING, None), "it is being stopped"
    killed = hear(replace(starts, killing_hook=True), ended(Hook.ON_PROMOTE, ok=False), NOW_S)
    assert killed.failure is None, "it was killed, and did not fail"


def test_the_last_position_is_that_of_the_run_that_was_begun_after_the_stop() -> None:
    reads = stopping(hooked=True, reading=9)
    earlier = hear(reads, ended(Hook.SYNC_STATUS, run=8, position="3"), NOW_S)
    assert earlier.stop.position is None
    assert hear(reads, ended(Hook.SYNC_STATUS, run=9, position="5"), NOW_S).stop.position == "5"
    assert hear(reads, ended(Hook.SYNC_STATUS, run=9, ok=False), NOW_S).stop.position == ""


def test_nothing_is_called_killed_that_no_kill_was_asked_for() -> None:
    assert not hear(stopping(), words.Stopped(), NOW_S).stop.killed
    assert hear(stopping(killing=True), words.Stopped(), NOW_S).stop.killed


def test_what_is_on_disk_never_goes_back() -> None:
    after = hear(down(storing=True), words.Stored(3, 2), NOW_S)
    assert (after.stored_epoch, after.stored_served, after.storing) == (4, 4, False)


def test_a_full_disk_is_the_failure_of_a_promotion_that_has_not_begun_and_of_no_service_that_is_up() -> None:
    failed = hear(down(storing=True), words.NotStored("full"), NOW_S)
    assert failed.state_of(Do.PROMOTE, 4) is HookState.FAILED
    assert hear(up(storing=True), words.NotStored("full"), NOW_S).state_of(Do.PROMOTE, 4) is HookState.DONE
    follows = hear(down(goal=goal(Do.FOLLOW), storing=True), words.NotStored("full"), NOW_S)
    assert follows.records == {}


def test_a_second_word_to_leave_does_not_begin_its_time_anew() -> None:
    first = hear(up(), words.ReleaseAsked(), NOW_S)
    assert first.release_until_s == NOW_S + 60
    assert hear(first, words.ReleaseAsked(), NOW_S + 50) == first


# --- what is said -------------------------------------------------------------------------------------------


def test_done_is_said_of_this_epoch_and_only_while_it_is_up() -> None:
    assert report(up(), NOW_S).hook_state == "done"
    assert report(replace(up(), phase=Phase.DOWN), NOW_S).hook_state == "none", "it was up, and is down again"
    newer = replace(up(), goal=goal(Do.SERVE, 5), highest_epoch=5)
    assert (report(newer, NOW_S).hook_epoch, report(newer, NOW_S).hook_state) == (5, "none")
    stops = report(stopping(), NOW_S)
    assert (stops.hook_goal, stops.hook_state) == ("demote", "running")


# --- what a restarted agent goes on with --------------------------------------------------------------------


def restarted(before: State, armed_s: float) -> State:
    return resumed(booted(highest_epoch=4, served_epoch=4), kept(before), armed_s)


def test_only_what_was_up_stays_up_and_only_under_the_deadline_that_the_watchdog_has() -> None:
    again = restarted(up(), NOW_S + 5)
    assert (again.phase, again.serving_epoch, again.lease) == (Phase.UP, 4, Lease(4, NOW_S + 5))
    for phase in (Phase.STARTING, Phase.STOPPING):
        half = restarted(up(phase=phase), NOW_S + 5)
        assert (half.phase, half.clean) == (Phase.STOPPING, False)


def test_what_was_down_is_down_unless_the_watchdog_is_armed() -> None:
    assert restarted(down(clean=True), 0.0).phase is Phase.DOWN
    assert restarted(down(clean=True), NOW_S + 5).phase is Phase.STOPPING, "a start was armed, and not told"
