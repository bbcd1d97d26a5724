"""What an agent does about each goal, each loss and each failure."""

import pytest

from holdfast.failover.agent import words
from holdfast.failover.agent.goals import Do, Hook
from holdfast.failover.agent.state import Phase
from tests.failover.agent.body import Body, serving


def told(body: Body) -> tuple[str, int, str]:
    return body.last["hook_goal"], body.last["hook_epoch"], body.last["hook_state"]


def test_it_boots_fenced_and_serves_nothing_before_a_promotion() -> None:
    body = Body(service_epoch=7, granted_epoch=7, granted_until_s=2_000.0, armed_s=0.0)
    body.start()
    assert body.serves() is None, "what ran already was killed"
    body.run(30)
    assert body.hooks() == []
    assert body.armed_s == 0.0


def test_a_promotion_is_served_under_its_lease_and_told() -> None:
    body = serving()
    assert told(body) == ("promote", 1, "done")
    assert body.disk == (1, 1)
    body.run(60)
    assert body.hooks() == [("on-promote", 1)], "serve asks nothing more of a service that is up"
    assert not body.accidents


def test_a_demotion_is_told_with_the_position_that_was_read_after_it() -> None:
    body = serving()
    body.tell(Do.DEMOTE, 2)
    body.run(1)
    assert body.serves() is None
    assert told(body) == ("demote", 2, "done")
    assert body.last["position"] == "5"
    assert body.armed_s == 0.0
    assert not body.accidents


def test_a_position_that_on_demote_prints_is_taken() -> None:
    body = serving(prints_position=True)
    asked = len(body.hooks(Hook.SYNC_STATUS))
    body.tell(Do.DEMOTE, 2)
    body.run(0.5)
    assert body.last["position"] == "5"
    assert len(body.hooks(Hook.SYNC_STATUS)) <= asked + 1, "only the usual check"


def test_a_service_whose_renewals_fail_is_asked_to_stop_before_its_lease_ends() -> None:
    body = serving()
    body.up = False
    body.run(9.25)
    assert body.serves() is None
    assert words.StopProtected() not in body.done[5:], "the hook was in time"
    assert not body.accidents


def test_a_hook_that_hangs_is_no_reason_to_serve_on() -> None:
    body = serving()
    body.takes_s[Hook.ON_DEMOTE] = 25.0
    body.up = False
    body.run(10.5)
    assert words.StopProtected() in body.done[5:]
    assert body.serves() is None
    body.run(40)
    assert body.state.phase is Phase.DOWN
    assert not body.accidents


def test_when_the_server_is_back_the_same_epoch_is_served_again() -> None:
    body = serving()
    body.up = False
    body.run(30)
    assert body.serves() is None
    body.up = True
    body.run(2)
    assert body.serves() == 1
    assert body.hooks() == [("on-promote", 1), ("on-demote", 1), ("on-promote", 1)]
    assert not body.accidents


def test_a_failed_promotion_is_told_once_nothing_of_it_is_left() -> None:
    body = Body(fails={Hook.ON_PROMOTE}, takes_s={Hook.ON_PROMOTE: 2.0, Hook.ON_DEMOTE: 1.0}).start()
    body.tell(Do.PROMOTE, 1)
    body.run(2.5)
    assert told(body) == ("promote", 1, "running"), "its remains are still being stopped"
    body.run(2)
    assert told(body) == ("promote", 1, "failed")
    assert body.last["hook_output"] == "said"
    body.run(30)
    assert body.hooks() == [("on-promote", 1), ("on-demote", 1)], "a failed promotion is not tried again"


def test_a_primary_whose_hook_failed_is_tried_again_while_it_is_to_serve() -> None:
    body = serving()
    body.up = False
    body.run(15)
    body.up, body.fails = True, {Hook.ON_PROMOTE}
    body.run(4)
    body.fails = set()
    body.run(10)
    assert body.serves() == 1


def test_a_promotion_while_the_lease_cannot_be_had_runs_no_hook() -> None:
    body = Body().start()
    body.ask(Do.PROMOTE, 1)
    body.primary = False
    body.run(10)
    assert body.hooks(Hook.ON_PROMOTE) == []


def test_without_a_watchdog_nothing_is_started() -> None:
    body = Body(watchdog=False).start()
    body.tell(Do.PROMOTE, 1)
    body.run(20)
    assert body.hooks(Hook.ON_PROMOTE) == []
    assert body.last["watchdog_ok"] is False


def test_an_epoch_that_cannot_be_stored_is_told_as_failed() -> None:
    body = Body(disk_full=True).start()
    body.tell(Do.PROMOTE, 3)
    body.run(5)
    assert told(body) == ("promote", 3, "failed")
    assert "No space left on device" in body.last["hook_output"]
    assert body.hooks(Hook.ON_PROMOTE) == []


def test_a_stop_needs_no_disk() -> None:
    body = serving()
    body.disk_full = True
    body.tell(Do.DEMOTE, 2)
    body.run(1)
    assert told(body) == ("demote", 2, "done")


def test_a_lower_epoch_is_not_obeyed() -> None:
    body = serving()
    body.tell(Do.PROMOTE, 5)
    body.run(1)
    assert body.serves() == 5
    body.tell(Do.DEMOTE, 3)
    body.run(1)
    assert body.serves() == 5, "a database that went back in time knows nothing"
    assert body.last["highest_epoch"] == 5
    assert body.last["served_epoch"] == 5


