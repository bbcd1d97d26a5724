"""What an ask may answer."""

from dataclasses import dataclass

from holdfast.failover.group import Group
from holdfast.failover.ports import Seen
from holdfast.failover.rules.rule import Policy, Situation
from holdfast.kernel import Write


@dataclass(frozen=True, slots=True)
class Refusal:
    """Nothing was changed: a stable code, and what is wrong and how to mend it."""

    code: str
    message: str


Asked = Write[Group] | Refusal | None


def blind(group: Group, now_s: float) -> Situation:
    """For asks that need no look at the world."""
    return Situation(group, Seen(), now_s, Policy())
