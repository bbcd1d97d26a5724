"""Clients: one attempt a call, because a retry inside the client hides what happened to the first try.

botocore retries DynamoDB ten times by default.  If the answer to a guarded write is lost, its second
attempt meets our own first one and reports a failed condition.

They come from botocore itself.  boto3 would make the same ones, and load its resources and file transfers
first, which is a tenth of a function's cold start.
"""

import os
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from botocore.session import Session

CONNECT_TIMEOUT_S: Final = 3
READ_TIMEOUT_S: Final = 20
"""A launch of many takes longer than a write to a table."""
SERVICES: Final = ["cloudwatch", "dynamodb", "ec2", "kinesis", "pricing", "sns", "sqs", "ssm", "sts"]
"""All that may be asked: add one here before its first client is made."""


def make_client(
    service: str,
    *,
    endpoint_url: str | None = None,
    region: str | None = None,
    read_timeout_s: float = READ_TIMEOUT_S,
    connect_timeout_s: float = CONNECT_TIMEOUT_S,
) -> Any:
    """A low-level client of a service that tries each call once."""
    from botocore.config import Config

    config = Config(
        retries={"total_max_attempts": 1, "mode": "standard"},
        connect_timeout=connect_timeout_s,
        read_timeout=read_timeout_s,
    )
    return _session().create_client(
        service, endpoint_url=endpoint_url, region_name=region or None, config=config
    )


@cache
def _session() -> "Session":
    """One for all clients of a process: the environment and AWS's files are read once."""
    from botocore.loaders import Loader
    from botocore.session import get_session

    class NamedServices(Loader):
        """Finds a service by its name.  botocore's own lists the folders of all four hundred first."""

        def list_available_services(self, type_name: str) -> list[str]:
            return SERVICES

    session = get_session()
    extra = (session.get_config_variable("data_path") or "").split(os.pathsep)
    loader = NamedServices([os.path.expanduser(path) for path in extra if path])
    session.register_component("data_loader", loader)
    return session
