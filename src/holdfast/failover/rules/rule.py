"""What a rule is asked, and what it may answer."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from holdfast.failover.group import Group, Member
from holdfast.failover.ports import Effect, InstanceSeen, Seen, Term
from holdfast.kernel import Do, Event, Wait, Write

LOOK_AGAIN_S: Final = 1.0
RULE: Final = "rule"
"""The number, in an event, of the rule that told it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What holds for every group that a server drives."""

    term: Term = field(default_factory=lambda: Term(10.0))
    machines: bool = False
    """Whether machines can be launched and terminated at all."""
    pools: tuple[str, ...] = ()
    """Where standbys may be launched, as `<type>.<zone>`."""
    template_version: str = ""
    ready_prior_s: float = 120.0
    """How long a machine takes to be ready, in a pool that was never measured."""
    dead_standby_s: float = 300.0
    """A standby that is silent for so long is replaced."""
    missing_s: float = 300.0
    """A machine that the cloud has not listed for so long is gone; a single look may be too early."""
    look_again_s: float = LOOK_AGAIN_S
    """How long to wait when only the world can change something."""


@dataclass(frozen=True, slots=True)
class Situation:
    """A group as it was read, what was seen after that, and the moment by the database's clock."""

    group: Group
    seen: Seen
    now_s: float
    policy: Policy

    def of(self, member: Member | str) -> InstanceSeen:
        return self.seen.of(member if isinstance(member, str) else member.instance_id)

    def told(self, kind: str, about: str = "", reason: str = "", code: str = "", **numbers: float) -> Event:
        return Event(kind, self.now_s, about, reason, numbers, code)

    def again(self, why: str) -> Wait:
        return Wait(self.now_s + self.policy.look_again_s, why)


@dataclass(frozen=True, slots=True)
class Change:
    """What the group becomes, and the events that tell it."""

    group: Group
    events: tuple[Event, ...]


Answer = Change | Do[Effect] | Wait | None
"""None: it has nothing to say.  A Wait does not end the search: a later rule may have something to do."""


@dataclass(frozen=True, slots=True)
class Rule:
    number: int
    code: str
    """Stands in the events, unless one has a code of its own."""
    says: str
    """For people: when it holds, and what it does."""
    decide: Callable[[Situation], Answer] = field(compare=False, default=lambda situation: None)

    def stamped(self, change: Change) -> Write[Group]:
        """The write, with the rule's number and code and the group's epoch in every event."""
        events = tuple(
            replace(
                event,
                numbers={**event.numbers, RULE: self.number, "epoch": change.group.epoch},
                code=event.code or self.code,
            )
            for event in change.events
        )
        return Write(change.group, events)
