"""Ending what is due now: the same rules that the servers follow by themselves, told to the operator."""

from typing import Any

from holdfast.failover.group import Group
from holdfast.failover.roles import Status
from holdfast.failover.rules.rule import Situation
from holdfast.server.calls import Call
from holdfast.server.desk.context import Context


def sweep(context: Context, call: Call) -> object:
    due: list[dict[str, Any]] = []
    zombies = terminating = 0
    for agent_id in context.tenants.agents(call.client_id):
        found = context.read(call.client_id, agent_id)
        situation = context.situation(found.value)
        zombies += sum(1 for _ in found.value.having(Status.ZOMBIE))
        terminating += sum(1 for _ in found.value.having(Status.TERMINATING))
        own = _due(situation, found.value)
        due += own
        if own and not call.body.dry_run:
            context.changed(found.value.subject, found)
    return {"due": due, "zombies": zombies, "terminating": terminating, "dry_run": call.body.dry_run}


def _due(situation: Situation, group: Group) -> list[dict[str, Any]]:
    kept_s = group.settings.zombie_retention_s
    rows = [
        (zombie, f"kept for {kept_s / 86_400:g} days")
        for zombie in group.having(Status.ZOMBIE)
        if situation.now_s >= (zombie.demoted_at_s or zombie.since_s) + kept_s
    ]
    rows += [
        (condemned, "its time to be terminated has come")
        for condemned in group.having(Status.TERMINATING)
        if situation.now_s >= condemned.terminate_at_s
    ]
    return [
        {"agent_id": group.agent_id, "instance_id": member.instance_id, "reason": reason}
        for member, reason in rows
    ]
