"""What an agent says of itself: its state in the words of the wire."""

from holdfast.failover.agent.goals import Do, Hook
from holdfast.failover.agent.report import HookState, Record, Report
from holdfast.failover.agent.state import Phase, State


def report(state: State, now_s: float) -> Report:
    hook, sync = about(state), state.sync
    return Report(
        status="stopping" if state.leaving else "running",
        hook_goal=hook.do.value if hook else "",
        hook_epoch=hook.epoch if hook else 0,
        hook_state=hook.state.value if hook else HookState.NONE.value,
        hook_output=hook.output if hook else "",
        position=sync.position,
        lag_s=sync.lag_s,
        sync_age_s=None if sync.at_s is None else max(0.0, now_s - sync.at_s),
        sync_epoch=sync.epoch,
        healthy=state.health.healthy,
        health_reason=state.health.reason,
        highest_epoch=state.highest_epoch,
        served_epoch=state.served_epoch,
        watchdog_ok=state.watchdog_ok,
        address=state.address,
    )


def about(state: State) -> Record | None:
    """What became of the goal that holds now."""
    goal = state.goal
    if goal is None:
        return None
    says, epoch = goal.conduct.says, goal.epoch
    if _is_under_way(state, says):
        return Record(says, epoch, HookState.RUNNING)
    record = state.records.get(says)
    if record is None or record.epoch != epoch:
        return Record(says, epoch, HookState.NONE)
    if says is Do.PROMOTE and record.state is HookState.DONE and state.phase is not Phase.UP:
        return Record(says, epoch, HookState.NONE)  # it was up, and is down again
    return record


def _is_under_way(state: State, says: Do) -> bool:
    match says:
        case Do.PROMOTE:
            cleaning = state.phase is Phase.STOPPING and state.failure is not None
            return state.phase is Phase.STARTING or cleaning
        case Do.DEMOTE:
            return state.phase is Phase.STOPPING
    return state.hook is not None and state.hook.hook is Hook.ON_FOLLOW
