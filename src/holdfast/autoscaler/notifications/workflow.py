"""Telling operators, as one workflow on a record of its own.

1. A cause that holds is written down with the moment it was first seen; one that lasts is told.
2. A try is written down before it is made, with the time before which no other process tries.  A process that
   dies in between costs a delay, and at most a second message with the same id.
3. Each channel is told of the end if it was told, or may have been told, of the beginning.
4. A channel that refuses is tried less and less often, and given up in the end.  No other waits for it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from holdfast.autoscaler.notifications.causes import Causes
from holdfast.autoscaler.notifications.events import NotificationEvent as Kind
from holdfast.autoscaler.notifications.message import Message
from holdfast.autoscaler.notifications.record import Board, Notification, Receipt, Stage
from holdfast.kernel import Do, Done, Event, Happened, Outcome, Wait, Workflow, Write

TRY_FIRST_S = 30
"""The pause after a first try that failed; twice as long after each further one,"""
TRY_MAX_S = 1_800
"""but never longer than this."""
TRIES_MAX = 10
"""So often a message is tried before it is given up."""
CHANGES_MAX = 40
"""Causes that one commit writes down; the next one takes the others."""
REUSE_S = 30.0
WHY_MAX = 500


@dataclass(frozen=True, slots=True)
class Send:
    """Bring one message to one channel.

    Twice is two messages with one id, by which a receiver can tell.  Nothing fences a late one: it tells what
    was true when it was written down.
    """

    channel: str
    message: Message


Ahead = Write[Board] | Do[Send] | Wait | Done


@dataclass(frozen=True, slots=True)
class Plan:
    """What a process needs to know to tell: who it is, whom to tell, and how patiently."""

    owner: str
    cluster: str
    channels: tuple[str, ...]
    after_s: int
    """A cause must have lasted for so long."""


def workflow(plan: Plan) -> Workflow[Board, Causes | None, Send]:
    return Workflow(
        step=lambda board, seen, now_s: step(board, seen, plan, now_s),
        settle=settle,
        reuse_s=REUSE_S,
        by_record=lambda effect: True,  # what is sent stands in the record, whole
    )


def step(board: Board, seen: Causes | None, plan: Plan, now_s: float) -> Ahead:
    """`seen`: what holds now; None: that is not known, and only what is due is told."""
    if seen is not None:
        noted = note(board, seen, plan, now_s)
        if noted is not None:
            return noted
    due = [(each, receipt) for each, receipt in _wanted(board, plan, now_s) if receipt.retry_s <= now_s]
    if due:
        return _claimed(board, due, plan, now_s)
    mine = [
        Send(receipt.channel, Message.of(each, receipt.stage, plan.cluster))
        for each in board.notifications
        for receipt in each.receipts
        if receipt.owner == plan.owner and not receipt.told
    ]
    if mine:
        return Do(tuple(mine))
    later = [receipt.retry_s for _, receipt in _wanted(board, plan, now_s)]
    later += [
        each.since_s + plan.after_s
        for each in board.notifications
        if not each.over_s and now_s - each.since_s < plan.after_s
    ]
    return Wait(min(later), "a message is due later") if later else Done()


def note(board: Board, seen: Causes, plan: Plan, now_s: float) -> Write[Board] | None:
    """What begins, goes on after all, ends, or need not be kept any longer."""
    events: list[Event] = []
    for each in board.notifications:
        if len(events) >= CHANGES_MAX:
            break
        if each.key in seen and each.over_s and not _tells_the_end(each):
            board = board.with_one(replace(each, over_s=0))
            events.append(_event(Kind.CAUSE_RETURNED, each, now_s))
        elif each.key not in seen and not each.over_s:
            ended = replace(each, over_s=max(int(now_s), 1))
            board = board.with_one(ended) if _was_told(each) else board.without(each.key)
            events.append(_event(Kind.CAUSE_OVER, each, now_s))
        elif each.over_s and _is_settled(each, plan):
            board = board.without(each.key)
            events.append(_event(Kind.CAUSE_FORGOTTEN, each, now_s))
    for key, why in seen.items():
        if board.find(key) is None and len(events) < CHANGES_MAX:
            begun = Notification(*key, why[:WHY_MAX], int(now_s))
            board = Board((*board.notifications, begun))
            events.append(_event(Kind.CAUSE_BEGUN, begun, now_s))
    return Write(board, tuple(events)) if events else None


def settle(board: Board, effect: Send, outcome: Outcome, now_s: float) -> Write[Board] | None:
    message = effect.message
    each = board.find((message.cause, message.about))
    receipt = each.receipt(effect.channel) if each is not None else None
    if each is None or receipt is None or receipt.told or receipt.stage is not message.stage:
        return None
    if isinstance(outcome, Happened):
        changed, kind, why = replace(receipt, told=True, owner=""), Kind.MESSAGE_SENT, ""
    elif receipt.tries >= TRIES_MAX:
        changed, kind, why = replace(receipt, told=True, owner=""), Kind.MESSAGE_GIVEN_UP, str(outcome)
    else:
        changed, kind, why = replace(receipt, owner=""), Kind.MESSAGE_FAILED, str(outcome)
    event = Event(kind, now_s, about=effect.channel, reason=why[:WHY_MAX], code=message.cause)
    return Write(board.with_one(each.with_receipt(changed)), (event,))


def pause_s(tries: int) -> int:
    return min(TRY_MAX_S, TRY_FIRST_S << min(tries - 1, 10))


def _wanted(board: Board, plan: Plan, now_s: float) -> Iterator[tuple[Notification, Receipt]]:
    """What some channel has still to hear, as its receipt stands, or as it would begin."""
    for each in board.notifications:
        for channel in plan.channels:
            receipt = each.receipt(channel)
            if receipt is None:
                if not each.over_s and now_s - each.since_s >= plan.after_s:
                    yield each, Receipt(channel)
            elif each.over_s and receipt.stage is Stage.BEGUN and (receipt.told or receipt.retry_s <= now_s):
                yield each, Receipt(channel, Stage.OVER)
            elif not receipt.told and (receipt.owner != plan.owner or receipt.retry_s <= now_s):
                yield each, receipt


def _claimed(
    board: Board, due: Sequence[tuple[Notification, Receipt]], plan: Plan, now_s: float
) -> Write[Board]:
    """Every try that is made next, written down first."""
    for each, receipt in due[:CHANGES_MAX]:
        tries = receipt.tries + 1
        tried = replace(receipt, tries=tries, retry_s=int(now_s) + pause_s(tries), owner=plan.owner)
        current = board.find(each.key) or each
        board = board.with_one(current.with_receipt(tried))
    told = [
        Event(Kind.MESSAGE_TRIED, now_s, about=receipt.channel, reason=each.about, code=each.cause)
        for each, receipt in due[:CHANGES_MAX]
    ]
    return Write(board, tuple(told))


def _was_told(each: Notification) -> bool:
    return any(receipt.told or receipt.tries for receipt in each.receipts)


def _tells_the_end(each: Notification) -> bool:
    return any(receipt.stage is Stage.OVER for receipt in each.receipts)


def _is_settled(each: Notification, plan: Plan) -> bool:
    """Whether no channel that there still is has to hear of its end."""
    open_ones = [receipt for receipt in each.receipts if receipt.channel in plan.channels]
    return all(receipt.stage is Stage.OVER and receipt.told for receipt in open_ones)


def _event(kind: Kind, each: Notification, now_s: float) -> Event:
    return Event(kind, now_s, about=each.about, reason=each.why, code=each.cause)
