"""Who takes over, and why not the others."""

from collections.abc import Callable
from dataclasses import dataclass

from holdfast.failover.group import Member, NoticeKind
from holdfast.failover.roles import Status
from holdfast.failover.rules.rule import Situation


@dataclass(frozen=True, slots=True)
class Choice:
    ready: tuple[Member, ...]
    """The best one first."""
    rejected: tuple[tuple[str, str], ...]
    """Instance and reason."""

    @property
    def best(self) -> Member | None:
        return self.ready[0] if self.ready else None

    def why_not(self) -> str:
        """Each standby that cannot take over, and its reason."""
        return "; ".join(f"{instance_id}: {reason}" for instance_id, reason in self.rejected)


def choose(situation: Situation, unready: Callable[[Member], str], wanted: str = "") -> Choice:
    """The standbys in order.  `wanted` is the only one that an operator allows."""
    ready: list[Member] = []
    rejected: list[tuple[str, str]] = []
    for member in situation.group.having(Status.LAUNCHING, Status.REPLICA):
        other = wanted and member.instance_id != wanted
        reason = f"the switch is to {wanted}" if other else unready(member)
        if reason:
            rejected.append((member.instance_id, reason))
        else:
            ready.append(member)
    return Choice(tuple(sorted(ready, key=lambda each: _rank(situation, each))), tuple(rejected))


def _rank(situation: Situation, member: Member) -> tuple[float, ...]:
    """Priority first; then a member without a notice; then the one that lags least.  Else the eldest."""
    lag_s = situation.of(member).report.lag_s
    return (-member.priority, member.notice is not NoticeKind.NONE, lag_s or 0.0)
