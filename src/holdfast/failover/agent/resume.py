"""What a restarted agent must know of its predecessor on the same boot, and what it makes of it.

Rule 1: a service that was up, and whose lease still runs, stays up: nothing is run and nothing is stopped.
Rule 2: what was half done is stopped by `on-demote`, and begun again by the goal.
Rule 3: without this knowledge the agent starts as on a fresh boot: fenced.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from holdfast.failover.agent.goals import Do, Goal
from holdfast.failover.agent.lease import Lease
from holdfast.failover.agent.report import HookState, Record
from holdfast.failover.agent.state import Phase, State, Stop


def kept(state: State) -> dict[str, Any]:
    """As plain values, small enough for the page that agent and watchdog share."""
    goal = state.goal
    return {
        "phase": state.phase.value,
        "serving_epoch": state.serving_epoch,
        "goal": goal
        and {
            "version": goal.version,
            "epoch": goal.epoch,
            "do": goal.do.value,
            "primary": goal.primary,
            "address": goal.address,
        },
        "records": [[r.do.value, r.epoch, r.state.value, r.at_s] for r in state.records.values()],
        "followed": state.followed and list(state.followed),
        "clean": state.clean,
        "position": state.sync.position,
    }


def resumed(fresh: State, known: Mapping[str, Any], armed_s: float) -> State:
    """`fresh` is the state of a fresh boot; `armed_s` the deadline that the watchdog has, 0 if none."""
    records = [Record(Do(do), int(e), HookState(s), "", float(at)) for do, e, s, at in known["records"]]
    goal, followed = known["goal"], known["followed"]
    state = replace(
        fresh,
        stop=Stop(),
        serving_epoch=int(known["serving_epoch"]),
        goal=Goal(**{**goal, "do": Do(goal["do"])}) if goal else None,
        records={record.do: record for record in records},
        followed=(int(followed[0]), followed[1], followed[2]) if followed else None,
        clean=bool(known["clean"]),
        sync=replace(fresh.sync, position=str(known["position"])),
        lease=Lease(int(known["serving_epoch"]), armed_s),
        armed_s=armed_s,
    )
    phase = Phase(known["phase"])
    if phase is Phase.UP:
        return replace(state, phase=Phase.UP, enabled=True)
    if phase is Phase.DOWN and not armed_s:
        return replace(state, phase=Phase.DOWN)
    return replace(state, phase=Phase.STOPPING, clean=False)
