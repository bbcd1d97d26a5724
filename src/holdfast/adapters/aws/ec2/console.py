"""What a machine printed while it booted, with its secrets masked."""

import re
from typing import TYPE_CHECKING, Final

from holdfast.adapters.aws.errors import Rejected, translate_errors
from holdfast.cloud.text import plain

if TYPE_CHECKING:
    from types_boto3_ec2 import EC2Client

GET: Final = "ec2:GetConsoleOutput"
KEPT: Final = 2_048
MASK: Final = "********"
SECRETS: Final = (
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    re.compile(r"\A(?:(?!-----BEGIN).)*?-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL),
    re.compile(r"\bK10[0-9a-f]{64}::\S+"),
    re.compile(r"\beyJ[\w-]+\.[\w-]+\.[\w-]*"),
    re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),
)
"""Private keys, even with their beginning or end cut off; tokens of k3s; signed tokens; key ids."""
NAMED: Final = r"(?:token|secret|password|passwd|credential|access[_-]?key)s?"
ASSIGNED: Final = re.compile(
    rf"(?P<name>(?:{NAMED}[\"']?\s*[:=]\s*|--[\w-]{{0,40}}{NAMED}\s+|\b(?:Bearer|Basic)\s+))"
    r"(?P<value>\"[^\"]*\"|'[^']*'|(?:(?:Bearer|Basic)\s+)?[^\s\"']+)",
    re.IGNORECASE,
)
"""`K3S_TOKEN=…`, `--token …`, `password: …`, `Bearer …`.  Rather a word too many than one too few."""


def end_of_console(client: "EC2Client", instance_id: str) -> str:
    """The last lines, decoded and masked; empty if there are none, or the machine is not known."""
    try:
        return plain(masked(_output(client, instance_id)))[-KEPT:]
    except Rejected as error:
        if error.code.startswith("InvalidInstanceID"):
            return ""
        raise


def masked(text: str) -> str:
    for secret in SECRETS:
        text = secret.sub(MASK, text)
    return ASSIGNED.sub(rf"\g<name>{MASK}", text)


def _output(client: "EC2Client", instance_id: str) -> str:
    """The newest that there is; older machines keep only what they printed when they first booted."""
    try:
        with translate_errors(GET, changes=False):
            return client.get_console_output(InstanceId=instance_id, Latest=True).get("Output", "")
    except Rejected as error:
        if not error.code.startswith(("Unsupported", "InvalidParameter")):
            raise
    with translate_errors(GET, changes=False):
        return client.get_console_output(InstanceId=instance_id).get("Output", "")
