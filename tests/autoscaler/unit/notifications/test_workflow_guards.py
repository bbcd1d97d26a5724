"""In which order the two messages of a cause go out, and what a late answer may change."""

from dataclasses import replace

import pytest

from holdfast.autoscaler.notifications.causes import Cause
from holdfast.autoscaler.notifications.message import SUBJECT_MAX, Message
from holdfast.autoscaler.notifications.record import Board, Notification, Receipt, Stage
from holdfast.autoscaler.notifications.workflow import WHY_MAX, Send, settle
from holdfast.kernel import Happened, Wait
from tests.autoscaler.unit.notifications.office import NO_SPOT, Office, refusing

KEY = (Cause.NO_CAPACITY, "pool default")


def told_to_both() -> Office:
    office = Office()
    office.run(NO_SPOT)
    office.now_s += 61
    office.run(NO_SPOT)
    return office


def test_a_cause_that_returns_while_its_end_is_told_begins_anew_after_that() -> None:
    office = told_to_both()
    office.answer = refusing("sns")
    office.run({})
    office.run(NO_SPOT)
    (ending,) = office.board.notifications
    assert ending.over_s, "one channel has heard of the end"

    office.answer = refusing()
    for _ in range(4):
        office.now_s += 61
        office.run(NO_SPOT)
    assert office.stages("webhook") == ["begun", "over", "begun"]
    assert office.stages("sns") == ["begun", "over", "begun"]


def test_an_end_waits_for_a_beginning_that_may_be_under_way() -> None:
    office = Office()
    office.run(NO_SPOT)
    office.now_s += 61
    office.board = office.module.step(office.board, NO_SPOT, office.plan("a"), office.now_s).value

    waits = office.run({}, "b")
    assert isinstance(waits, Wait), "process a may be sending"
    assert office.taken == []
    office.now_s = waits.until_s
    office.run({}, "b")
    assert office.stages() == ["over"]


def test_a_channel_that_there_is_no_more_holds_up_no_end() -> None:
    office = told_to_both()

    office.run({}, channels=("webhook",))
    assert office.stages("webhook") == ["begun", "over"]
    assert office.board == Board()


def test_a_late_answer_of_the_beginning_says_nothing_of_the_end() -> None:
    ending = Notification(*KEY, "none", 1_000, 1_100, (Receipt("sns", Stage.OVER, tries=1, owner="b"),))
    begun, over = (Send("sns", Message.of(ending, stage, "shop")) for stage in Stage)

    assert settle(Board((ending,)), begun, Happened(None), 1_200) is None
    noted = settle(Board((ending,)), over, Happened(None), 1_200)
    assert noted is not None
    (receipt,) = noted.value.notifications[0].receipts
    assert receipt.told


@pytest.mark.parametrize("gone", [Board(), Board((Notification(*KEY, "none", 1_000),))])
def test_an_answer_for_what_is_not_kept_any_more_changes_nothing(gone: Board) -> None:
    message = Message.of(Notification(*KEY, "none", 1_000), Stage.BEGUN, "shop")

    assert settle(gone, Send("sns", message), Happened(None), 1_200) is None


def test_a_long_reason_does_not_fill_the_record() -> None:
    office = Office()
    office.run({KEY: "x" * 10_000})

    assert len(office.board.notifications[0].why) == WHY_MAX


def test_a_subject_is_one_short_line_of_ascii_and_titles_show_no_control_characters() -> None:
    message = Message("shop", Cause.NO_CAPACITY, "pöol\x1b[31m" + "x" * 200, "\x1b[2Jnone", Stage.OVER, 1_000)

    assert len(message.subject) == SUBJECT_MAX
    assert message.subject.isascii()
    assert message.subject.startswith("Over: No capacity: p?ol?[31mxxx")
    for text in (message.subject, message.title, message.text, str(message.as_json())):
        assert "\x1b" not in text


def test_each_message_has_an_id_of_its_own_and_keeps_it() -> None:
    one = Message("shop", *KEY, "none", Stage.BEGUN, 1_000)

    assert one.id == replace(one, why="none at all", over_s=9).id, "another try"
    others = (
        replace(one, cluster="bank"),
        replace(one, cause=Cause.DRAIN_STUCK),
        replace(one, about="pool gpu"),
        replace(one, stage=Stage.OVER),
        replace(one, since_s=1_001),
    )
    assert len({one.id, *(each.id for each in others)}) == 6
