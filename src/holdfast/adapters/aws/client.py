"""Clients: one attempt a call, because a retry inside the client hides what happened to the first try.

botocore retries DynamoDB ten times by default.  If the answer to a guarded write is lost, its second
attempt meets our own first one and reports a failed condition.
"""

from typing import Any, Final

CONNECT_TIMEOUT_S: Final = 3
READ_TIMEOUT_S: Final = 20
"""A launch of many takes longer than a write to a table."""


def make_client(
    service: str,
    *,
    endpoint_url: str | None = None,
    region: str | None = None,
    read_timeout_s: float = READ_TIMEOUT_S,
) -> Any:
    """A low-level client of a service that tries each call once."""
    import boto3
    from botocore.config import Config

    config = Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=read_timeout_s,
    )
    make: Any = boto3.client  # its type knows only services that are named in so many words
    return make(service, endpoint_url=endpoint_url, region_name=region or None, config=config)
