"""The simulated cloud keeps EC2's rules: tokens, capacity, rates, listings that lag, notices."""

from dataclasses import replace

import pytest

from holdfast.autoscaler.record import Launch
from holdfast.autoscaler.settings import Pool
from holdfast.cloud import Market, NoticeKind, Offering, State
from holdfast.cloud.launches import Launched, Refusal, Refused, Termination
from holdfast.kernel import Busy
from holdfast.sim.ec2.cloud import LISTED_AFTER_DEATH_S, NOTICE_S, Manners, SimCloud
from holdfast.sim.ec2.machine import Ending, Machine
from holdfast.sim.world import World

SUBNETS = {"subnet-a": "a", "subnet-b": "b"}
POOL = Pool(subnet_ids=tuple(SUBNETS))
SPOT_A = Offering("a", Market.SPOT, "t3.medium")


def a_cloud(**manners: object) -> SimCloud:
    cloud = SimCloud(World(1), SUBNETS, Manners(**{"lag_s": 0.0, **manners}))  # type: ignore[arg-type]
    cloud.prepare(POOL)
    return cloud


def intent(*, count: int = 1, attempt: int = 1, zone: str = "a", instance_type: str = "t3.medium") -> Launch:
    return Launch(
        group=0,
        attempt=attempt,
        pool="default",
        zone=zone,
        subnet_id=f"subnet-{zone}",
        market=Market.SPOT,
        instance_type=instance_type,
        template_id="lt-default",
        template_version=1,
        count=count,
    )


def launched(cloud: SimCloud, launch: Launch, action_id: str = "act") -> tuple[str, ...]:
    answer = cloud.launch(action_id, launch)
    assert isinstance(answer, Launched), answer
    return answer.instance_ids


def refused(cloud: SimCloud, launch: Launch, action_id: str = "act") -> Refusal:
    answer = cloud.launch(action_id, launch)
    assert isinstance(answer, Refused), answer
    return answer.kind


def pass_s(cloud: SimCloud, seconds: float) -> None:
    cloud.world.run(cloud.world.now + seconds)


def states(cloud: SimCloud, lag_s: float | None = None) -> dict[str, State]:
    return {instance.instance_id: instance.state for instance in cloud.instances(lag_s)}


def test_a_repeated_token_is_the_same_launch() -> None:
    cloud = a_cloud()

    first, again = (launched(cloud, intent(count=2)) for _ in range(2))

    assert first == again
    assert len(states(cloud)) == 2
    assert [entry.kind for entry in cloud.log] == ["launched", "repeated"]


def test_a_token_for_another_request_is_a_mismatch_and_in_another_zone_a_launch() -> None:
    cloud = a_cloud()
    launched(cloud, intent())

    assert refused(cloud, intent(count=2)) is Refusal.MISMATCH
    assert launched(cloud, intent(zone="b"))
    assert len(states(cloud)) == 2


@pytest.mark.parametrize("named", [True, False])
def test_the_token_of_dead_machines_never_launches_again(named: bool) -> None:
    cloud = a_cloud(names_dead_tokens=named)
    ids = launched(cloud, intent())
    cloud.terminate(ids)
    pass_s(cloud, 60)

    if named:
        assert refused(cloud, intent()) is Refusal.EXISTED
    else:
        assert launched(cloud, intent()) == ids
    assert set(states(cloud).values()) == {State.TERMINATED}


def test_a_refused_request_leaves_its_token_free_for_a_late_first_try() -> None:
    cloud = a_cloud()
    cloud.wares.left[SPOT_A] = 0
    assert refused(cloud, intent()) is Refusal.CAPACITY
    del cloud.wares.left[SPOT_A]

    assert launched(cloud, intent())


def test_capacity_may_be_partial_and_quota_refuses_the_whole_request() -> None:
    cloud = a_cloud()
    cloud.wares.left[SPOT_A] = 2
    cloud.wares.quota[Market.SPOT] = 3

    assert len(launched(cloud, intent(count=3))) == 2
    assert refused(cloud, intent(count=1, attempt=2)) is Refusal.CAPACITY
    assert refused(cloud, intent(count=2, zone="b")) is Refusal.QUOTA


@pytest.mark.parametrize(
    "wrong",
    [
        {"subnet_id": "subnet-b"},
        {"template_version": 2},
        {"template_id": "lt-other"},
        {"instance_type": "x9.huge"},
    ],
)
def test_a_request_that_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    assert refused(a_cloud(), replace(intent(), **wrong)) is Refusal.REFUSED  # type: ignore[arg-type]


def test_five_launches_at_once_then_two_a_second() -> None:
    cloud = a_cloud()
    for attempt in range(5):
        launched(cloud, intent(attempt=attempt))
    with pytest.raises(Busy):
        cloud.launch("act", intent(attempt=5))
    pass_s(cloud, 0.5)

    assert launched(cloud, intent(attempt=5))


