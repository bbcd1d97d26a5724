"""Every event becomes notices, a problem with its fix, or nothing; and none of them an exception."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.adapters.aws.events import Parsed, notices_of
from holdfast.cloud import Notice, NoticeKind

AT = "2026-01-31T12:00:00Z"
AT_S = 1_769_860_800
ID = "i-0123456789abcdef0"

INTERRUPTION = "EC2 Spot Instance Interruption Warning"
REBALANCE = "EC2 Instance Rebalance Recommendation"
STATE_CHANGE = "EC2 Instance State-change Notification"


def event(kind: str = INTERRUPTION, **changed: Any) -> dict[str, Any]:
    """As EventBridge sends it; a changed field of None is left out."""
    detail = {"instance-id": ID, "instance-action": "terminate", **changed.pop("detail", {})}
    whole = {
        "version": "0",
        "id": "12345678-1234-1234-1234-123456789012",
        "detail-type": kind,
        "source": "aws.ec2",
        "account": "123456789012",
        "time": AT,
        "region": "us-east-1",
        "resources": [f"arn:aws:ec2:us-east-1:123456789012:instance/{ID}"],
        "detail": {name: value for name, value in detail.items() if value is not None},
        **changed,
    }
    return {name: value for name, value in whole.items() if value is not None}


def message(body: object, message_id: str = "m-1") -> dict[str, Any]:
    text = body if isinstance(body, str) else json.dumps(body)
    return {"messageId": message_id, "eventSource": "aws:sqs", "body": text, "receiptHandle": "r"}


def batch(*messages: object) -> dict[str, Any]:
    return {"Records": list(messages)}


def state_change(state: str) -> dict[str, Any]:
    return event(STATE_CHANGE, detail={"state": state, "instance-action": None})


def test_an_interruption_names_its_deadline() -> None:
    assert notices_of(event()) == Parsed((Notice(ID, NoticeKind.INTERRUPTION, AT_S, AT_S + 120),))


def test_a_rebalance_recommendation_is_a_hint_without_one() -> None:
    assert notices_of(event(REBALANCE)).notices == (Notice(ID, NoticeKind.REBALANCE, AT_S),)


@pytest.mark.parametrize("state", ["shutting-down", "terminated", "stopping", "stopped"])
def test_a_machine_that_leaves_is_gone(state: str) -> None:
    assert notices_of(state_change(state)).notices == (Notice(ID, NoticeKind.GONE, AT_S),)


@pytest.mark.parametrize("state", ["pending", "running"])
def test_a_machine_that_comes_is_no_news(state: str) -> None:
    assert notices_of(state_change(state)) == Parsed()


@pytest.mark.parametrize("source", ["aws.events", "aws.scheduler"])
def test_both_schedulers_say_that_it_is_time(source: str) -> None:
    assert notices_of({"source": source, "detail-type": "Scheduled Event"}) == Parsed(scheduled=True)


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        (None, "the event is None, not an object"),
        ([], "the event is [], not an object"),
        ({}, "source is missing"),
        ({"source": "aws.ec2"}, "detail-type is missing"),
        (event("EC2 Fast Launch"), "detail-type is 'EC2 Fast Launch', which is none of Scheduled Event, EC2"),
        (event(source="my.own"), "source is 'my.own', but only 'aws.ec2' speaks of instances"),
        (event(source=7), "source is 7, not a text"),
        (event() | {"detail": None}, "detail is None, not an object"),
        (event() | {"detail": "i-1"}, "detail is 'i-1', not an object"),
        (event(detail={"instance-id": None}), "detail.instance-id is missing"),
        (event(detail={"instance-id": 5}), "detail.instance-id is 5, not a text"),
        (event(detail={"instance-id": "web-1"}), "detail.instance-id is 'web-1', which is no instance id"),
        (event(detail={"instance-id": f"{ID}\n"}), "which is no instance id"),
        (event(time=None), "time is missing"),
        (event(time="yesterday"), "time is 'yesterday', not like 2026-01-31T12:00:00Z"),
        (event(time="2026-01-31T12:00:00"), "time is '2026-01-31T12:00:00', without a time zone"),
        (event(STATE_CHANGE), "detail.state is missing"),
        (state_change("melting"), "detail.state is 'melting', which is none of pending, running"),
        ({"source": "aws.events", "detail-type": "Other"}, "detail-type is 'Other'"),
        ({"Records": "x"}, "Records is 'x', not a list"),
    ],
)
def test_what_cannot_be_understood_is_told_by_field_and_value(said: object, problem: str) -> None:
    parsed = notices_of(said)
    assert not parsed.notices
    assert not parsed.scheduled
    (told,) = parsed.problems
    assert problem in told


def test_a_huge_value_is_told_in_short() -> None:
    (told,) = notices_of(event(time="9" * 100_000)).problems
    assert len(told) < 200


def test_a_batch_is_read_message_by_message_and_a_bad_one_costs_the_others_nothing() -> None:
    other = event(detail={"instance-id": "i-2"})
    parsed = notices_of(batch(message(event()), message("{", "m-2"), message(other, "m-3")))
    assert [notice.instance_id for notice in parsed.notices] == [ID, "i-2"]
    assert parsed.batch
    assert parsed.message_ids == ("m-1", "m-3")
    (told,) = parsed.problems
    assert told.startswith("message 'm-2': body is '{', not JSON")


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (7, "message 0: it is 7, not an object"),
        ({"messageId": "m-1", "body": "{}"}, "message 'm-1': eventSource is None, not 'aws:sqs'"),
        ({"eventSource": "aws:sqs"}, "message 0: body is missing"),
        (message("[1]"), "message 'm-1': the event is [1], not an object"),
        (message("[" * 100_000), "message 'm-1': body is '[["),
        (message({"Records": []}), "message 'm-1': source is missing"),
    ],
)
def test_a_foreign_message_is_told_by_its_id_or_place(record: object, problem: str) -> None:
    (told,) = notices_of(batch(record)).problems
    assert problem in told


def test_copies_of_a_notice_are_one_the_earliest() -> None:
    early, late = event(time="2026-01-31T11:59:59Z"), event()
    for order in ([early, late, late], [late, early]):
        parsed = notices_of(batch(*(message(one, f"m-{n}") for n, one in enumerate(order))))
        assert parsed.notices == (Notice(ID, NoticeKind.INTERRUPTION, AT_S - 1, AT_S + 119),)
        assert len(parsed.message_ids) == len(order), "each copy must be acknowledged"


def test_two_kinds_of_notice_for_one_machine_are_two() -> None:
    parsed = notices_of(batch(message(event(REBALANCE), "m-1"), message(event(), "m-2")))
    assert [notice.kind for notice in parsed.notices] == [NoticeKind.REBALANCE, NoticeKind.INTERRUPTION]


def test_messages_that_brought_no_notice_need_not_come_again() -> None:
    tick = {"source": "aws.events", "detail-type": "Scheduled Event"}
    parsed = notices_of(batch(message(state_change("running"), "m-1"), message(tick, "m-2")))
    assert parsed == Parsed(scheduled=True, batch=True)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["source", "detail-type", "detail", "time", "Records", "body", "instance-id"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)
fields = st.sampled_from(["source", "detail-type", "detail", "time"])


@given(anything)
def test_nothing_that_arrives_is_an_exception(said: object) -> None:
    parsed = notices_of(said)
    assert not parsed.notices
    assert parsed.problems or (isinstance(said, dict) and said.get("Records") == [])


@given(field=fields, value=anything, queued=st.booleans())
def test_no_single_field_can_break_the_reading(field: str, value: object, queued: bool) -> None:
    said = {**event(), field: value}
    parsed = notices_of(
        batch({"messageId": "m", "eventSource": "aws:sqs", "body": value}) if queued else said
    )
    assert len(parsed.notices) + len(parsed.problems) == 1


@given(st.datetimes(), st.timezones())
def test_every_time_with_a_zone_is_understood(when: Any, zone: Any) -> None:
    said = when.replace(tzinfo=zone)
    (notice,) = notices_of(event(time=said.isoformat())).notices or (None,)
    assert notice is not None
    assert notice.deadline_s == notice.at_s + 120


def test_only_a_scheduler_says_that_it_is_time() -> None:
    said = notices_of({"source": "shop.clock", "detail-type": "Scheduled Event"})

    assert not said.scheduled
    assert said.problems


def test_what_is_no_list_is_a_batch_all_the_same() -> None:
    """Its answer goes to a queue, which knows to read one kind only."""
    assert notices_of({"Records": "none"}).batch


def test_one_message_that_says_it_is_time_is_enough() -> None:
    tick = {"source": "aws.events", "detail-type": "Scheduled Event"}

    assert notices_of(batch(message(tick), message(state_change("pending")))).scheduled


@pytest.mark.parametrize("message_id", [None, "", 7, ["m-1"]])
def test_a_message_that_cannot_be_named_is_not_asked_for_again(message_id: object) -> None:
    """A queue that is told a name which it does not know brings the whole batch again."""
    said = notices_of(batch({**message(event()), "messageId": message_id}))

    assert len(said.notices) == 1
    assert said.message_ids == ()