def test_a_standby_follows_once_and_again_when_the_primary_changes() -> None:
    body = Body().start()
    body.tell(Do.FOLLOW, 1)
    body.run(10)
    assert body.hooks() == [("on-follow", 1)]
    assert body.last["sync_epoch"] == 1
    body.tell(Do.FOLLOW, 2, primary="i-3", address="b:1")
    body.run(10)
    assert body.hooks() == [("on-follow", 1), ("on-follow", 2)]
    assert body.last["sync_epoch"] == 2


def test_a_standby_that_could_not_follow_tries_again_and_is_not_in_sync_meanwhile() -> None:
    body = Body(fails={Hook.ON_FOLLOW}).start()
    body.tell(Do.FOLLOW, 1)
    body.run(3)
    assert told(body) == ("follow", 1, "failed")
    assert body.last["sync_epoch"] == 0
    body.fails = set()
    body.run(6)
    assert told(body) == ("follow", 1, "done")


def test_a_standby_that_is_promoted_while_it_begins_to_follow_does_not_wait_for_that_hook() -> None:
    body = Body(takes_s={Hook.ON_FOLLOW: 300.0}).start()
    body.tell(Do.FOLLOW, 1)
    body.run(1)
    body.tell(Do.PROMOTE, 2)
    body.run(2)
    assert body.serves() == 2


def test_stop_is_final_and_runs_nothing_where_nothing_was_served() -> None:
    body = Body().start()
    body.tell(Do.STOP, 4)
    body.run(5)
    assert body.hooks() == []
    assert told(body) == ("demote", 4, "done")


def test_a_demotion_after_a_reboot_tells_the_hook_once() -> None:
    body = Body().start()
    body.tell(Do.DEMOTE, 4)
    body.run(5)
    assert body.hooks() == [("on-demote", 4)]
    assert told(body) == ("demote", 4, "done")
    body.tell(Do.DEMOTE, 5)
    body.run(5)
    assert body.hooks() == [("on-demote", 4)]
    assert told(body) == ("demote", 5, "done")


def test_an_instance_that_is_not_enabled_stops_and_asks_again_later() -> None:
    body = serving()
    body.hear(words.Registered(enabled=False))
    body.run(1)
    assert body.serves() is None
    body.run(20)
    assert body.done.count(words.Register()) == 2


def test_a_stop_is_told_although_the_instance_is_not_enabled_any_more() -> None:
    body = serving()
    body.tell(Do.STOP, 2)
    body.enabled = False
    body.run(30)
    assert body.service_epoch is None
    assert told(body) == ("demote", 2, "done")
    assert len(body.reports) < 12, "it has not much more to say"


def test_a_session_that_is_not_known_any_more_is_registered_again() -> None:
    body = serving()
    body.hear(words.Disowned())
    body.run(1)
    assert body.done.count(words.Register()) == 2
    assert body.serves() == 1, "its lease still runs"


def test_checks_go_on_while_a_hook_hangs() -> None:
    body = Body(takes_s={Hook.ON_PROMOTE: 40.0}).start()
    body.tell(Do.PROMOTE, 1)
    body.run(20)
    assert told(body) == ("promote", 1, "running")
    assert len(body.hooks(Hook.HEALTH)) >= 8
    body.run(25)
    assert body.serves() == 1
    assert not body.accidents, "its lease was renewed all the while"


@pytest.mark.parametrize("kind", ["rebalance", "termination"])
def test_a_notice_is_told_once_and_until_it_is_taken(kind: str) -> None:
    body = serving()
    notice = words.Notice(kind=kind, action="terminate", time="2026-01-01T00:00:00Z", deadline_s=1_200.0)
    body.up = False
    body.hear(words.Noticed(notice))
    body.run(3)
    assert body.taken == []
    body.up = True
    body.run(1.5)
    body.hear(words.Noticed(notice))
    body.run(5)
    assert body.taken == [notice]


def test_a_release_hands_over_and_then_ends() -> None:
    body = serving()
    body.hear(words.ReleaseAsked())
    body.run(5)
    assert body.last["status"] == "stopping"
    assert body.serves() == 1, "it serves until another can"
    body.tell(Do.DEMOTE, 2)
    body.run(1)
    assert body.serves() is None
    assert isinstance(body.done[-1], words.Exit)


def test_a_release_that_finds_no_standby_stops_in_the_end() -> None:
    body = serving()
    body.hear(words.ReleaseAsked())
    body.run(59)
    assert body.serves() == 1
    body.run(3)
    assert body.serves() is None
    assert isinstance(body.done[-1], words.Exit)


def test_a_release_ends_at_once_where_the_server_has_no_role_for_it_any_more() -> None:
    body = serving()
    body.hear(words.ReleaseAsked())
    body.run(1)
    body.up = False
    body.hear(words.Disowned(1.0))
    body.run(0.5)
    body.hear(words.Registered(enabled=False, goal=None, term_s=body.term_s))
    body.run(3)
    assert body.serves() is None
    assert isinstance(body.done[-1], words.Exit)


def test_a_standby_that_is_released_ends_at_once() -> None:
    body = Body().start()
    body.tell(Do.FOLLOW, 1)
    body.run(3)
    body.hear(words.ReleaseAsked())
    body.run(0.5)
    assert isinstance(body.done[-1], words.Exit)
    assert body.last["status"] == "stopping"
