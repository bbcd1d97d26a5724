"""From the answer of a group's rules to that of an operation."""

from collections.abc import Callable

from holdfast.failover import asks
from holdfast.failover.api.codes import Code, Refusal
from holdfast.failover.group import Group
from holdfast.kernel import Versioned
from holdfast.server.desk.change import Answer, Asked


def asked(result: asks.Asked, answer: Callable[[Versioned[Group]], Answer]) -> Asked:
    """Raises what the rules refuse."""
    if isinstance(result, asks.Refusal):
        raise Refusal(Code[result.code], result.message)
    return Asked(result, answer)
