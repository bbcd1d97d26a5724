"""What operators ask for: another primary, other settings, a pause."""

from collections.abc import Mapping
from typing import Any

from holdfast.failover import asks
from holdfast.failover.api import wire
from holdfast.failover.api.codes import Code, Refusal
from holdfast.failover.asks.create import create
from holdfast.failover.asks.recover import recover as recover_ask
from holdfast.failover.group import Group, Mode
from holdfast.failover.roles import Status
from holdfast.failover.rules.choose import Choice, choose
from holdfast.failover.rules.rule import Situation
from holdfast.failover.rules.standby import unready
from holdfast.kernel import Versioned
from holdfast.server.calls import Call
from holdfast.server.desk.asking import asked
from holdfast.server.desk.change import Asked, change
from holdfast.server.desk.context import Context
from holdfast.server.desk.views import DAY_S, settings_view

NAMES: Mapping[str, str] = {
    "auto_switch_enabled": "auto_switch",
    "manual_replica_enabled": "manual_replica",
    "auto_terminate_enabled": "auto_terminate",
    "terminate_wait_seconds": "terminate_wait_s",
}
"""Settings whose name on the wire is the designs' own."""


def by(call: Call) -> str:
    """Who asked, for the history: the token's id, which opens nothing."""
    return f"operator {call.principal.token.token_id}"


def new_agent(context: Context, call: Call) -> object:
    def ask(situation: Situation, found: Versioned[Group]) -> Asked:
        changes = changes_of(call.body.settings)
        made = create(situation.group, changes, by(call), situation.now_s, machines=context.policy.machines)
        return asked(
            made,
            lambda after: {"agent_id": after.value.agent_id, "settings": settings_view(after.value.settings)},
        )

    return change(context, call, call.body.agent_id, ask, may_be_new=True)


def settings(context: Context, call: Call) -> object:
    changes = changes_of(call.body)
    return change(
        context,
        call,
        call.path["agent_id"],
        lambda situation, found: asked(
            asks.change_settings(situation.group, changes, by(call), situation.now_s),
            lambda after: settings_view(after.value.settings),
        ),
    )


def changes_of(body: wire.Settings) -> dict[str, Any]:
    """What was given, by the names of the group's settings."""
    names = wire.Settings.__struct_fields__
    given = {name: value for name in names if (value := getattr(body, name)) is not None}
    if "zombie_retention_days" in given:
        given["zombie_retention_s"] = given.pop("zombie_retention_days") * DAY_S
    if "mode" in given:
        given["mode"] = Mode(given["mode"])
    return {NAMES.get(name, name): value for name, value in given.items()}


def switch(context: Context, call: Call) -> object:
    body = call.body

    def ask(situation: Situation, found: Versioned[Group]) -> Asked:
        choice = choose(
            situation,
            lambda member: unready(situation, member, accept_data_loss=body.accept_data_loss),
            body.to or "",
        )
        wanted = asks.SwitchTo(wanted=body.to or "", by=by(call), accept_data_loss=body.accept_data_loss)
        result = asked(asks.switch(situation, wanted), lambda after: _asked_view(found, choice, body.dry_run))
        if not choice.ready and not context.policy.machines:
            why = choice.why_not() or "there is no standby"
            raise Refusal(Code.PROMOTION_FAILED, why, {"rejected": _rejected(choice)})
        return Asked(None, result.answer) if body.dry_run else result

    return change(context, call, call.path["agent_id"], ask)


def promote(context: Context, call: Call) -> object:
    """By the id of a launch intent or of an instance."""
    replica_id, body = call.path["replica_id"], call.body
    agent_id = context.tenants.agent_of_replica(call.client_id, replica_id)
    if agent_id is None:
        raise Refusal(Code.NOT_FOUND, f"there is no replica {replica_id!r}")

    def ask(situation: Situation, found: Versioned[Group]) -> Asked:
        group = situation.group
        named = {"instance_id": replica_id} if group.member(replica_id) else {"replica_id": replica_id}
        wanted = asks.Promote(
            **named, by=by(call), emergency=body.emergency, accept_data_loss=body.accept_data_loss
        )
        replica = group.replica(replica_id)
        chosen = group.member(replica.instance_id if replica else replica_id)
        choice = Choice((chosen,) if chosen else (), ())
        result = asked(
            asks.promote(situation, wanted), lambda after: _asked_view(found, choice, body.dry_run)
        )
        return Asked(None, result.answer) if body.dry_run else result

    return change(context, call, agent_id.rpartition("/")[2], ask)


