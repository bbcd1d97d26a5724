"""What an agent knows after it has heard something.  Nothing is decided here.

Rule 1: the highest epoch that was ever heard of counts; a goal or a lease of a lower one does not.
Rule 2: within an epoch, an older goal that arrives late is dropped.
Rule 3: a run of a hook counts for what it was started for, however late it ends.
"""

from dataclasses import replace

from holdfast.failover.agent import words
from holdfast.failover.agent.goals import CHANGING, Do, Goal, Hook
from holdfast.failover.agent.report import OUTPUT_MAX, REASON_MAX, Health, HookState, Record, Sync
from holdfast.failover.agent.state import Phase, State


def hear(state: State, heard: words.Heard, now_s: float) -> State:
    match heard:
        case words.Registered():
            return _registered(state, heard, now_s)
        case words.NotRegistered(retry_s=retry_s):
            return replace(state, registering=False, register_at_s=now_s + retry_s)
        case words.Answered():
            return _answered(state, heard)
        case words.NotAnswered():
            soon_s = max(now_s + 0.1, state.beat_sent_s + min(1.0, state.timing.heartbeat_s / 3))
            return replace(state, beating=False, last_beat=False, beat_at_s=soon_s)
        case words.Disowned(retry_s=retry_s):
            return replace(state, beating=False, registered=False, register_at_s=now_s + retry_s)
        case words.Told(goal=goal):
            return _given(state, goal)
        case words.HookEnded():
            return _hook_ended(state, heard, now_s)
        case words.Stored(highest=highest, served=served):
            stored, both = max(state.stored_epoch, highest), max(state.stored_served, served)
            return replace(state, storing=False, stored_epoch=stored, stored_served=both)
        case words.NotStored(why=why):
            return _not_stored(state, why, now_s)
        case words.Stopped():
            return replace(state, stop=replace(state.stop, killed=state.stop.killing))
        case words.Watched(ok=ok):
            return replace(state, watchdog_ok=ok)
        case words.Noticed() | words.NoticeTaken() | words.NoticeLost():
            return _notice(state, heard, now_s)
        case words.ReleaseAsked():
            return _leaving(state, now_s)
    return state


def _registered(state: State, heard: words.Registered, now_s: float) -> State:
    timing = replace(state.timing, heartbeat_s=heard.heartbeat_s, term_s=heard.term_s)
    known = replace(
        state,
        registering=False,
        registered=heard.enabled,
        enabled=heard.enabled,
        serve_reads=heard.serve_reads,
        timing=timing,
        beat_at_s=now_s,
        register_at_s=now_s + timing.register_s,
        # A server that gives it no role knows that it has none: one that leaves need not tell it so.
        last_beat=state.last_beat or (state.leaving and not heard.enabled),
    )
    return _given(known, heard.goal)


def _answered(state: State, heard: words.Answered) -> State:
    known = replace(state, beating=False, enabled=heard.enabled, serve_reads=heard.serve_reads)
    known = _heard_of(known, heard.epoch)
    if heard.epoch == known.highest_epoch and heard.primary and heard.lease_s > 0:
        lease = known.lease.granted(heard.epoch, heard.sent_s, heard.lease_s)
        granted_s = max(known.granted_sent_s, heard.sent_s)
        known = replace(known, lease=lease, granted_sent_s=granted_s, revoked_epoch=0)
    elif heard.epoch == known.highest_epoch and not heard.primary and heard.sent_s > known.granted_sent_s:
        known = replace(known, revoked_epoch=heard.epoch)
    return _given(known, heard.goal)


def _given(state: State, goal: Goal | None) -> State:
    if goal is None:
        return state
    known = _heard_of(state, goal.epoch)
    if goal.epoch < known.highest_epoch:
        return known
    now = known.goal
    if now is not None and now.epoch == goal.epoch and now.version > goal.version:
        return known
    changed = now is None or (now.do, now.epoch) != (goal.do, goal.epoch)
    return replace(known, goal=goal, beat_at_s=0.0 if changed else known.beat_at_s)


def _heard_of(state: State, epoch: int) -> State:
    return replace(state, highest_epoch=epoch) if epoch > state.highest_epoch else state


def _hook_ended(state: State, heard: words.HookEnded, now_s: float) -> State:
    if heard.hook in CHANGING:
        return _changing_ended(state, heard, now_s)
    epochs = dict(state.check_epochs)
    epoch = epochs.pop(heard.run, 0)
    known = replace(state, checking=state.checking - {heard.run}, check_epochs=epochs)
    if heard.hook is Hook.HEALTH:
        return replace(known, health=Health(heard.ok, "" if heard.ok else heard.output[-REASON_MAX:]))
    if heard.run == known.stop.reading and known.phase is Phase.STOPPING:
        known = replace(known, stop=replace(known.stop, position=heard.position or ""))
    if heard.ok:
        known = replace(known, sync=Sync(heard.position or "", heard.lag_s, epoch, now_s))
    return known


def _changing_ended(state: State, heard: words.HookEnded, now_s: float) -> State:
    running = state.hook
    if running is None or running.run != heard.run:
        return state
    known = replace(state, hook=None, killing_hook=False, beat_at_s=0.0)
    if state.killing_hook and not heard.ok:
        return known
    outcome = HookState.DONE if heard.ok else HookState.FAILED
    output = heard.output[-OUTPUT_MAX:]
    match heard.hook:
        case Hook.ON_FOLLOW:
            record = Record(Do.FOLLOW, running.epoch, outcome, output, now_s)
            followed = running.goal.followed if heard.ok and running.goal else None
            return replace(known, followed=followed, check_at_s=now_s).noted(record)
        case Hook.ON_PROMOTE if known.phase is Phase.STARTING:
            record = Record(Do.PROMOTE, running.epoch, outcome, output, now_s)
            if heard.ok:
                return replace(known, phase=Phase.UP, check_at_s=now_s).noted(record)
            return replace(known, failure=record)
        case Hook.ON_DEMOTE if known.phase is Phase.STOPPING:
            stop = replace(known.stop, hooked=True, failed=not heard.ok, output=output)
            if heard.ok and heard.position is not None:
                stop = replace(stop, position=heard.position)
            return replace(known, stop=stop)
    return known


def _not_stored(state: State, why: str, now_s: float) -> State:
    known = replace(state, storing=False, store_at_s=now_s + state.timing.retry_s)
    goal = known.goal
    if goal is None or not goal.conduct.serves or known.phase is not Phase.DOWN:
        return known
    said = f"epoch {goal.epoch} cannot be stored, so it is not served: {why}"
    return replace(known.noted(Record(Do.PROMOTE, goal.epoch, HookState.FAILED, said, now_s)), beat_at_s=0.0)


def _notice(state: State, heard: words.Noticed | words.NoticeTaken | words.NoticeLost, now_s: float) -> State:
    if isinstance(heard, words.Noticed):
        if heard.notice.key in state.known_notices:
            return state
        known = state.known_notices | {heard.notice.key}
        return replace(state, notices=(*state.notices, heard.notice), known_notices=known, notice_at_s=now_s)
    sending = state.sending - {heard.key}
    if isinstance(heard, words.NoticeLost):
        return replace(state, sending=sending, notice_at_s=now_s + 1.0)
    left = tuple(notice for notice in state.notices if notice.key != heard.key)
    return replace(state, sending=sending, notices=left, beat_at_s=now_s)


def _leaving(state: State, now_s: float) -> State:
    if state.leaving:
        return state
    return replace(state, leaving=True, release_until_s=now_s + state.timing.release_s, beat_at_s=now_s)
