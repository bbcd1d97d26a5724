"""What a failover server is made of: the rules' policy, and the machines that it may launch."""

import os
import secrets
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.failover.ports import Machines, Term
from holdfast.failover.rules.rule import Policy
from holdfast.failover.settings import Settings
from holdfast.failover.tenants import Tenants, Token, TokenKind, digest
from holdfast.kernel import Invalid

if TYPE_CHECKING:
    from types_boto3_ec2 import EC2Client

    from holdfast.adapters.aws.sqs import NoticeQueue
    from holdfast.app.listening import Listener
    from holdfast.cloud.notices import Notice

ENROLMENT_S = 86_400.0
KEY_BYTES = 32


def policy_of(settings: Settings, template_version: str = "") -> Policy:
    return Policy(
        term=Term(settings.lease_s),
        machines=settings.machines == "ec2",
        pools=settings.pools,
        template_version=template_version,
    )


def machines_of(
    settings: Settings, tenants: Tenants, now_s: Callable[[], float]
) -> tuple[Machines | None, str]:
    """The machines of EC2, if the settings name them, and the version of their launch template."""
    if settings.machines != "ec2":
        return None, ""
    from holdfast.app.failover.machines import Ec2Machines

    def enrol(client_id: str, agent_id: str, replica_id: str, secret: str) -> None:
        tenants.add_token(
            Token(
                token_id=replica_id,
                kind=TokenKind.ENROLMENT,
                digest=digest(secret),
                client_id=client_id,
                agent_id=agent_id,
                created_s=now_s(),
                expires_s=now_s() + ENROLMENT_S,
            )
        )

    key = enrolment_key(Path(settings.enrolment_key_file))
    machines = Ec2Machines(ec2_client(settings), settings, key=key, enrol=enrol, now_s=now_s)
    return machines, machines.prepare()


def listener_of(
    settings: Settings, keep: "Callable[[Sequence[Notice]], Sequence[Notice]]", stop: threading.Event
) -> "Listener | None":
    """What hears EC2's notices, if the settings name their queue."""
    if not settings.notice_queue_url:
        return None
    from holdfast.app.listening import Listener

    return Listener(notice_queue(settings), keep, lambda: None, stop)


def notice_queue(settings: Settings) -> "NoticeQueue":
    from holdfast.adapters.aws.sqs import NoticeQueue, make_client
    from holdfast.app.clients import aws_client

    return NoticeQueue(aws_client(make_client, settings.region, os.environ), settings.notice_queue_url)


def enrolment_key(path: Path) -> bytes:
    """Made once, readable by its owner alone; the same on every server.  Twice is once."""
    try:
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        key = path.read_bytes()
        if len(key) != KEY_BYTES:
            raise Invalid(
                f"enrolment_key_file = {str(path)!r} has {len(key)} bytes, not {KEY_BYTES}"
            ) from None
        return key
    except OSError as error:
        raise Invalid(
            f"enrolment_key_file = {str(path)!r}: {error.strerror}; name a file to write"
        ) from error
    with os.fdopen(made, "wb") as file:
        file.write(key := secrets.token_bytes(KEY_BYTES))
    return key


def ec2_client(settings: Settings) -> "EC2Client":
    from holdfast.adapters.aws.ec2 import make_client
    from holdfast.app.clients import aws_client

    return aws_client(make_client, settings.region, os.environ)
