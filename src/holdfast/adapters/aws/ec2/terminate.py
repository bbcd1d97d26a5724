"""TerminateInstances: one call for many, and the many not held up by one."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from holdfast.adapters.aws.errors import Denied, Rejected, translate_errors
from holdfast.cloud.launches import Termination

if TYPE_CHECKING:
    from types_boto3_ec2 import EC2Client

TERMINATE: Final = "ec2:TerminateInstances"
AT_ONCE: Final = 500
UNKNOWN_ID: Final = ("InvalidInstanceID.NotFound", "InvalidInstanceID.Malformed")
PROTECTED: Final = "OperationNotPermitted"
INSTANCE: Final = re.compile(r"\bi-[0-9a-z]+\b")


def terminate(client: "EC2Client", instance_ids: Sequence[str]) -> dict[str, Termination]:
    """By id, what EC2 said.  EC2 refuses a whole call for one id that it does not know, does
    not let us terminate, or protects: then the others are asked for without it.

    Raises Denied if every single one was denied, and Busy or Unknown as soon as one call says so.
    """
    wanted = list(dict.fromkeys(instance_ids))
    said, denied = dict.fromkeys(wanted, Termination.NOT_KNOWN), list[Denied]()
    waiting = [wanted[n : n + AT_ONCE] for n in range(0, len(wanted), AT_ONCE)]
    while waiting:
        some = waiting.pop()
        try:
            said |= dict.fromkeys(_terminate(client, some), Termination.ACCEPTED)
        except Denied as error:
            if len(some) == 1:
                denied.append(error)
                said[some[0]] = Termination.DENIED
            waiting += _halves(some)
        except Rejected as error:
            if error.code not in (*UNKNOWN_ID, PROTECTED):
                raise
            named = set(INSTANCE.findall(error.message)) & set(some)
            if error.code == PROTECTED:
                said |= dict.fromkeys(named or (some if len(some) == 1 else ()), Termination.PROTECTED)
            rest = [each for each in some if each not in named]
            waiting += [part for part in ([rest] if named else _halves(some)) if part]
    if denied and set(said.values()) == {Termination.DENIED}:
        raise denied[0]
    return said


def _terminate(client: "EC2Client", some: Sequence[str]) -> list[str]:
    with translate_errors(TERMINATE, changes=True):
        answer = client.terminate_instances(InstanceIds=list(some))
    return [each["InstanceId"] for each in answer["TerminatingInstances"]]


def _halves(some: list[str]) -> list[list[str]]:
    middle = len(some) // 2
    return [some[:middle], some[middle:]] if middle else []
