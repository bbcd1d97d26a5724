"""What EC2 says of machines, heard from its queue: noted in the groups whose members they are.

It comes beside what agents say themselves, and also when there is no agent left to say it.
Rule 1: a machine that is shutting down or gone has no time left: its group hands over without grace.  Its
        lease still counts, because a machine that shuts down may serve to the last.
Rule 2: a notice of a machine that no group has leaves no trace.
Rule 3: twice is once: what a member is known to have been told is not noted again.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from holdfast.cloud.notices import Notice, NoticeKind
from holdfast.failover import asks
from holdfast.failover.group import Group, subject_of
from holdfast.failover.group import NoticeKind as Told
from holdfast.failover.roles import Status
from holdfast.failover.rules.rule import Situation
from holdfast.kernel import Versioned
from holdfast.server.desk.asking import asked
from holdfast.server.desk.change import Asked, note
from holdfast.server.desk.context import Context


def keep(
    context: Context, notices: Sequence[Notice], *, wall_s: Callable[[], float] = time.time
) -> Sequence[Notice]:
    """Those that were about members and changed something.  Raises Busy or Unknown: it may be tried again."""
    kept = []
    for each in notices:
        noted = [note(context, subject, partial(_ask, each, wall_s())) for subject in _whose(context, each)]
        if any(noted):
            kept.append(each)
    return kept


def _whose(context: Context, notice: Notice) -> Iterator[str]:
    for client in context.tenants.clients():
        row = context.tenants.instance(client.client_id, notice.instance_id)
        if row is not None:
            own = row.agent_id.startswith(f"{client.client_id}/")
            yield row.agent_id if own else subject_of(client.client_id, row.agent_id)


def _ask(notice: Notice, wall_s: float, situation: Situation, found: Versioned[Group]) -> Asked:
    member = situation.group.member(notice.instance_id)
    if member is None or member.status in (Status.TERMINATING, Status.TERMINATED):
        return Asked(None, lambda after: {})  # it has left, or goes by our own will
    return asked(asks.notice(situation, translate(notice, wall_s, situation.now_s)), lambda after: {})


def translate(notice: Notice, wall_s: float, now_s: float) -> asks.Notice:
    """`wall_s`: by the clock that EC2's times are of; `now_s`: by the database's."""
    match notice.kind:
        case NoticeKind.REBALANCE:
            return asks.Notice(notice.instance_id, Told.REBALANCE)
        case NoticeKind.INTERRUPTION:
            left_s = min(max(0.0, notice.deadline_s - wall_s), LONGEST_S)
            return asks.Notice(notice.instance_id, Told.TERMINATION, now_s + left_s)
        case _:
            return asks.Notice(notice.instance_id, Told.TERMINATION, now_s)


LONGEST_S = 120.0
"""EC2 gives two minutes: a clock that is behind makes no more of it."""
