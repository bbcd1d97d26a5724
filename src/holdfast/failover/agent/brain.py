"""What an agent does next: (what it knows, what it heard, the time) -> what it knows, what it does.

Rule 1: it serves only for a goal that serves, of the highest epoch it ever heard of, with that
        epoch on its disk, under a lease of that epoch, and with a watchdog that counts.
Rule 2: the watchdog is armed with the lease's end before anything is started, and disarmed
        only when `on-demote` has said that nothing serves, or no process is left.
Rule 3: a service whose lease is over is killed first; the hook is told afterwards.
Rule 4: "stopped" is said with a position that was read after the stop, never before it.
Rule 5: a promotion that failed is told as failed once nothing of it is left running.
"""

from dataclasses import dataclass, field, replace

from holdfast.failover.agent import stopping
from holdfast.failover.agent.goals import Do, Goal, Hook
from holdfast.failover.agent.hear import hear
from holdfast.failover.agent.report import HookState
from holdfast.failover.agent.speak import report
from holdfast.failover.agent.state import Phase, Running, State, Stop
from holdfast.failover.agent.words import (
    Action,
    Arm,
    Exit,
    Heard,
    Heartbeat,
    KillHook,
    Register,
    RunHook,
    SendNotice,
    StoreEpoch,
)


@dataclass(slots=True)
class Turn:
    """One thought under way: what is known by now, and what is to be done."""

    state: State
    now_s: float
    actions: list[Action] = field(default_factory=list)

    def know(self, **changes: object) -> None:
        self.state = replace(self.state, **changes)  # type: ignore[arg-type]

    def run(self, hook: Hook, epoch: int, goal: Goal | None = None, before_s: float | None = None) -> int:
        """Start a hook; its run's number."""
        run, limit_s = self.state.runs + 1, self.state.timing.limits_s[hook]
        primary, address = (goal.primary, goal.address) if goal else ("", "")
        self.actions.append(
            RunHook(
                hook=hook,
                run=run,
                epoch=epoch,
                primary=primary,
                address=address,
                limit_s=limit_s,
                before_s=before_s,
            )
        )
        self.know(runs=run)
        return run


def think(state: State, heard: Heard, now_s: float) -> tuple[State, tuple[Action, ...]]:
    """The only door: everything an agent does follows from here."""
    if state.exited:
        return state, ()
    turn = Turn(hear(state, heard, now_s), now_s)
    for rule in RULES:
        rule(turn)
    return turn.state, tuple(turn.actions)


def due_s(state: State, now_s: float) -> float:
    """When the agent must think again, though nothing was heard."""
    times = [state.lease.until_s, state.lease.until_s - state.timing.orderly_s, state.check_at_s]
    times.append(state.beat_at_s if state.registered and not state.beating else state.register_at_s)
    times += [state.store_at_s] if state.stored_epoch < state.highest_epoch else []
    times += [state.notice_at_s] if state.notices else []
    times += [state.release_until_s] if state.leaving else []
    times += [record.at_s + state.timing.retry_s for record in state.records.values()]
    return min((time for time in times if time > now_s), default=now_s + state.timing.check_s)


def allowed_epoch(state: State) -> int | None:
    """The epoch for which serving is wanted and allowed, leases aside."""
    goal = state.goal
    if goal is None or not state.enabled or not goal.conduct.serves:
        return None
    return goal.epoch if goal.epoch == state.highest_epoch != state.revoked_epoch else None


def _keep_or_stop(turn: Turn) -> None:
    """A service that may go on is armed with its newest lease; any other is stopped."""
    state, now_s = turn.state, turn.now_s
    if state.phase not in (Phase.STARTING, Phase.UP):
        return
    epoch = state.serving_epoch
    over = state.leaving and now_s >= state.release_until_s
    margin_s = state.timing.orderly_s if state.phase is Phase.UP else 0.0
    keeps = allowed_epoch(state) == epoch and not over and not state.failure
    if not keeps or state.lease.left_s(epoch, now_s) <= margin_s:
        if state.hook is not None:
            turn.actions.append(KillHook())
        turn.know(phase=Phase.STOPPING, stop=Stop(), killing_hook=state.hook is not None, beat_at_s=0.0)
    elif state.lease.until_s > state.armed_s:
        turn.actions.append(Arm(state.lease.until_s, epoch))
        turn.know(armed_s=state.lease.until_s)


def _store(turn: Turn) -> None:
    """The highest epoch goes to disk as soon as it is heard of; the served one before it is served."""
    state = turn.state
    epoch = allowed_epoch(state)
    starts = epoch is not None and state.phase is Phase.DOWN and state.lease.runs(epoch, turn.now_s)
    served = max(state.stored_served, epoch or 0) if starts else state.stored_served
    behind = state.stored_epoch < state.highest_epoch or state.stored_served < served
    if behind and not state.storing and turn.now_s >= state.store_at_s:
        turn.actions.append(StoreEpoch(state.highest_epoch, served))
        turn.know(storing=True)


