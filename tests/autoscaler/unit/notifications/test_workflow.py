"""Operators hear of a cause once, and of its end once, whatever becomes of the processes and channels."""

from holdfast.autoscaler.notifications.causes import Cause
from holdfast.autoscaler.notifications.record import CODEC, Board
from holdfast.autoscaler.notifications.workflow import TRIES_MAX, TRY_MAX_S, pause_s
from holdfast.kernel import Done, Wait
from tests.autoscaler.unit.notifications.office import NO_SPOT, Office, one_cause_with_its_end, refusing


def test_a_cause_is_told_once_with_its_end_through_every_death() -> None:
    one_cause_with_its_end()


def test_what_does_not_last_is_not_told_and_leaves_nothing_behind() -> None:
    office = Office()
    assert isinstance(office.run(NO_SPOT), Wait)
    office.now_s += 30
    assert isinstance(office.run({}), Done)
    assert not office.taken
    assert office.board == Board()


def test_a_quiet_world_commits_nothing() -> None:
    office = Office()
    office.run(NO_SPOT)
    office.now_s += 61
    office.run(NO_SPOT)
    before = office.commits
    for _ in range(20):
        office.now_s += 60
        assert isinstance(office.run(NO_SPOT), Done)
    assert office.commits == before


def test_a_channel_that_hangs_keeps_no_other_waiting() -> None:
    office = Office(answer=refusing("webhook"))
    office.run(NO_SPOT)
    office.now_s += 61
    waits = office.run(NO_SPOT)
    assert office.stages("sns") == ["begun"]
    assert isinstance(waits, Wait)
    assert waits.until_s == office.now_s + 30


def test_a_channel_is_tried_again_and_then_given_up() -> None:
    office = Office(answer=refusing("webhook"))
    office.run(NO_SPOT)
    tries = 0
    for _ in range(2 * TRIES_MAX):
        office.now_s += TRY_MAX_S
        office.run(NO_SPOT)
        told = office.board.notifications[0].receipt("webhook")
        assert told is not None
        tries = max(tries, told.tries)
    assert tries == TRIES_MAX
    assert [pause_s(n) for n in (1, 2, 3)] == [30, 60, 120]
    office.answer = refusing()
    office.now_s += TRY_MAX_S
    office.run({})
    office.run({})
    assert office.stages("webhook") == ["over"], "the end tells of the beginning that did not arrive"


def test_a_cause_that_returns_before_its_end_was_told_is_the_same() -> None:
    office = Office(answer=refusing("webhook", "sns"))
    office.run(NO_SPOT)
    office.now_s += 61
    office.run(NO_SPOT)
    office.now_s += 1
    office.run({}, channels=())
    office.run(NO_SPOT, channels=())
    (only,) = office.board.notifications
    assert not only.over_s


def test_without_a_look_only_what_is_due_is_told() -> None:
    office = Office()
    office.run(NO_SPOT)
    office.now_s += 61
    office.run(None)
    assert office.stages() == ["begun"]
    office.run(None)
    assert office.stages() == ["begun"], "a tick that saw nothing does not say that it is over"


def test_two_processes_at_once_tell_once() -> None:
    office = Office()
    office.run(NO_SPOT, "a")
    office.now_s += 61
    claimed = office.module.step(office.board, NO_SPOT, office.plan("a"), office.now_s)
    office.board = claimed.value
    assert isinstance(office.run(NO_SPOT, "b"), Wait), "the other one waits while the first may be sending"
    office.run(NO_SPOT, "a")
    assert len(office.taken) == 2


def test_the_record_is_stored_whole() -> None:
    office = Office(answer=refusing("webhook"))
    office.run({**NO_SPOT, (Cause.DRAIN_STUCK, "ip-10-0-0-1"): "not drained within 300 s"})
    office.now_s += 61
    office.run(NO_SPOT)
    assert CODEC.load(dict(CODEC.encode(office.board)), table="t", key="k") == office.board
