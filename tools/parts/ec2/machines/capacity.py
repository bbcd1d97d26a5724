"""How many more instances each pool hands out.

Nothing is limited until a rule says so.  A rule names a type, a zone and a market, each
or none of them, and the number that is still to be had there; what terminates does not
come back.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tools.parts.ec2.api.errors import AwsError


@dataclass(frozen=True)
class Pool:
    """Where instances come from; None stands for any."""

    instance_type: str | None
    zone: str | None
    market: str | None

    def covers(self, other: "Pool") -> bool:
        pairs = ((self.instance_type, other.instance_type), (self.zone, other.zone))
        return all(mine in (None, theirs) for mine, theirs in (*pairs, (self.market, other.market)))


@dataclass
class Rule:
    left: int
    code: str


@dataclass
class Capacity:
    _rules: dict[Pool, Rule] = field(default_factory=dict)

    def limit(self, pool: Pool, left: int | None, code: str) -> None:
        """Set what is left in a pool; None lifts the limit."""
        if left is None:
            self._rules.pop(pool, None)
        else:
            self._rules[pool] = Rule(left, code)

    def clear(self) -> None:
        self._rules.clear()

    def left(self, pool: Pool, wanted: int) -> int:
        return min([rule.left for rule in self._matching(pool)] + [wanted])

    def roomiest(self, pools: Iterable[Pool], wanted: int) -> Pool:
        """The pool that gives most; the first among equals."""
        return max(pools, key=lambda pool: self.left(pool, wanted))

    def take(self, pool: Pool, at_least: int, at_most: int) -> int:
        """How many of the wanted can be had; raises if it is fewer than the least."""
        count = self.left(pool, at_most)
        if count < at_least:
            raise self._refusal(pool)
        return count

    def spend(self, pool: Pool, count: int) -> None:
        for rule in self._matching(pool):
            rule.left -= count

    def _matching(self, pool: Pool) -> list[Rule]:
        return [rule for covered, rule in self._rules.items() if covered.covers(pool)]

    def _refusal(self, pool: Pool) -> AwsError:
        tightest = min(self._matching(pool), key=lambda rule: rule.left)
        if tightest.code != "InsufficientInstanceCapacity":
            return AwsError(tightest.code, f"No {pool.market} {pool.instance_type} in {pool.zone}.")
        if pool.market == "spot":
            message = "There is no Spot capacity available that matches your request."
        else:
            message = (
                f"We currently do not have sufficient {pool.instance_type} capacity in the "
                f"Availability Zone you requested ({pool.zone})."
            )
        return AwsError(tightest.code, message, 500)
