"""What every inbox promises: a notice is kept once, seen at once, and taken out once."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from holdfast.adapters.aws.dynamodb.inbox import AT_ONCE, KEPT_S, TRIES, DynamoInbox
from holdfast.adapters.aws.dynamodb.tables import ensure_table
from holdfast.adapters.clock import new_id
from holdfast.adapters.sql.sqlite import Database
from holdfast.adapters.sql.sqlite.inbox import SqliteInbox
from holdfast.autoscaler.ports import Inbox
from holdfast.cloud import Notice, NoticeKind
from holdfast.kernel import Busy, Corrupt, Invalid, Unknown
from holdfast.sim.inbox import MemoryInbox
from tests.adapters.contract.trials import side_by_side
from tests.ministack import client_for

NOW_S = 1_000_000
GOING = Notice("i-1", NoticeKind.INTERRUPTION, NOW_S, NOW_S + 120)
HINT = Notice("i-1", NoticeKind.REBALANCE, NOW_S)
OTHER = Notice("i-2", NoticeKind.INTERRUPTION, NOW_S + 5, NOW_S + 125)


def table_for(client: Any) -> str:
    name = f"inbox-{new_id()[:8]}"
    ensure_table(client, name, "pk", "sk", expiry="expiresEpoch")
    return name


@pytest.fixture(params=["memory", "sqlite", "dynamodb"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Inbox, Inbox]]:
    """Two clients of one inbox."""
    if request.param == "memory":
        inbox = MemoryInbox()
        yield inbox, inbox
    elif request.param == "sqlite":
        files = [Database(str(tmp_path / "state.db"), now_s=lambda: NOW_S) for _ in range(2)]
        yield SqliteInbox(files[0]), SqliteInbox(files[1])
        for file in files:
            file.close()
    else:
        clients = [client_for(request.getfixturevalue("dynamodb_endpoint")) for _ in range(2)]
        table = table_for(clients[0])
        yield DynamoInbox(clients[0], table), DynamoInbox(clients[1], table)


def test_what_one_client_puts_the_other_sees_at_once(pair: tuple[Inbox, Inbox]) -> None:
    mine, yours = pair
    assert list(yours.waiting()) == []
    mine.put([GOING, OTHER])
    assert sorted(yours.waiting()) == [GOING, OTHER]
    assert sorted(yours.waiting()) == [GOING, OTHER], "looking takes nothing out"


def test_twice_is_once_and_the_first_copy_counts(pair: tuple[Inbox, Inbox]) -> None:
    mine, yours = pair
    late = Notice(GOING.instance_id, GOING.kind, GOING.at_s + 60, GOING.deadline_s + 60)
    mine.put([GOING, late])
    yours.put([late])
    assert list(mine.waiting()) == [GOING]


def test_a_hint_and_a_warning_for_one_machine_are_two_notices(pair: tuple[Inbox, Inbox]) -> None:
    mine, _ = pair
    mine.put([HINT, GOING])
    assert sorted(mine.waiting()) == sorted([HINT, GOING])
    mine.forget([HINT.key])
    assert list(mine.waiting()) == [GOING]


def test_forgetting_twice_or_what_never_was_is_fine(pair: tuple[Inbox, Inbox]) -> None:
    mine, yours = pair
    mine.put([GOING, OTHER])
    mine.forget([GOING.key, GOING.key, "i-9#gone"])
    yours.forget([GOING.key])
    yours.forget([])
    assert list(mine.waiting()) == [OTHER]


def test_a_copy_that_comes_after_forgetting_is_there_again(pair: tuple[Inbox, Inbox]) -> None:
    mine, yours = pair
    mine.put([GOING])
    mine.forget([GOING.key])
    yours.put([GOING])
    assert list(mine.waiting()) == [GOING]


def test_putting_nothing_is_fine(pair: tuple[Inbox, Inbox]) -> None:
    mine, _ = pair
    mine.put([])
    assert list(mine.waiting()) == []


def test_hundreds_fit_and_go_again(pair: tuple[Inbox, Inbox]) -> None:
    mine, yours = pair
    many = [Notice(f"i-{n:04}", NoticeKind.INTERRUPTION, NOW_S, NOW_S + 120) for n in range(3 * AT_ONCE + 1)]
    mine.put(many)
    assert sorted(yours.waiting()) == many
    yours.forget([each.key for each in many[1:]])
    assert list(mine.waiting()) == many[:1]


def test_two_clients_that_put_the_same_at_once_leave_one(pair: tuple[Inbox, Inbox]) -> None:
    mine, yours = pair
    many = [Notice(f"i-{n}", NoticeKind.GONE, NOW_S) for n in range(10)]
    answers = side_by_side([lambda: mine.put(many), lambda: yours.put(many[::-1])])
    assert list(answers) == [None, None]
    assert sorted(mine.waiting()) == many


def test_a_notice_that_no_tick_folded_in_for_a_day_leaves_the_file(tmp_path: Path) -> None:
    now = [float(NOW_S)]
    database = Database(str(tmp_path / "state.db"), now_s=lambda: now[0])
    inbox = SqliteInbox(database)
    inbox.put([GOING])
    now[0] += KEPT_S
    inbox.put([OTHER])
    assert sorted(inbox.waiting()) == [GOING, OTHER], "a day is a day"
    now[0] += 1
    inbox.put([OTHER])
    assert list(inbox.waiting()) == [OTHER]
    database.close()


def test_a_kind_that_only_a_newer_release_knows_is_left_for_it(tmp_path: Path) -> None:
    database = Database(str(tmp_path / "state.db"), now_s=lambda: NOW_S)
    with database.transaction() as db:
        db.execute("INSERT INTO notices VALUES ('i-3#moved', 'i-3', 'moved', ?, 0)", (NOW_S,))
    inbox = SqliteInbox(database)
    inbox.put([GOING])
    assert list(inbox.waiting()) == [GOING]
    database.close()


class OnDynamo:
    def __init__(self, endpoint: str) -> None:
        self.client = client_for(endpoint)
        self.table = table_for(self.client)
        self.slept: list[float] = []
        self.inbox = DynamoInbox(self.client, self.table, sleep=self.slept.append)

    def plant(self, **attributes: dict[str, Any]) -> None:
        self.client.put_item(TableName=self.table, Item={"pk": {"S": "notice"}, **attributes})

    def answer(self, operation: str, answer: Any) -> None:
        """From now on the operation is answered with this, or raises it, and nothing is sent."""

        def instead(**_: Any) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

        self.client.meta.events.register(f"before-call.dynamodb.{operation}", instead)


@pytest.fixture
def dynamo(dynamodb_endpoint: str) -> OnDynamo:
    return OnDynamo(dynamodb_endpoint)


def http(status: int = 200) -> Any:
    return type("Http", (), {"status_code": status, "headers": {}})()


def refused(code: str, status: int = 400) -> Any:
    return http(status), {"Error": {"Code": code, "Message": "why"}}


def test_a_row_expires_a_day_after_its_notice(dynamo: OnDynamo) -> None:
    dynamo.inbox.put([GOING])
    (row,) = dynamo.client.scan(TableName=dynamo.table)["Items"]
    assert row == {
        "pk": {"S": "notice"},
        "sk": {"S": "i-1#interruption"},
        "instanceId": {"S": "i-1"},
        "kind": {"S": "interruption"},
        "atEpoch": {"N": str(NOW_S)},
        "deadlineEpoch": {"N": str(NOW_S + 120)},
        "expiresEpoch": {"N": str(NOW_S + KEPT_S)},
    }


def test_all_pages_are_read_and_strongly_consistent(dynamo: OnDynamo) -> None:
    many = [Notice(f"i-{n}", NoticeKind.GONE, NOW_S) for n in range(5)]
    dynamo.inbox.put(many)
    asked: list[dict[str, Any]] = []

    def two_at_a_time(params: dict[str, Any], **_: Any) -> dict[str, Any]:
        asked.append(params)
        return {**params, "Limit": 2}

    dynamo.client.meta.events.register("provide-client-params.dynamodb.Query", two_at_a_time)
    assert list(dynamo.inbox.waiting()) == many
    assert len(asked) >= 3
    assert all(each["ConsistentRead"] is True for each in asked)


def test_what_dynamodb_hands_back_is_deleted_again(dynamo: OnDynamo) -> None:
    many = [Notice(f"i-{n}", NoticeKind.GONE, NOW_S) for n in range(3)]
    dynamo.inbox.put(many)

    def half(parsed: dict[str, Any], **_: Any) -> None:
        if len(dynamo.slept) < 2:
            delete = {"DeleteRequest": {"Key": {"pk": {"S": "notice"}, "sk": {"S": many[0].key}}}}
            dynamo.client.put_item(
                TableName=dynamo.table,
                Item={**delete["DeleteRequest"]["Key"], "kind": {"S": "gone"}, "instanceId": {"S": "i-0"},
                      "atEpoch": {"N": str(NOW_S)}, "deadlineEpoch": {"N": "0"}},
            )  # fmt: skip
            parsed["UnprocessedItems"] = {dynamo.table: [delete]}

    dynamo.client.meta.events.register("after-call.dynamodb.BatchWriteItem", half)
    dynamo.inbox.forget([each.key for each in many])
    assert list(dynamo.inbox.waiting()) == []
    assert dynamo.slept == sorted(dynamo.slept)
    assert len(dynamo.slept) == 2


def test_what_is_handed_back_for_ever_is_busy(dynamo: OnDynamo) -> None:
    dynamo.inbox.put([GOING])

    def never(parsed: dict[str, Any], **_: Any) -> None:
        delete = {"DeleteRequest": {"Key": {"pk": {"S": "notice"}, "sk": {"S": GOING.key}}}}
        parsed["UnprocessedItems"] = {dynamo.table: [delete]}

    dynamo.client.meta.events.register("after-call.dynamodb.BatchWriteItem", never)
    with pytest.raises(Busy, match="1 notices are still there"):
        dynamo.inbox.forget([GOING.key])
    assert len(dynamo.slept) == TRIES - 1, "after the last try it does not wait"


@pytest.mark.parametrize(
    ("answer", "meaning"),
    [
        (refused("ThrottlingException"), Busy),
        (refused("ResourceNotFoundException"), Invalid),
        (refused("InternalServerError", 500), Unknown),
        (ReadTimeoutError(endpoint_url="it"), Unknown),
    ],
    ids=["throttled", "no table", "internal", "lost"],
)
def test_refusals_are_told_apart(dynamo: OnDynamo, answer: Any, meaning: type[Exception]) -> None:
    for operation in ("PutItem", "Query", "BatchWriteItem"):
        dynamo.answer(operation, answer)
    calls: list[Callable[[], object]] = [
        lambda: dynamo.inbox.put([GOING]),
        dynamo.inbox.waiting,
        lambda: dynamo.inbox.forget(["a"]),
    ]
    for call in calls:
        with pytest.raises(meaning):
            call()


def test_a_row_without_its_fields_is_named(dynamo: OnDynamo) -> None:
    dynamo.plant(sk={"S": "i-4#gone"}, kind={"S": "gone"}, atEpoch={"N": "1"}, deadlineEpoch={"N": "0"})
    with pytest.raises(Corrupt, match=r"i-4#gone.*instanceId"):
        dynamo.inbox.waiting()


def test_a_row_of_a_kind_that_only_a_newer_release_knows_is_left_for_it(dynamo: OnDynamo) -> None:
    dynamo.plant(sk={"S": "i-4#moved"}, kind={"S": "moved"})
    dynamo.inbox.put([GOING])
    assert list(dynamo.inbox.waiting()) == [GOING]
