"""The open shards of a stream: `holdfast.leases.ports.ShardCount`."""

from typing import TYPE_CHECKING, Any, Final

from holdfast.adapters.aws import client as aws
from holdfast.adapters.aws.errors import GRANT, Codes, Denied, Rejected, translate_errors
from holdfast.kernel import Busy, Invalid

if TYPE_CHECKING:
    from types_boto3_kinesis import KinesisClient

LIST: Final = "kinesis:ListShards"
CALLS: Final = (LIST,)
"""It can be granted for one stream.  `DescribeStreamSummary` would do for a count, and is limited to twenty
a second for a whole account."""
CODES: Final = Codes(not_done=frozenset({"LimitExceededException", "ProvisionedThroughputExceededException"}))
READ_TIMEOUT_S: Final = 10.0
BEING_MADE: Final = (
    "it is still being made, or being deleted: wait until `aws kinesis describe-stream-summary` says ACTIVE"
)
TRIES_MAX: Final = 3
"""A list whose token expires while it is read is begun anew so often."""


class NoStream(Invalid):
    """There is no such stream in this region and account."""


class StreamNotActive(Invalid):
    """The stream is still being made, or is being deleted."""


class _Expired(Exception):
    """The token of the next page was good for five minutes, and they are over."""


def make_client(*, endpoint_url: str | None = None, region: str | None = None) -> "KinesisClient":
    """A client that shows every refusal instead of trying again."""
    made: KinesisClient = aws.make_client(
        "kinesis", endpoint_url=endpoint_url, region=region, read_timeout_s=READ_TIMEOUT_S
    )
    return made


class KinesisShards:
    """Counts one stream's open shards, page by page."""

    def __init__(self, client: "KinesisClient", stream_name: str) -> None:
        self._client, self._stream_name = client, stream_name

    def open_shards(self) -> int:
        for _ in range(TRIES_MAX):
            try:
                found = self._count()
            except _Expired:
                continue
            if not found:
                raise StreamNotActive(f"{LIST}: stream {self._stream_name} has no open shard: {BEING_MADE}")
            return found
        raise Busy(f"{LIST}: {self._stream_name}: the list expired while it was read, {TRIES_MAX} times")

    def _count(self) -> int:
        """A page after the first is asked for by its token alone: the service refuses anything beside it."""
        found, asked = 0, self._first()
        while True:
            page = self._page(asked)
            # The filter leaves ended shards out of the first page; a stand-in may forget it on the next.
            found += sum("EndingSequenceNumber" not in s["SequenceNumberRange"] for s in page["Shards"])
            if not page.get("NextToken"):
                return found
            asked = {"NextToken": page["NextToken"]}

    def _first(self) -> dict[str, Any]:
        return {"StreamName": self._stream_name, "ShardFilter": {"Type": "AT_LATEST"}}

    def _page(self, asked: dict[str, Any]) -> Any:
        try:
            with translate_errors(LIST, changes=False, codes=CODES):
                return self._client.list_shards(**asked)
        except Rejected as error:
            raise self._meant(error, paged="NextToken" in asked) from error
        except Denied as error:
            fix = f"{GRANT} on stream/{self._stream_name}: {LIST}" if error.is_missing_grant else error.fix
            raise Denied(LIST, f"{self._stream_name}: {error.message}", fix) from error

    def _meant(self, error: Rejected, *, paged: bool) -> Exception:
        name = self._stream_name
        if paged and error.code == "ExpiredNextTokenException":
            return _Expired(error.message)
        if error.code == "ResourceNotFoundException":
            fix = "set stream_name (STREAM_NAME) and region (AWS_REGION) right, or create the stream"
            return NoStream(f"{LIST}: there is no stream {name} in this region: {fix}")
        if error.code == "ResourceInUseException":
            return StreamNotActive(f"{LIST}: stream {name} is not active: {BEING_MADE}")
        return error
