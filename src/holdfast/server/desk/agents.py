"""What agents ask for: to be known, and to hand on notices.  Heartbeats are in `holdfast.server.beats`."""

from dataclasses import asdict, replace
from typing import Any

from holdfast.failover import asks
from holdfast.failover.api.codes import Code, Refusal
from holdfast.failover.goals import Goal, goal_of
from holdfast.failover.group import Group, NoticeKind, subject_of
from holdfast.failover.rules.rule import Situation
from holdfast.failover.rules.staffing import emergency_replica
from holdfast.failover.tenants import TokenKind
from holdfast.kernel import Versioned
from holdfast.server.calls import Call
from holdfast.server.desk.asking import asked
from holdfast.server.desk.change import Asked, change
from holdfast.server.desk.context import Context
from holdfast.server.tokens import issue

AGENT_TOKEN_S = 10 * 365 * 86_400.0
DISABLED = {"config": {"enabled": False}}
"""What zombies, terminated instances and strangers are told: serve nothing, ask no more."""


def register(context: Context, call: Call) -> object:
    """Make an instance known, give it its session, and its own token if it enrols."""
    body, token = call.body, call.principal.token
    if token.agent_id != body.agent_id or token.instance_id not in ("", body.instance_id):
        raise Refusal(
            Code.NOT_FOUND, f"this token is not for instance {body.instance_id!r} of {body.agent_id!r}"
        )
    subject = subject_of(call.client_id, body.agent_id)
    row = context.tenants.instance(call.client_id, body.instance_id)
    known = row is not None and row.agent_id in (body.agent_id, subject)
    if known:  # before anything is changed: a second process of the same id must not move its address
        _take_session(context, call, subject)
    answer = change(
        context,
        replace_id(call),
        body.agent_id,
        lambda situation, found: _registered(context, call, situation),
    )
    if answer == DISABLED:
        context.figures.count("agent_registrations", "disabled")
        return answer
    if not known:
        _take_session(context, call, subject)
    context.figures.count("agent_registrations", "enabled")
    found = context.store.read(subject)
    return {
        **_own_token(context, call),
        "session": body.session,
        "goal": goal_view(goal_of(found.value, body.instance_id, found.version, context.now_s())),
        "lease_s": 0.0,
        "heartbeat_s": context.heartbeat_s,
        "request_timeout_s": context.request_timeout_s,
        "term_s": context.policy.term.granted_s,
        "config": {"enabled": True, "serve_reads": found.value.settings.reads_served},
    }


def _take_session(context: Context, call: Call, subject: str) -> None:
    """Raises Refusal(SESSION_HELD) while the lease of another session runs.  Twice is once."""
    body = call.body
    held_s = context.store.take_session(subject, body.instance_id, body.session, body.boot_id)
    if held_s > 0:
        context.figures.count("agent_registrations", "held")
        raise Refusal(
            Code.SESSION_HELD,
            f"another process holds {body.instance_id}; its lease runs for {held_s:.1f} s more",
            {"retry_after_s": held_s},
            retry_after_s=held_s,
        )


def replace_id(call: Call) -> Call:
    """Registering twice is once: no answer is stored, because it would hold a token."""
    return replace(call, request_id="")


def _registered(context: Context, call: Call, situation: Situation) -> Asked:
    body = call.body
    row = context.tenants.instance(call.client_id, body.instance_id)
    ours = row is not None and row.agent_id in (body.agent_id, situation.group.subject)
    if row is not None and not ours:
        raise Refusal(
            Code.NOT_FOUND, f"instance_id = {body.instance_id!r} belongs to another agent: choose another"
        )
    token = call.principal.token
    enrols = token.kind is TokenKind.ENROLMENT
    intent = situation.group.replica(token.token_id) if enrols else None
    # The enrolment of a launch lets its machine in only while the record waits for that one (H1).
    launched = enrols and context.tenants.agent_of_replica(call.client_id, token.token_id) is not None
    ask = asks.Register(
        instance_id=body.instance_id,
        invited=ours or (enrols and not launched),
        token=intent.token if intent else "",
        terminated=ours and row is not None and row.status == "terminated",
        instance_type=body.instance_type,
        region=body.region,
        az=body.az,
        address=body.address,
        priority=body.priority,
        never_promote=body.never_promote,
    )
    result = asks.register(situation.group, ask, situation.now_s)
    if isinstance(result, asks.Refusal) and result.code == "DISABLED":
        return Asked(None, lambda after: dict(DISABLED))
    return asked(result, lambda after: {})


def _own_token(context: Context, call: Call) -> dict[str, Any]:
    """A one-time enrolment is exchanged for the instance's own token."""
    if call.principal.token.kind is not TokenKind.ENROLMENT:
        return {}
    secret, token = issue(
        TokenKind.AGENT,
        now_s=context.now_s(),
        expires_in_s=AGENT_TOKEN_S,
        client_id=call.client_id,
        agent_id=call.body.agent_id,
        instance_id=call.body.instance_id,
    )
    if context.tenants.use_enrolment(call.principal.token.digest, token) is None:
        raise Refusal(Code.UNAUTHENTICATED, "the enrolment was used by another instance: make a new one")
    return {"token": secret}


def rebalance_notice(context: Context, call: Call) -> object:
    own_instance(call)
    notice = asks.Notice(call.body.instance_id, NoticeKind.REBALANCE)
    return _noticed(context, call, notice)


def termination_notice(context: Context, call: Call) -> object:
    own_instance(call)
    deadline_s = context.now_s() + call.body.deadline_in_s
    return _noticed(context, call, asks.Notice(call.body.instance_id, NoticeKind.TERMINATION, deadline_s))


def _noticed(context: Context, call: Call, notice: asks.Notice) -> object:
    def answer(after: Versioned[Group]) -> dict[str, object]:
        goal = goal_of(after.value, notice.instance_id, after.version, context.now_s())
        return {
            "acknowledged": True,
            "emergency_replica_id": emergency_replica(after.value) or None,
            "goal": goal_view(goal),
        }

    def ask(situation: Situation, found: Versioned[Group]) -> Asked:
        known = situation.of(notice.instance_id).session
        if known and known != call.body.session:
            raise stale_session(notice.instance_id)
        return asked(asks.notice(situation, notice), answer)

    context.figures.count("emergency_events", call.client_id, notice.kind.value)
    return change(context, call, call.path["agent_id"], ask)


def stale_session(instance_id: str) -> Refusal:
    """A copy of the machine, with its token, speaks neither of its health nor of its end."""
    return Refusal(Code.STALE_SESSION, f"the session of {instance_id} is another process's: register again")


def own_instance(call: Call) -> None:
    """Raises Refusal(NOT_FOUND) unless path and body name what the token speaks for."""
    instance_id = call.body.instance_id if call.body is not None else call.query["instance_id"]
    if not call.principal.speaks_for(call.path["agent_id"], instance_id):
        raise Refusal(
            Code.NOT_FOUND, f"this token does not speak for {instance_id!r} of {call.path['agent_id']!r}"
        )


def goal_view(goal: Goal) -> dict[str, Any]:
    return {**asdict(goal), "do": goal.do.value}
