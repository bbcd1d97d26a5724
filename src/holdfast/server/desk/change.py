"""Changing a group: read, look, ask the rules, commit with the request's id; again if another was faster.

Rule 1: the answer is stored in the commit that it tells of, so a repeated request gets the same answer and
        changes nothing, however much later it comes and on whichever server.
Rule 2: a lost answer is looked up by the commit's id, never guessed.
Rule 3: a database that was restored from the past is not changed before an operator has recovered it.
Rule 4: a dry run goes the same way, gets the same refusals, and ends before the commit.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import msgspec

from holdfast.failover.api.codes import Code, Refusal
from holdfast.failover.group import Group, subject_of
from holdfast.failover.ports import StoredRequest
from holdfast.failover.rules.rule import Situation
from holdfast.kernel import Busy, Conflict, Unknown, Versioned, Write
from holdfast.server.calls import Call
from holdfast.server.desk.context import Context

TRIES_MAX: Final = 6

Answer = dict[str, object]


@dataclass(frozen=True, slots=True)
class Asked:
    """What an ask comes to: a write, or nothing to write; and what is answered in either case."""

    write: Write[Group] | None
    answer: Callable[[Versioned[Group]], Answer]


Ask = Callable[[Situation, Versioned[Group]], Asked]
"""May raise Refusal: then nothing is changed."""


def change(context: Context, call: Call, agent_id: str, ask: Ask, *, may_be_new: bool = False) -> object:
    """Raises Refusal(VERSION_CONFLICT) after several lost races, and what the ask raises."""
    known = _answered_before(context, call)
    if known is not None:
        return known  # a dry run stores no answer, so none is found
    subject = subject_of(call.client_id, agent_id)
    for _ in range(TRIES_MAX):
        found = context.store.read(subject)
        if not found.version and not may_be_new:
            raise Refusal(Code.NOT_FOUND, f"there is no agent {agent_id!r}")
        asked = ask(context.situation(found.value), found)
        if asked.write is None:
            return asked.answer(found)
        if behind := context.behind():
            raise Refusal(Code.RECOVERING, behind)
        after = Versioned(asked.write.value, found.version + 1, "")
        answer = asked.answer(after)
        if getattr(call.body, "dry_run", False):
            return answer
        request = _stored(context, call, answer) if call.request_id else None
        try:
            done = _commit(context, subject, found, asked.write, request)
        except Conflict:
            context.figures.count("optimistic_lock_conflicts", call.operation.name)
            known = _answered_before(context, call)  # the same request may have won on another server
            if known is not None:
                return known
            continue
        context.changed(subject, done)
        return answer
    raise Refusal(
        Code.VERSION_CONFLICT, f"Version conflict for agent {agent_id}: it changes too fast; try again"
    )


def note(context: Context, subject: str, ask: Ask) -> bool:
    """Change a group for something that was heard: no caller waits for an answer.

    Whether anything was changed.  Raises Busy after several lost races and Unknown: it may be tried again,
    because what has been noted is not noted twice.  Raises what the ask raises.
    """
    for _ in range(TRIES_MAX):
        found = context.store.read(subject)
        asked = ask(context.situation(found.value), found)
        if asked.write is None:
            return False
        try:
            done = _commit(context, subject, found, asked.write, None)
        except Conflict:
            continue
        context.changed(subject, done)
        return True
    raise Busy(f"{subject} changes too fast")


def _commit(
    context: Context,
    subject: str,
    found: Versioned[Group],
    write: Write[Group],
    request: StoredRequest | None,
) -> Versioned[Group]:
    commit_id = context.new_id()
    try:
        return context.store.commit(subject, found, write, commit_id, request)
    except Unknown:
        winner = context.store.commit_id_at(subject, found.version + 1)
        if winner is None:
            raise  # it may still arrive: the caller repeats its request under the same id
        if winner != commit_id:
            raise Conflict(f"version {found.version + 1} is another's") from None
        return Versioned(write.value, found.version + 1, commit_id)


def _answered_before(context: Context, call: Call) -> object | None:
    if not call.request_id:
        return None
    stored = context.store.request(call.client_id, call.request_id)
    if stored is None:
        return None
    if stored.digest != digest(call):
        raise Refusal(
            Code.REQUEST_ID_REUSED,
            f"X-Request-ID = {call.request_id!r} was used for another request: draw a new one",
        )
    answered: object = json.loads(stored.answer)
    return answered


def _stored(context: Context, call: Call, answer: Answer) -> StoredRequest:
    return StoredRequest(
        client_id=call.client_id,
        request_id=call.request_id,
        digest=digest(call),
        answer=msgspec.json.encode(answer).decode(),
        at_s=context.now_s(),
    )


def digest(call: Call) -> str:
    """Of everything that makes a request what it is: the caller's token, the route and the body."""
    told = json.dumps([call.operation.name, dict(sorted(call.path.items())), call.principal.token.token_id])
    return hashlib.sha256(told.encode() + b"\n" + call.raw).hexdigest()
