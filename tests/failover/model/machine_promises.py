"""What the rules promise about machines: where standbys are launched, and what is ended when."""

from dataclasses import replace
from typing import Any

from holdfast.cloud.machines import Instance, State
from holdfast.failover.asks import Refusal, Register, change_settings, register
from holdfast.failover.group import GroupSettings, NoticeKind
from holdfast.failover.ports import Launch, Launched, NotLaunched, Terminate
from holdfast.failover.roles import Status
from holdfast.failover.rules.rule import Policy
from holdfast.kernel import Do, Event, Happened, Unknown, Write
from tests.failover.model.bench import TERM, Bench
from tests.failover.model.promises import Make, take

POOLS = ("m.a", "m.b", "m.c")
CLOUD = Policy(term=TERM, machines=True, pools=POOLS, dead_standby_s=60, missing_s=60)


def machines(make: Make, **options: Any) -> Bench:
    """Three members on machines of ours, one a pool, and a cloud that launches and ends."""
    policy = options.pop("policy", CLOUD)
    made = Bench(policy=policy, flow=make(policy), cloud=[], **options)
    assert made.cloud is not None
    for n, pool in enumerate(POOLS, start=1):
        made.join(f"i-{n}", instance_type="m", az=pool[-1])
        made.cloud.append(Instance(f"i-{n}", State.RUNNING, pool[-1], "m"))
    made.answers = {Terminate: lambda effect: ended(made, effect), Launch: lambda effect: begun(made, effect)}
    made.live(15)
    assert made.group.primary == "i-1"
    return made


def begun(made: Bench, effect: Launch) -> Happened[Launched]:
    assert made.cloud is not None
    known = [one for one in made.cloud if one.token == effect.token]
    if not known:
        name = f"m-{sum(one.token != '' for one in made.cloud) + 1}"
        made.cloud.append(Instance(name, State.RUNNING, effect.pool[-1], "m", token=effect.token))
        known = made.cloud[-1:]
    return Happened(Launched(known[0].instance_id, "m", effect.pool[-1]))


def ended(made: Bench, effect: Terminate) -> Happened[None]:
    assert made.cloud is not None
    made.cloud = [
        replace(one, state=State.TERMINATED) if one.instance_id == effect.instance_id else one
        for one in made.cloud
    ]
    made.silent.add(effect.instance_id)
    return Happened(None)


def mark(made: Bench, kind: NoticeKind) -> None:
    """The notice stands in the record; what is done about it is left to the rules."""
    member = replace(made.member("i-1"), notice=kind, deadline_s=made.now + 120)
    made.commit(Write(made.group.put(member, noticed_s=made.now), (Event("noticed", made.now),)))


def a_notice_without_a_standby_launches_at_once_elsewhere(make: Make) -> None:
    made = machines(make, settings=GroupSettings(standbys=0, auto_terminate=False))
    for instance_id in ("i-2", "i-3"):
        made.silent.add(instance_id)
    made.live(15)
    made.answers = {Launch: lambda effect: Unknown("no answer")}
    mark(made, NoticeKind.TERMINATION)
    made.step()
    ahead = made.step()
    assert isinstance(ahead, Do), ahead
    (effect,) = ahead.effects
    assert isinstance(effect, Launch)
    assert effect.pool != "m.a", "another pool than the primary's"
    assert made.group.primary == "i-1", "it serves meanwhile"


def one_emergency_replica_however_many_notices_come(make: Make) -> None:
    made = machines(make, settings=GroupSettings(standbys=0, auto_terminate=False))
    made.silent |= {"i-2", "i-3"}
    made.live(15)
    for kind in (NoticeKind.REBALANCE, NoticeKind.TERMINATION):
        mark(made, kind)
        for _ in range(6):
            made.step()
    assert len([r for r in made.group.replicas if r.emergency]) == 1
    assert len({effect.token for effect in made.effects if isinstance(effect, Launch)}) == 1


def a_failed_pool_is_left_alone_and_on_demand_follows(make: Make) -> None:
    made = machines(make, settings=GroupSettings(standbys=0, auto_terminate=False))
    made.silent |= {"i-2", "i-3"}
    made.live(15)
    refused = Happened(NotLaunched("InsufficientInstanceCapacity", "full"))
    made.answers = {Launch: lambda effect: refused if effect.market == "spot" else begun(made, effect)}
    take(made)
    for _ in range(12):
        made.step()
    asked = [(effect.pool, effect.market) for effect in made.effects if isinstance(effect, Launch)]
    assert asked[:3] == [("m.b", "spot"), ("m.c", "spot"), ("m.b", "on-demand")], asked


def a_former_primary_is_ended_only_while_another_serves_well(make: Make) -> None:
    made = machines(make, settings=GroupSettings(standbys=0, terminate_wait_s=30))
    take(made)
    made.live(5)
    assert made.group.primary == "i-2"
    assert made.status("i-1") is Status.TERMINATING, "no zombie is created"
    made.reports["i-2"] = replace(made.reports["i-2"], healthy=False)
    made.silent.add("i-3")
    made.live(60)
    assert not made.effects, "the last good copy"
    made.reports["i-2"] = replace(made.reports["i-2"], healthy=True)
    made.live(5)
    assert made.effects == [Terminate("i-1")]