def _asked_view(found: Versioned[Group], choice: Choice, dry_run: bool) -> dict[str, object]:
    return {
        "agent_id": found.value.agent_id,
        "version": found.version,
        "old": found.value.primary,
        "candidate": choice.best.instance_id if choice.best else None,
        "rejected": _rejected(choice),
        "dry_run": dry_run,
    }


def _rejected(choice: Choice) -> list[dict[str, str]]:
    return [{"instance_id": instance_id, "reason": reason} for instance_id, reason in choice.rejected]


def pause(context: Context, call: Call) -> object:
    def ask(situation: Situation, found: Versioned[Group]) -> Asked:
        until_s = situation.now_s + call.body.for_s
        result = asks.pause(situation.group, until_s, f"{by(call)}: {call.body.why}", situation.now_s)
        return asked(
            result, lambda after: {"paused_until_s": after.value.paused_until_s, "why": call.body.why}
        )

    return change(context, call, call.path["agent_id"], ask)


def resume(context: Context, call: Call) -> object:
    def ask(situation: Situation, found: Versioned[Group]) -> Asked:
        result = asks.resume(situation.group, by(call), situation.now_s)
        return asked(result, lambda after: {"was_paused": result is not None})

    return change(context, call, call.path["agent_id"], ask)


def gone(context: Context, call: Call) -> object:
    def ask(situation: Situation, found: Versioned[Group]) -> Asked:
        instance_id, why = call.path["instance_id"], f"{by(call)}: {call.body.why}"
        left_s = situation.seen.of(instance_id).lease_left_s
        result = asks.gone(situation.group, instance_id, why, situation.now_s, lease_left_s=left_s)
        return asked(result, lambda after: {"instance_id": instance_id, "terminated": True})

    return change(context, call, _agent_of_instance(context, call), ask)


def revive(context: Context, call: Call) -> object:
    def ask(situation: Situation, found: Versioned[Group]) -> Asked:
        instance_id, why = call.path["instance_id"], f"{by(call)}: {call.body.why}"
        result = asks.revive(situation.group, instance_id, why, situation.now_s)
        return asked(result, lambda after: {"instance_id": instance_id, "was_zombie": result is not None})

    return change(context, call, _agent_of_instance(context, call), ask)


def _agent_of_instance(context: Context, call: Call) -> str:
    row = context.tenants.instance(call.client_id, call.path["instance_id"])
    if row is None:
        raise Refusal(Code.NOT_FOUND, f"there is no instance {call.path['instance_id']!r}")
    return row.agent_id.rpartition("/")[2]


def recover(context: Context, call: Call) -> object:
    def ask(situation: Situation, found: Versioned[Group]) -> Asked:
        group, primary = situation.group, call.body.primary or _served_last(situation)
        result = asked(
            recover_ask(situation, primary, by(call)),
            lambda after: {
                "agent_id": group.agent_id,
                "primary": primary,
                "told": f"{primary} served last: it is promoted under epoch {after.value.epoch}.",
                "unknown_members": [*context.missing(group.client_id, group.agent_id), *group.strangers],
                "dry_run": call.body.dry_run,
            },
        )
        return Asked(None, result.answer) if call.body.dry_run else result

    return change(context, call, call.path["agent_id"], ask)


def _served_last(situation: Situation) -> str:
    """The one standby that reports the highest served epoch; several, or none, need a person's word."""
    members = list(situation.group.having(Status.REPLICA, Status.DEMOTING, Status.PRIMARY))
    served = [(situation.of(member).report.served_epoch, member.instance_id) for member in members]
    highest = max((epoch for epoch, _ in served), default=0)
    last = [instance_id for epoch, instance_id in served if epoch == highest and epoch > 0]
    if len(last) != 1:
        named = ", ".join(last) or "no instance"
        raise Refusal(
            Code.INVALID_STATE, f"the reports do not tell who served last ({named}): give `primary`"
        )
    return last[0]
