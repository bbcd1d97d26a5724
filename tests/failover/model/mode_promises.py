"""What the rules promise about modes, an agent's own word, pools, and what is told of a zombie's end."""

from dataclasses import replace

from holdfast.failover.group import GroupSettings, Mode
from holdfast.failover.ports import Launch, Terminate
from holdfast.failover.roles import Status
from holdfast.kernel.event import Severity
from tests.failover.model.machine_promises import machines
from tests.failover.model.promises import Make, bench, take


def manual_mode_keeps_exactly_one_standby(make: Make) -> None:
    """However many the other mode keeps: silent ones are replaced by one, and a second is one too many."""
    made = machines(make, settings=GroupSettings(mode=Mode.MANUAL_REPLICA, standbys=3))
    assert not made.effects, "two are more than enough, and neither was launched by us"
    made.silent |= {"i-2", "i-3"}
    made.live(90)
    asked = {effect.token for effect in made.effects if isinstance(effect, Launch)}
    assert len(asked) == 1, f"{len(asked)} launches for one standby"
    made.join("m-1", token=made.group.replicas[0].token)
    made.silent -= {"i-2"}
    made.live(30)
    assert Terminate("m-1") in made.effects, "two standbys, and one is wanted"
    assert made.status("i-2") is Status.REPLICA


def a_primary_whose_agent_is_stopping_hands_over(make: Make) -> None:
    """`status=stopping` in its heartbeat is a notice, whatever the cloud says."""
    made = bench(make)
    made.live(5)
    assert made.group.primary == "i-1"
    made.reports["i-1"] = replace(made.reports["i-1"], status="stopping")
    made.live(5)
    assert made.group.primary == "i-2", "nothing was handed over"
    (revoked,) = made.events("revoked")
    assert (revoked.about, revoked.code) == ("i-1", "STOPPING")


def the_pool_that_was_ready_soonest_is_asked_first(make: Make) -> None:
    made = machines(make, settings=GroupSettings(standbys=2))
    made.store.ready_s |= {"m.a": [1.0], "m.b": [90.0], "m.c": [20.0, 40.0]}
    made.silent |= {"i-2", "i-3"}
    made.live(90)
    asked = [effect.pool for effect in made.effects if isinstance(effect, Launch)]
    assert asked, "nothing was launched"
    assert asked[0] == "m.c", f"{asked[0]} before m.c, and m.a is the primary's own"


def the_end_of_a_zombie_is_told_by_the_seeds_name(make: Make) -> None:
    made = machines(make, settings=GroupSettings(standbys=0, auto_terminate=False, zombie_retention_s=3_600))
    take(made)
    made.live(5)
    assert not made.events("zombie_cleanup")
    made.now += 3_600
    made.live(10)
    (told,) = made.events("zombie_cleanup") or [None]
    assert told is not None, "its end has another name"
    assert (told.about, told.kind.severity) == ("i-1", Severity.INFO)
    assert "kept" in told.reason
