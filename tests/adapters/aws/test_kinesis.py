"""Shards are counted page by page, by token alone; a stream that cannot be counted is named with its fix."""

from typing import Any

import pytest
from botocore.exceptions import ClientError, NoCredentialsError, ReadTimeoutError

from holdfast.adapters.aws.errors import Denied
from holdfast.adapters.aws.kinesis import KinesisShards, NoStream, StreamNotActive
from holdfast.kernel import Busy, Invalid


def shard(n: int, *, ended: bool = False) -> dict[str, Any]:
    range_ = {"StartingSequenceNumber": "1", **({"EndingSequenceNumber": "9"} if ended else {})}
    return {"ShardId": f"shardId-{n:012}", "SequenceNumberRange": range_}


def refusal(code: str) -> ClientError:
    told = {"Error": {"Code": code, "Message": "so"}, "ResponseMetadata": {"HTTPStatusCode": 400}}
    return ClientError(told, "ListShards")  # type: ignore[arg-type]


class Stream:
    """Pages of three shards; a token may have expired a number of times."""

    def __init__(
        self, shards: list[dict[str, Any]], *, expires: int = 0, error: Exception | None = None
    ) -> None:
        self.shards, self.expires, self.error = shards, expires, error
        self.asked = list[dict[str, Any]]()

    def list_shards(self, **asked: Any) -> Any:
        self.asked.append(asked)
        if self.error is not None:
            raise self.error
        if "NextToken" in asked and self.expires:
            self.expires -= 1
            raise refusal("ExpiredNextTokenException")
        start = int(asked.get("NextToken", "0"))
        page: dict[str, Any] = {"Shards": self.shards[start : start + 3]}
        if start + 3 < len(self.shards):
            page["NextToken"] = str(start + 3)
        return page


def count(stream: Any) -> int:
    return KinesisShards(stream, "orders").open_shards()


def test_all_pages_are_counted_and_those_after_the_first_are_asked_for_by_the_token_alone() -> None:
    stream = Stream([shard(n) for n in range(8)])
    assert count(stream) == 8
    assert stream.asked == [
        {"StreamName": "orders", "ShardFilter": {"Type": "AT_LATEST"}},
        {"NextToken": "3"},
        {"NextToken": "6"},
    ]


def test_an_ended_shard_is_not_counted_even_where_the_filter_let_it_through() -> None:
    assert count(Stream([shard(n, ended=n < 4) for n in range(8)])) == 4


def test_a_list_whose_token_expires_is_begun_again() -> None:
    stream = Stream([shard(n) for n in range(8)], expires=2)
    assert count(stream) == 8
    assert [asked for asked in stream.asked if "StreamName" in asked] == [stream.asked[0]] * 3


def test_a_list_that_expires_again_and_again_is_given_up_for_this_time() -> None:
    with pytest.raises(Busy, match="orders: the list expired while it was read, 3 times"):
        count(Stream([shard(n) for n in range(8)], expires=9))


@pytest.mark.parametrize(
    ("code", "raised", "fix"),
    [
        (
            "ResourceNotFoundException",
            NoStream,
            "set stream_name (STREAM_NAME) and region (AWS_REGION) right",
        ),
        ("ResourceInUseException", StreamNotActive, "wait until `aws kinesis describe-stream-summary`"),
        ("AccessDeniedException", Denied, "on stream/orders: kinesis:ListShards"),
        ("ExpiredTokenException", Denied, "renew the credentials"),
        ("LimitExceededException", Busy, "LimitExceededException"),
        ("ExpiredNextTokenException", Invalid, "ExpiredNextTokenException"),
    ],
)
def test_a_refusal_names_the_stream_and_the_fix(code: str, raised: type[Exception], fix: str) -> None:
    with pytest.raises(raised) as refused:
        count(Stream([], error=refusal(code)))
    assert fix in str(refused.value)


def test_no_open_shard_is_a_stream_that_is_not_ready_and_never_a_count() -> None:
    with pytest.raises(StreamNotActive, match="orders has no open shard"):
        count(Stream([]))


def test_a_lost_answer_may_be_asked_for_again_and_missing_credentials_may_not() -> None:
    with pytest.raises(Busy):
        count(Stream([], error=ReadTimeoutError(endpoint_url="http://kinesis")))
    with pytest.raises(Invalid, match="credentials"):
        count(Stream([], error=NoCredentialsError()))