def test_a_machine_boots_joins_ends_and_stays_listed_for_an_hour() -> None:
    cloud = a_cloud()
    joined: list[Machine] = []
    stopped: list[Machine] = []
    cloud.joins, cloud.stops = joined.append, stopped.append
    (machine,) = map(cloud.machines.__getitem__, launched(cloud, intent()))
    assert states(cloud) == {machine.instance_id: State.PENDING}
    pass_s(cloud, 120)
    assert (machine.state, joined) == (State.RUNNING, [machine])

    assert cloud.terminate([machine.instance_id, "i-unknown"]) == {
        machine.instance_id: Termination.ACCEPTED,
        "i-unknown": Termination.NOT_KNOWN,
    }
    assert states(cloud) == {machine.instance_id: State.SHUTTING_DOWN}
    assert stopped == [machine]
    pass_s(cloud, 60)
    assert states(cloud) == {machine.instance_id: State.TERMINATED}
    pass_s(cloud, LISTED_AFTER_DEATH_S)
    assert not states(cloud)
    assert cloud.terminate([machine.instance_id])[machine.instance_id] is Termination.NOT_KNOWN


def test_some_never_join_and_some_die_while_they_boot() -> None:
    cloud = a_cloud(never_joins=0.3, dies_booting=0.3)
    joined: list[Machine] = []
    cloud.joins = joined.append
    launched(cloud, intent(count=100))
    pass_s(cloud, 300)

    dead = sum(machine.ended_by is Ending.FAILED for machine in cloud.machines.values())
    silent = sum(not machine.joins for machine in cloud.machines.values())
    assert 15 < dead < 45
    assert 15 < silent < 45
    assert len(joined) == 100 - dead - silent
    mute = next(machine for machine in cloud.machines.values() if not machine.joins)
    assert cloud.console(mute.instance_id)


def test_a_listing_lags_in_both_directions() -> None:
    cloud = a_cloud()
    old = launched(cloud, intent(count=1))
    pass_s(cloud, 600)
    cloud.terminate(old)
    new = launched(cloud, intent(attempt=2))
    pass_s(cloud, 20)

    seen = [states(cloud, 300.0) for _ in range(40)]

    assert any(shown[old[0]] is State.RUNNING for shown in seen), "the dead one still runs"
    assert any(shown[old[0]] is not State.RUNNING for shown in seen)
    assert any(new[0] not in shown for shown in seen), "the new one is not there yet"
    assert any(new[0] in shown for shown in seen)
    pass_s(cloud, 300)
    assert states(cloud, 300.0)[old[0]] is State.TERMINATED


def test_a_notice_is_followed_by_death_at_its_deadline() -> None:
    cloud = a_cloud()
    (machine,) = map(cloud.machines.__getitem__, launched(cloud, intent()))
    pass_s(cloud, 60)
    given_s = cloud.world.now
    notice = cloud.notice(machine)

    assert (notice.kind, notice.deadline_s - notice.at_s) == (NoticeKind.INTERRUPTION, NOTICE_S)
    pass_s(cloud, NOTICE_S - 1)
    assert machine.state is State.RUNNING
    pass_s(cloud, 2)
    assert machine.ended_s == given_s + NOTICE_S
    assert machine.ended_by is Ending.RECLAIMED


def test_machines_of_others_are_not_listed_and_never_end_by_our_hand() -> None:
    cloud = a_cloud()
    foreign = cloud.add(SPOT_A, foreign=True, state=State.RUNNING)

    assert not states(cloud)
    assert cloud.terminate([foreign.instance_id]) == {foreign.instance_id: Termination.NOT_KNOWN}
    assert foreign.alive
    assert [entry.kind for entry in cloud.log] == ["asked to end"], "the judge hears of it"


def test_templates_are_made_once_for_each_digest() -> None:
    cloud = a_cloud()
    changed = Pool(subnet_ids=tuple(SUBNETS), ami_id="ami-2")
    assert cloud.templates([POOL])["default"].version == 1
    assert not cloud.templates([changed])
    cloud.prepare(changed)
    cloud.prepare(changed)

    assert cloud.templates([changed])["default"].version == 2
    assert cloud.templates([POOL])["default"].version == 1


def test_spot_prices_move_and_unknown_ones_are_left_out() -> None:
    cloud = a_cloud()
    unknown = Offering("a", Market.SPOT, "x9.huge")
    before = cloud.prices([SPOT_A, unknown])
    cloud.wares.drift(cloud.zones)

    assert before.usd(SPOT_A) != cloud.prices([SPOT_A]).usd(SPOT_A)
    assert before.usd(unknown) is None
