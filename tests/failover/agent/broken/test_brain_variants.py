"""The brain with one guard taken out, and what catches it."""

from typing import Any

from holdfast.failover.agent.goals import Do, Hook
from tests.failover.agent.body import Body, serving
from tests.proof import prove
from tests.variants import broken

AGENT = "holdfast.failover.agent"


def without(**changes: dict[str, str]) -> Any:
    """The brain with snippets of its modules replaced."""
    built: dict[str, Any] = {}
    for name in ("goals", "lease", "report", "words", "state", "hear", "speak", "stopping", "brain"):
        if name in changes or name in ("hear", "brain"):
            built[f"{AGENT}.{name}"] = broken(f"{AGENT}.{name}", changes.get(name, {}), also=built)
    whole = built[f"{AGENT}.brain"]
    if f"{AGENT}.stopping" in built:
        stopping, proceed, clean_up = built[f"{AGENT}.stopping"], "proceed", "clean_up"
        names = {proceed: getattr(stopping, proceed), clean_up: getattr(stopping, clean_up)}
        whole.RULES = tuple(names.get(rule.__name__, rule) for rule in whole.RULES)
    return whole


def test_the_parts_put_together_again_are_the_shipped_brain() -> None:
    body = serving(without())
    body.tell(Do.DEMOTE, 2)
    body.run(1)
    assert body.last["position"] == "5"


def test_h3_a_lease_that_counts_from_its_answer_is_caught() -> None:
    careless = without(
        hear={
            "            return _answered(state, heard)": (
                "            return _answered(state, replace(heard, sent_s=now_s))"
            )
        }
    )
    for thinks, caught in ((without(), False), (careless, True)):
        body = serving(thinks)
        body.answers_after_s = 2.5
        body.run(6)
        body.up = False
        body.run(15)
        assert bool(body.accidents) is caught
    prove("variant", "H3: a lease counts from its answer", caught_by="an answer that takes long")


def test_h3_a_watchdog_that_is_not_armed_before_the_start_is_caught() -> None:
    careless = without(brain={"    turn.actions.append(Arm(until_s, epoch))\n": ""})
    for thinks, caught in ((without(), False), (careless, True)):
        body = Body(thinks=thinks, takes_s={Hook.ON_PROMOTE: 1.0}).start()
        body.tell(Do.PROMOTE, 1)
        body.agent_runs = False  # SIGKILL, while the hook starts the service
        body.run(30)
        assert bool(body.accidents) is caught
    prove("variant", "H3: the watchdog is not armed before the start", caught_by="SIGKILL of the agent")


def test_h36_a_position_from_before_the_stop_is_caught() -> None:
    careless = without(
        brain={
            "stop=Stop(), killing_hook=state.hook is not None": (
                "stop=Stop(position=state.sync.position), killing_hook=state.hook is not None"
            )
        }
    )
    body = serving(careless)
    body.tell(Do.DEMOTE, 2)
    body.run(1)
    assert body.last["position"] != "5"
    prove("variant", "H36: the last position is read before the stop", caught_by="rows that are written late")


def test_h38_a_standby_that_counts_an_old_sync_for_a_new_epoch_is_caught() -> None:
    careless = without(speak={"sync_epoch=sync.epoch": "sync_epoch=state.highest_epoch"})
    for thinks, said in ((without(), 1), (careless, 2)):
        body = Body(thinks=thinks).start()
        body.tell(Do.FOLLOW, 1)
        body.run(5)
        body.takes_s[Hook.ON_FOLLOW] = 60.0
        body.tell(Do.FOLLOW, 2, primary="i-9")
        body.run(5)
        assert body.last["sync_epoch"] == said
    prove("variant", "H38: an old sync counts for the new primary", caught_by="a slow on-follow")


def test_h39_a_failed_promotion_that_is_told_too_early_is_caught() -> None:
    told = "return replace(known, failure=record)"
    cleaning = "state.phase is Phase.STARTING or cleaning"
    careless = without(
        hear={told: f"{told}.noted(record)"},
        speak={cleaning: "state.phase is Phase.STARTING and not state.failure"},
    )
    for thinks, early in ((without(), False), (careless, True)):
        body = Body(thinks=thinks, fails={Hook.ON_PROMOTE}, takes_s={Hook.ON_DEMOTE: 3.0}).start()
        body.tell(Do.PROMOTE, 1)
        body.run(2)
        assert (body.last["hook_state"] == "failed") is early
    prove("variant", "H39: a failed promotion is told before it is stopped", caught_by="a slow on-demote")


def test_h39_a_lease_that_is_not_renewed_while_a_hook_runs_is_caught() -> None:
    careless = without(
        brain={
            "    if not state.registered or state.beating or now_s < state.beat_at_s:": (
                "    if not state.registered or state.beating or state.hook or now_s < state.beat_at_s:"
            )
        }
    )
    for thinks, up in ((without(), True), (careless, False)):
        body = Body(thinks=thinks, takes_s={Hook.ON_PROMOTE: 15.0}).start()
        body.tell(Do.PROMOTE, 1)
        body.run(17)
        assert (body.serves() == 1) is up
    prove("variant", "H39: no heartbeat while a hook runs", caught_by="a promotion longer than a lease")


def test_h43_an_agent_that_serves_without_a_watchdog_is_caught() -> None:
    careless = without(
        brain={" or not state.watchdog_ok:": ":"}, speak={"watchdog_ok=state.watchdog_ok": "watchdog_ok=True"}
    )
    for thinks, caught in ((without(), False), (careless, True)):
        body = Body(thinks=thinks, watchdog=False).start()
        body.tell(Do.PROMOTE, 1)
        body.run(2)
        body.agent_runs = False
        body.run(20)
        assert bool(body.accidents) is caught
    prove("variant", "H43: served without a watchdog", caught_by="SIGKILL of the agent")


def test_h45_an_epoch_that_is_served_though_it_is_not_on_disk_is_caught() -> None:
    careless = without(brain={"min(state.stored_epoch, state.stored_served) < epoch or ": ""})
    for thinks, caught in ((without(), False), (careless, True)):
        body = Body(thinks=thinks, disk_full=True).start()
        body.tell(Do.SERVE, 1)
        body.run(15)
        assert bool(body.accidents) is caught
    prove("variant", "H45: an epoch is served that is not on disk", caught_by="a full disk")


def test_h30_an_agent_that_obeys_a_lower_epoch_is_caught() -> None:
    careless = without(
        hear={
            "    if goal.epoch < known.highest_epoch:\n        return known\n": "",
            "now.epoch == goal.epoch and now.version > goal.version": "now.version > goal.version",
        },
        brain={
            "goal.epoch if goal.epoch == state.highest_epoch != state.revoked_epoch else None": "goal.epoch"
        },
    )
    for thinks, obeyed in ((without(), False), (careless, True)):
        body = serving(thinks)
        body.tell(Do.PROMOTE, 5)
        body.run(2)
        body.tell(Do.DEMOTE, 2)
        body.run(2)
        assert (body.serves() is None) is obeyed
    prove("variant", "H30: a lower epoch is obeyed", caught_by="a database that went back in time")
