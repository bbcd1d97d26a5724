"""How a service stops: killed if its lease is over, then `on-demote`, then the last position."""

from dataclasses import replace
from typing import TYPE_CHECKING

from holdfast.failover.agent.goals import Do, Hook
from holdfast.failover.agent.report import OUTPUT_MAX, HookState, Record
from holdfast.failover.agent.state import CLEANING, Phase, Running, State
from holdfast.failover.agent.words import Disarm, StopProtected

if TYPE_CHECKING:
    from holdfast.failover.agent.brain import Turn


def proceed(turn: "Turn") -> None:
    state = turn.state
    if state.phase is not Phase.STOPPING:
        return
    over = not state.lease.runs(state.serving_epoch, turn.now_s)
    if (over or state.stop.failed) and not state.stop.killing:
        turn.actions.append(StopProtected())
        turn.know(stop=replace(state.stop, killing=True))
    stop = turn.state.stop
    if state.hook is not None or (stop.killing and not stop.killed):
        return
    if not stop.hooked:
        epoch = max(state.highest_epoch, state.serving_epoch)
        run = turn.run(Hook.ON_DEMOTE, epoch, state.goal)
        turn.know(hook=Running(Hook.ON_DEMOTE, run, epoch, state.goal))
    elif stop.position is None and not stop.reading:
        run = turn.run(Hook.SYNC_STATUS, state.serving_epoch, state.goal)
        epochs = {**state.check_epochs, run: state.serving_epoch}
        turn.know(stop=replace(stop, reading=run), check_epochs=epochs)
    elif stop.position is not None:
        _stopped(turn)


def _stopped(turn: "Turn") -> None:
    """Nothing serves any more: say so, with what is left of a promotion that failed."""
    state, stop = turn.state, turn.state.stop
    turn.actions.append(Disarm())
    position = stop.position or ""
    known = replace(
        state,
        phase=Phase.DOWN,
        armed_s=0.0,
        followed=None,
        clean=True,
        beat_at_s=0.0,
        failure=None,
        sync=replace(state.sync, position=position) if position else state.sync,
    )
    if stop.is_told:
        epoch = max(state.serving_epoch, _asked_epoch(state))
        said = (f"{stop.output}\nthe process was killed" if stop.killed else stop.output)[-OUTPUT_MAX:]
        known = known.noted(Record(Do.DEMOTE, epoch, HookState.DONE, said.strip(), turn.now_s))
    turn.state = known.noted(state.failure) if state.failure else known


def _asked_epoch(state: State) -> int:
    goal = state.goal
    return goal.epoch if goal and not goal.conduct.serves and goal.epoch == state.highest_epoch else 0


def clean_up(turn: "Turn") -> None:
    """A demotion of what serves nothing is fulfilled at once, if its hook has been told on this boot."""
    state, goal = turn.state, turn.state.goal
    if goal is None or state.phase is not Phase.DOWN or goal.epoch != state.highest_epoch:
        return
    if goal.conduct.says is not Do.DEMOTE or state.state_of(Do.DEMOTE, goal.epoch) is not HookState.NONE:
        return
    earlier = state.records.get(Do.DEMOTE)
    if goal.do is Do.DEMOTE and state.enabled and earlier is None and state.hook is None:
        turn.know(phase=Phase.STOPPING, stop=CLEANING)
        proceed(turn)
    elif goal.do is Do.STOP or earlier is not None:
        said = earlier.output if earlier else "nothing was served"
        turn.state = state.noted(Record(Do.DEMOTE, goal.epoch, HookState.DONE, said, turn.now_s))
        turn.know(beat_at_s=0.0)
