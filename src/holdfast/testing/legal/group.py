"""S-F4: each commit of a group is a legal move, told by its event.

Kept apart from the rules that it judges: it knows the record and the table of moves, and none of the modules
that decide.  Every member moves along one row of MOVES at most, every move has its event and the number of
the rule that made it, an epoch has one holder and only rises, and what is condemned is never taken back.
"""

from collections.abc import Sequence

from holdfast.failover.group import Group, Member, Mode
from holdfast.failover.roles import MOVES, Move, Status
from holdfast.kernel import Event, Versioned, Write

NAME = "S-F4"
TOLD: dict[Move, tuple[str, ...]] = {
    Move.REGISTERED: ("registered",),
    Move.CHOSEN: ("promoting",),
    Move.CONFIRMED: ("promoted",),
    Move.REVOKED: ("revoked", "recovering"),
    Move.REINSTATED: ("reinstated",),
    Move.FAILED: ("promotionFailed",),
    Move.RETIRED: ("retired",),
    Move.CONDEMNED: ("terminating", "zombie_cleanup"),
    Move.REVIVED: ("revived",),
    Move.CONFIRMED_GONE: ("confirmedGone",),
}
BORN: dict[Status, tuple[str, ...]] = {
    Status.LAUNCHING: ("launched",),
    Status.REPLICA: ("registered",),
    Status.TERMINATING: ("terminating",),
}
"""How a member may come into the record, and what tells of it."""
WHOLE = frozenset({"recovering"})
"""Events that tell of a move without naming its member: all stop."""


def illegal_commit(before: Versioned[Group], after: Versioned[Group], write: Write[Group]) -> list[str]:
    problems = (
        [] if after.version == before.version + 1 else [f"S-A7: {after.version} after {before.version}"]
    )
    return problems + illegal(before.value, write.value, write.events)


def illegal(before: Group, after: Group, events: Sequence[Event]) -> list[str]:
    """What is not allowed about this commit, in plain words."""
    problems = [
        *_numbered(events),
        *_members(before, after, events),
        *_epochs(before, after),
        *_takeover(before, after),
    ]
    if before == after:
        problems.append("it changes nothing")
    if after.settings.mode not in set(Mode):
        problems.append(f"S-F6: mode {after.settings.mode}")
    return [problem if problem.startswith("S-") else f"{NAME}: {problem}" for problem in problems]


def _numbered(events: Sequence[Event]) -> list[str]:
    return [f"{event.kind} has no rule's number" for event in events if not event.numbers.get("rule")]


def _members(before: Group, after: Group, events: Sequence[Event]) -> list[str]:
    problems: list[str] = []
    for member in after.members:
        was = before.member(member.instance_id)
        if was is None:
            told = BORN.get(member.status)
            if told is None or not _is_told(events, told, member):
                problems.append(f"{member.instance_id} appears as {member.status.value}")
        elif was.status is not member.status:
            problems += _moved(was, member, events)
        elif was.version != member.version:
            problems.append(f"{member.instance_id} has version {member.version} without a move")
    for was in before.members:
        if after.member(was.instance_id) is None:
            problems += _left(was, events)
    return problems


def _moved(was: Member, member: Member, events: Sequence[Event]) -> list[str]:
    moves = [move for (status, move), then in MOVES.items() if (status, then) == (was.status, member.status)]
    if not moves:
        return [f"{member.instance_id}: {was.status.value} → {member.status.value} is no move"]
    problems = []
    if not any(_is_told(events, TOLD[move], member) for move in moves):
        problems.append(f"{member.instance_id} is {member.status.value}, and no event tells it")
    if member.version != was.version + 1:
        problems.append(f"{member.instance_id}: version {member.version} after {was.version}")
    return problems


def _left(was: Member, events: Sequence[Event]) -> list[str]:
    if (was.status, Move.CONFIRMED_GONE) not in MOVES:
        return [f"S-F5: {was.instance_id} was {was.status.value}, and is gone"]
    if not _is_told(events, TOLD[Move.CONFIRMED_GONE], was):
        return [f"S-F5: {was.instance_id} left the record, and the cloud did not say so"]
    return []


def _is_told(events: Sequence[Event], kinds: Sequence[str], member: Member) -> bool:
    return any(e.kind in kinds and (e.about == member.instance_id or e.kind in WHOLE) for e in events)


def _epochs(before: Group, after: Group) -> list[str]:
    problems = []
    if after.epoch < before.epoch or after.served_epoch < before.served_epoch:
        problems.append(f"the epoch goes back: {before.epoch} → {after.epoch}")
    taken = before.holder is None and after.holder is not None
    if taken and before.takeover is not None and after.epoch != before.epoch:
        problems.append(f"{after.holder} is promoted under {after.epoch}, the takeover began {before.epoch}")
    lost = before.holder is not None and after.holder != before.holder
    if lost and after.epoch <= before.epoch:
        problems.append(f"{before.holder} is not primary any more, and its epoch {before.epoch} goes on")
    if before.holder is not None and after.holder not in (None, before.holder):
        problems.append(f"S-F1: {before.holder} is replaced by {after.holder} in one commit")
    if after.primary and after.served_epoch != after.epoch:
        problems.append(f"{after.primary} serves under {after.served_epoch}, the epoch is {after.epoch}")
    return problems


def _takeover(before: Group, after: Group) -> list[str]:
    if before.takeover is not None and after.takeover is None and after.primary is None:
        return ["the takeover ends without a primary"]
    chosen = after.takeover.candidate if after.takeover else ""
    if before.takeover and chosen and not before.takeover.candidate:
        member = before.member(chosen)
        if member is not None and (member.interrupted or member.never_promote):
            return [f"S-F2: {chosen} is promoted, and must not be"]
    return []
