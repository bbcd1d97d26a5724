"""What operators may look at."""

from typing import Any

from holdfast.failover.api.codes import Code, Refusal
from holdfast.failover.group import Group
from holdfast.failover.roles import Status
from holdfast.failover.workflow import step
from holdfast.kernel import Do, Done, Versioned, Wait
from holdfast.server.calls import Call
from holdfast.server.desk.context import Context, group_of
from holdfast.server.desk.views import event_view, group_view, instance_view, member_view, replica_view

HISTORY_MAX, WHY_SPAN = 1_000, 200
SOON_S = 600.0
"""What a group waits for longer than this is no news: a zombie that is kept for a month."""
STARTS = frozenset({"revoked", "epochBegun", "switchAsked", "created", "recovering"})


def agents(context: Context, call: Call) -> object:
    return [
        shown(context, context.read(call.client_id, agent_id))
        for agent_id in context.tenants.agents(call.client_id)
    ]


def agent(context: Context, call: Call) -> object:
    return shown(context, group_of(context, call))


def shown(context: Context, found: Versioned[Group]) -> dict[str, Any]:
    situation = context.situation(found.value)
    ahead = step(situation)
    match ahead:
        case Wait(until_s=until_s, why=why):
            waits_for = why if until_s - situation.now_s < SOON_S else ""
        case Done():
            waits_for = ""
        case Do(effects=effects):
            waits_for = ", ".join(type(effect).__name__.lower() for effect in effects)
        case write:
            waits_for = write.events[0].reason or write.events[0].kind
    unknown = context.missing(found.value.client_id, found.value.agent_id)
    return {**group_view(found, situation, waits_for), "unknown_members": list(unknown)}


def primary(context: Context, call: Call) -> object:
    """Raises Refusal(INVALID_STATE) while there is none, with the reason."""
    found = group_of(context, call)
    group = found.value
    member = next(group.having(Status.PRIMARY, Status.PROMOTING), None)
    if member is None:
        degraded = group.degraded
        raise Refusal(
            Code.INVALID_STATE, f"there is no primary: {degraded.reason if degraded else 'a takeover runs'}"
        )
    return {"id": member.instance_id, "epoch": group.epoch, **member_view(context.situation(group), member)}


def instances(context: Context, call: Call) -> object:
    group = group_of(context, call).value
    return [instance_view(row) for row in context.tenants.instances(call.client_id, group.agent_id)]


def instance(context: Context, call: Call) -> object:
    row = context.tenants.instance(call.client_id, call.path["instance_id"])
    if row is None:
        raise Refusal(Code.NOT_FOUND, f"there is no instance {call.path['instance_id']!r}")
    return instance_view(row)


def replicas(context: Context, call: Call) -> object:
    """The standbys, and the launches that are to become some."""
    found = group_of(context, call)
    situation = context.situation(found.value)
    standbys = [member_view(situation, each) for each in found.value.having(Status.LAUNCHING, Status.REPLICA)]
    return {"standbys": standbys, "launches": [replica_view(each) for each in found.value.replicas]}


def history(context: Context, call: Call) -> object:
    found = group_of(context, call)
    limit = min(call.query["limit"], HISTORY_MAX)
    events = context.store.events(found.value.subject, call.query["after"])
    return [event_view(logged) for logged in events[max(0, len(events) - limit) :]]


def why(context: Context, call: Call) -> object:
    """The events since the last change of roles began, and what the group waits for now."""
    found = group_of(context, call)
    recent = context.store.events(found.value.subject, max(0, found.version - WHY_SPAN))
    begins = max((n for n, logged in enumerate(recent) if logged.event.kind in STARTS), default=0)
    steps = [event_view(logged) for logged in recent[begins:]]
    view = shown(context, found)
    told = f"{view['primary']} is the primary of {view['agent_id']}" if view["primary"] else (
        f"{view['agent_id']} has no primary"
    )  # fmt: skip
    return {"told": f"{told}, epoch {view['epoch']}.", "steps": steps, "next": view["next"]}