def _start(turn: Turn) -> None:
    state, now_s = turn.state, turn.now_s
    epoch, goal = allowed_epoch(state), state.goal
    if state.phase is not Phase.DOWN or epoch is None or goal is None or state.leaving:
        return
    if state.hook is not None:
        _kill_hook(turn)
        return
    if min(state.stored_epoch, state.stored_served) < epoch or not state.watchdog_ok:
        return
    if state.lease.left_s(epoch, now_s) <= state.timing.orderly_s or _gave_up(state, goal, now_s):
        return
    until_s = state.lease.until_s
    turn.actions.append(Arm(until_s, epoch))
    turn.know(phase=Phase.STARTING, serving_epoch=epoch, served_epoch=epoch, armed_s=until_s, clean=False)
    turn.know(followed=None, failure=None)
    run = turn.run(Hook.ON_PROMOTE, epoch, goal, before_s=until_s)
    turn.know(hook=Running(Hook.ON_PROMOTE, run, epoch, goal), beat_at_s=0.0)


def _gave_up(state: State, goal: Goal, now_s: float) -> bool:
    record = state.records.get(goal.conduct.says)
    if record is None or record.epoch != goal.epoch or record.state is not HookState.FAILED:
        return False
    return not goal.conduct.retries or now_s < record.at_s + state.timing.retry_s


def _follow(turn: Turn) -> None:
    state, goal = turn.state, turn.state.goal
    if goal is None or state.phase is not Phase.DOWN or state.leaving:
        return
    wanted = state.enabled and goal.do is Do.FOLLOW and goal.epoch == state.highest_epoch
    if state.hook is not None:
        if not wanted or (state.hook.goal and state.hook.goal.followed != goal.followed):
            _kill_hook(turn)
        return
    if wanted and goal.primary and state.followed != goal.followed and not _gave_up(state, goal, turn.now_s):
        run = turn.run(Hook.ON_FOLLOW, goal.epoch, goal)
        turn.know(hook=Running(Hook.ON_FOLLOW, run, goal.epoch, goal))


def _kill_hook(turn: Turn) -> None:
    if not turn.state.killing_hook:
        turn.actions.append(KillHook())
        turn.know(killing_hook=True)


def _check(turn: Turn) -> None:
    """`health` and `sync-status` are asked again and again, also while another hook runs."""
    state, now_s = turn.state, turn.now_s
    if not state.enabled or state.phase is Phase.STOPPING or state.checking or now_s < state.check_at_s:
        return
    epoch, goal = state.following, state.goal
    runs = [turn.run(hook, epoch, goal) for hook in (Hook.HEALTH, Hook.SYNC_STATUS)]
    epochs = {**state.check_epochs, **dict.fromkeys(runs, epoch)}
    turn.know(checking=frozenset(runs), check_epochs=epochs, check_at_s=now_s + state.timing.check_s)


def _tell_notices(turn: Turn) -> None:
    state = turn.state
    if not state.registered or turn.now_s < state.notice_at_s:
        return
    for notice in state.notices:
        if notice.key not in state.sending:
            turn.actions.append(SendNotice(notice))
            turn.know(sending=turn.state.sending | {notice.key})


def _register(turn: Turn) -> None:
    state = turn.state
    if not state.registered and not state.registering and turn.now_s >= state.register_at_s:
        turn.actions.append(Register())
        turn.know(registering=True)


def _beat(turn: Turn) -> None:
    state, now_s = turn.state, turn.now_s
    if not state.registered or state.beating or now_s < state.beat_at_s:
        return
    turn.actions.append(Heartbeat(state.highest_epoch, report(state, now_s)))
    every_s = state.timing.heartbeat_s if state.enabled else state.timing.register_s
    turn.know(beating=True, beat_sent_s=now_s, beat_at_s=now_s + every_s, last_beat=_has_left(state))


def _has_left(state: State) -> bool:
    return state.leaving and state.phase is Phase.DOWN and (state.clean or allowed_epoch(state) is None)


def _exit(turn: Turn) -> None:
    state = turn.state
    if not state.leaving or state.phase is not Phase.DOWN:
        return
    if state.last_beat and not state.beating:
        turn.actions.append(Exit("it serves no more, and a server knows"))
        turn.know(exited=True)
    elif turn.now_s >= state.release_until_s + state.timing.term_s:
        turn.actions.append(Exit("it serves no more; no server could be told"))
        turn.know(exited=True)


RULES = (
    _keep_or_stop,
    stopping.proceed,
    _store,
    _start,
    _follow,
    stopping.clean_up,
    _check,
    _tell_notices,
    _register,
    _exit,
    _beat,
)
"""All are asked, in this order, at each thought."""
