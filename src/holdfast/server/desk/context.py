"""All that an operation may touch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from holdfast.failover.api.codes import Code, Refusal
from holdfast.failover.group import Group, subject_of
from holdfast.failover.ports import GroupStore, Seen
from holdfast.failover.rules.rule import Policy, Situation
from holdfast.failover.tenants import Tenants
from holdfast.kernel import NewId, Versioned
from holdfast.server.calls import Call
from holdfast.server.figures.metrics import Figures
from holdfast.server.tokens import Tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    store: GroupStore
    tenants: Tenants
    tokens: Tokens
    figures: Figures
    policy: Policy
    heartbeat_s: float
    request_timeout_s: float
    look: Callable[[Group], Seen]
    """The rows beside a group that was read before, as the rules see them."""
    now_s: Callable[[], float]
    """The database's time, as this server knows it."""
    new_id: NewId
    missing: Callable[[str, str], Sequence[str]]
    """Members of a client's group that a restored database does not know."""
    behind: Callable[[], str]
    """Why no group may be changed: the database was restored from the past; empty if all is well."""
    changed: Callable[[str, Versioned[Group]], None]
    """Told of every group that an operation has changed: it is driven on, and waiting agents wake."""

    def read(self, client_id: str, agent_id: str) -> Versioned[Group]:
        """Raises Refusal(NOT_FOUND): another client's group is as good as none."""
        found = self.store.read(subject_of(client_id, agent_id))
        if not found.version:
            raise Refusal(Code.NOT_FOUND, f"there is no agent {agent_id!r}")
        return found

    def situation(self, group: Group) -> Situation:
        """A look that was taken after the group was read."""
        return Situation(group, self.look(group), self.now_s(), self.policy)


def group_of(context: Context, call: Call) -> Versioned[Group]:
    """The group that the path names."""
    return context.read(call.client_id, call.path["agent_id"])
