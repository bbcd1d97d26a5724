"""An operator makes a group, before its first instance enrols."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from holdfast.failover.asks.ask import Asked, Refusal, blind
from holdfast.failover.asks.settings import change_settings
from holdfast.failover.events import FailoverEvent
from holdfast.failover.group import Degraded, Group
from holdfast.failover.rules.rule import Change, Rule
from holdfast.kernel import Write

CREATE = Rule(100, "CREATE", "An operator makes a group: it has no primary until an instance is ready.")


def create(group: Group, changes: Mapping[str, Any], by: str, now_s: float, *, machines: bool) -> Asked:
    """Without machines of the cloud nothing can be terminated: zombies are kept unless asked otherwise."""
    situation = blind(group, now_s)
    if group.created_s:
        return Refusal("INVALID_STATE", f"agent_id: {group.agent_id} is there already (choose another id)")
    settings = replace(group.settings, auto_terminate=machines)
    begun = replace(
        group, settings=settings, created_s=now_s, degraded=Degraded(now_s, "NEW_GROUP", "no primary yet")
    )
    changed = change_settings(begun, changes, by, now_s)
    if isinstance(changed, Refusal):
        return changed
    event = situation.told(FailoverEvent.CREATED, group.subject, f"by {by}")
    return CREATE.stamped(Change(changed.value if isinstance(changed, Write) else begun, (event,)))
