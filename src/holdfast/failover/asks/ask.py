"""What an ask may answer."""

from dataclasses import dataclass

from holdfast.failover.group import Group
from holdfast.failover.ports import Seen
from holdfast.failover.rules.rule import Policy, Situation
from holdfast.failover.rules.vacancy import silence_left_s
from holdfast.kernel import Write


@dataclass(frozen=True, slots=True)
class Refusal:
    """Nothing was changed: a stable code, and what is wrong and how to mend it."""

    code: str
    message: str


Asked = Write[Group] | Refusal | None


def silence_first(situation: Situation) -> Refusal | None:
    """While a database from the past is recovered, no operator's word is quicker than the leases it lost."""
    left_s = silence_left_s(situation)
    if left_s <= 0:
        return None
    return Refusal("INVALID_STATE", f"one lease time of silence comes first: wait {left_s:.1f} s more")


def blind(group: Group, now_s: float) -> Situation:
    """For asks that need no look at the world."""
    return Situation(group, Seen(), now_s, Policy())