def the_wait_before_an_end_is_kept(make: Make) -> None:
    made = machines(make, settings=GroupSettings(standbys=0, terminate_wait_s=300))
    take(made)
    made.live(100)
    assert not made.effects
    made.live(220)
    assert made.effects == [Terminate("i-1")]


def terminated_is_the_clouds_word(make: Make) -> None:
    made = machines(make, settings=GroupSettings(standbys=0, terminate_wait_s=1))
    made.answers = {Terminate: lambda effect: Happened(None)}  # asked, and not gone yet
    take(made)
    for _ in range(20):
        made.beat()
        made.step()
        made.now += 1
    assert Terminate("i-1") in made.effects
    assert made.status("i-1") is Status.TERMINATING, "asked is not gone"


def a_machine_that_one_list_lacks_is_not_gone(make: Make) -> None:
    made = machines(make, settings=GroupSettings(standbys=0, terminate_wait_s=1_000))
    take(made)
    made.live(70)
    assert made.cloud is not None
    made.cloud = [one for one in made.cloud if one.instance_id != "i-1"]
    made.turns()
    assert made.status("i-1") is Status.TERMINATING
    made.live(70)
    assert made.group.member("i-1") is None, "it was missing for long enough"


def zombies_leave_after_their_retention_and_not_before(make: Make) -> None:
    made = machines(make, settings=GroupSettings(standbys=0, auto_terminate=False, zombie_retention_s=3_600))
    take(made)
    made.live(5)
    assert made.status("i-1") is Status.ZOMBIE
    made.now += 3_000
    made.live(10)
    assert made.status("i-1") is Status.ZOMBIE
    made.now += 700
    made.live(10)
    assert made.effects == [Terminate("i-1")], "the cloud is called, not only the row"
    made.live(3)
    assert made.group.member("i-1") is None


def a_zombie_is_not_condemned_while_it_may_be_the_last_good_copy(make: Make) -> None:
    """What is condemned is never taken back: an operator could not revive it any more."""
    made = machines(make, settings=GroupSettings(standbys=0, auto_terminate=False, zombie_retention_s=3_600))
    take(made)
    made.live(5)
    made.silent |= {"i-2", "i-3"}
    made.now += 4_000
    made.live(10)
    assert made.status("i-1") is Status.ZOMBIE, "no other member serves well"
    made.silent.clear()
    made.live(30)
    assert made.effects == [Terminate("i-1")]


def a_late_first_launch_is_ended_and_never_enabled(make: Make) -> None:
    made = machines(make, settings=GroupSettings(standbys=2, launch_timeout_s=30))
    made.commit(change_settings(made.group, {"standbys": 3}, "ada", made.now))
    made.answers = {Launch: lambda effect: Unknown("no answer"), Terminate: lambda e: ended(made, e)}
    for _ in range(40):
        made.beat()
        made.step()
        made.now += 1
    (first, *_) = [effect for effect in made.effects if isinstance(effect, Launch)]
    assert made.group.replicas[0].failure, "given up"
    begun(made, first)  # it arrives now
    assert made.cloud is not None
    late = made.cloud[-1].instance_id
    for _ in range(5):
        made.beat()
        made.step()
        made.now += 1
    refused = register(made.group, Register(instance_id=late, invited=False, token=first.token), made.now)
    assert isinstance(refused, Refusal), "no record wants it"
    made.answers[Launch] = lambda effect: begun(made, effect)
    made.live(5)
    assert Terminate(late) in made.effects


def a_machine_that_was_not_heard_of_is_not_ended_after_a_restore(make: Make) -> None:
    """It may be the primary of what the database has forgotten."""
    made = machines(make, settings=GroupSettings(standbys=2, launch_timeout_s=30))
    made.commit(change_settings(made.group, {"standbys": 3}, "ada", made.now))
    made.turns()
    (launching,) = made.group.having(Status.LAUNCHING)
    made.may_judge = False
    made.now += 600
    made.beat()
    made.turns()
    assert made.status(launching.instance_id) is Status.LAUNCHING
    made.may_judge = True
    made.live(3)
    assert Terminate(launching.instance_id) in made.effects, "nothing came of it"


def a_machine_that_no_record_names_is_shown_and_left_alone(make: Make) -> None:
    made = machines(make)
    assert made.cloud is not None
    made.cloud.append(Instance("m-9", State.RUNNING, "b", "m", token="of a database that is gone"))
    made.live(30)
    assert made.group.strangers == ("m-9",)
    assert not [e for e in made.effects if isinstance(e, Terminate)]


def nothing_is_launched_beside_a_candidate_that_is_promoting(make: Make) -> None:
    made = machines(make, settings=GroupSettings(standbys=3, auto_terminate=False))
    launched = [effect for effect in made.effects if isinstance(effect, Launch)]
    assert launched
    assert all(effect.pool != "m.a" for effect in launched), launched


def an_emergency_replica_is_ended_after_a_quiet_time(make: Make) -> None:
    made = machines(make, settings=GroupSettings(standbys=0, quiet_s=600))
    made.silent |= {"i-2", "i-3"}
    made.live(15)
    take(made, kind=NoticeKind.REBALANCE)
    made.turns()
    made.join("m-1", token=made.group.replicas[0].token)
    made.live(60)
    assert made.status("m-1") is Status.REPLICA, "no switch, and it is kept"
    assert made.group.primary == "i-1"
    made.now += 600
    made.live(5)
    assert Terminate("m-1") in made.effects
