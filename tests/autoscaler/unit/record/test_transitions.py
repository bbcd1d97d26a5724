"""The eight transitions by their names, and what each does to the stored item."""

from dataclasses import replace

from holdfast.autoscaler.codec import encode
from holdfast.autoscaler.ports import Admit, Drain, Drained, Effect, LaunchInstances, Load, Terminate
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.snapshot import Need, Place, Snapshot, Worker
from holdfast.autoscaler.workflow import workflow
from holdfast.cloud import Instance, Market, State
from holdfast.cloud.launches import Launched, Refusal, Refused, Template, launch_token
from holdfast.kernel import Do, Happened, Write
from holdfast.kernel.item import Item

NOW_S = 1_730_000_300.0
SETTINGS = Settings(min_workers=2, pools=(Pool(subnet_ids=("s-a", "s-b")),))
FLOW = workflow(SETTINGS)


def worker(instance_id: str, zone: str = "a", *, joining: bool = False, booting: bool = False) -> Worker:
    machine = Instance(
        instance_id,
        State.RUNNING,
        zone,
        "t3.medium",
        Market.SPOT,
        1,
        action_id="1-req-0",
        token=launch_token("1-req-0", 1, 1),
    )
    if booting:
        return Worker(instance=machine)
    return Worker(instance=machine, node_name=f"n-{instance_id}", ready=True, joining=joining)


def snapshot(*workers: Worker, pending: int = 0, cpu: float | None = 0.5) -> Snapshot:
    return Snapshot(
        owner="req-xyz",
        workers=workers,
        pending=pending,
        needs=lambda on_its_way: (Need("default", 2),) if pending and not on_its_way else (),
        load=Load(cpu),
        templates={"default": Template("lt-1", 3, "d")},
        digests={"default": "d"},
        places=(Place("default", "a", "s-a"), Place("default", "b", "s-b")),
    )


def write(cluster: Cluster, seen: Snapshot, now_s: float = NOW_S) -> tuple[Cluster, list[str], Item]:
    ahead = FLOW.step(cluster, seen, now_s)
    assert isinstance(ahead, Write), ahead
    return ahead.value, [event.kind for event in ahead.events], encode(ahead.value)


def effects(cluster: Cluster, seen: Snapshot, now_s: float = NOW_S) -> tuple[Effect, ...]:
    ahead = FLOW.step(cluster, seen, now_s)
    assert isinstance(ahead, Do), ahead
    return ahead.effects


def noted(
    cluster: Cluster, effect: Effect, answer: object, now_s: float = NOW_S
) -> tuple[Cluster, list[str]]:
    settled = FLOW.settle(cluster, effect, Happened(answer), now_s)
    assert settled is not None
    return settled.value, [event.kind for event in settled.events]


FLOOR = (worker("i-1"), worker("i-2", "b"))
WAITING = Cluster(pending_since_s=int(NOW_S) - 1_000, worker_count=2)


def begun() -> Cluster:
    cluster, kinds, item = write(WAITING, snapshot(*FLOOR, pending=5))
    assert "beginScaleUp" in kinds
    assert item["scalingInProgress"] is True
    assert item["scaleUpActionId"] == "1730000300-req-xyz"
    assert item["scaleUpStartedEpoch"] == int(NOW_S)
    assert item["scaleUpRequested"] == 2
    assert item["scaleUpInstanceIds"] == []
    return cluster


def test_begin_scale_up_writes_the_plan_before_anything_is_launched() -> None:
    cluster = begun()

    assert all(
        isinstance(effect, LaunchInstances) for effect in effects(cluster, snapshot(*FLOOR, pending=5))
    )


def test_begin_is_refused_while_any_action_is_in_progress() -> None:
    cluster = begun()
    scaling_up = FLOW.step(cluster, snapshot(*FLOOR, pending=9), NOW_S + 1)

    assert not (isinstance(scaling_up, Write) and any(e.kind.startswith("begin") for e in scaling_up.events))


def recorded() -> Cluster:
    cluster = begun()
    for n, effect in enumerate(effects(cluster, snapshot(*FLOOR, pending=5))):
        cluster, kinds = noted(cluster, effect, Launched((f"i-new-{n}",)))
        assert kinds == ["recordScaleUpInstances"]
    assert encode(cluster)["scaleUpInstanceIds"] == ["i-new-0", "i-new-1"]
    return cluster


def test_record_scale_up_instances_is_only_for_the_action_that_asked() -> None:
    asked = effects(begun(), snapshot(*FLOOR, pending=5))[0]
    assert isinstance(asked, LaunchInstances)
    late = replace(asked, action_id="1-another")

    assert FLOW.settle(begun(), late, Happened(Launched(("i-9",))), NOW_S) is None
    assert recorded().scale_up is not None


def test_complete_scale_up_clears_the_fields_and_begins_the_cool_down() -> None:
    new = (worker("i-new-0", joining=True), worker("i-new-1", "b", joining=True))
    cluster = recorded()
    assert effects(cluster, snapshot(*FLOOR, *new, pending=5)) == (Admit("i-new-0"), Admit("i-new-1"))
    admitted = snapshot(*FLOOR, *(replace(one, joining=False) for one in new))

    cluster, kinds, _ = write(cluster, admitted)
    assert kinds == ["joined", "joined"]
    cluster, kinds, item = write(cluster, admitted, NOW_S + 60)

    assert kinds == ["completeScaleUp"]
    assert item["scalingInProgress"] is False
    assert item["lastScaleEpoch"] == int(NOW_S) + 60
    assert not [name for name in item if name.startswith("scaleUp")]


def test_fail_scale_up_clears_the_fields_backs_off_and_leaves_no_machine_behind() -> None:
    late_s = NOW_S + SETTINGS.join_timeout_s + 1
    booting = snapshot(*FLOOR, worker("i-new-0", booting=True), worker("i-new-1", "b", booting=True))

    cluster, kinds, item = write(recorded(), booting, late_s)
    assert kinds == ["terminating", "terminating"]
    assert set(item["condemnedInstances"]) == {"i-new-0", "i-new-1"}  # type: ignore[arg-type]
    cluster, kinds, item = write(cluster, booting, late_s)

    assert kinds == ["failScaleUp"]
    assert item["scalingInProgress"] is False
    assert item["lastScaleEpoch"] == 0, "only what succeeded cools down"
    assert item["poolFailures"]["default"]["until"] == int(late_s) + SETTINGS.back_off_first_s  # type: ignore[call-overload, index]
    cluster, kinds, _ = write(cluster, booting, late_s)
    assert kinds == ["decision"]
    ends = tuple(Terminate(i, keep_console=True) for i in ("i-new-0", "i-new-1"))
    assert effects(cluster, booting, late_s) == ends
    settled = FLOW.settle(cluster, ends[0], Happened("NOT JOINING: no token"), late_s)
    assert settled is not None
    assert "NOT JOINING: no token" in settled.events[0].reason


def test_a_scale_up_that_is_refused_everywhere_fails_too() -> None:
    cluster = begun()
    for effect in effects(cluster, snapshot(*FLOOR, pending=5)):
        cluster, kinds = noted(cluster, effect, Refused(Refusal.REFUSED, "not authorized"))
        assert kinds == ["launchRefused"]

    _, kinds, item = write(cluster, snapshot(*FLOOR, pending=5))

    assert kinds == ["failScaleUp"]
    assert item["scalingInProgress"] is False


IDLE = Cluster(idle_since_s=int(NOW_S) - 1_000, worker_count=3, last_scale_s=1)
THREE = (worker("i-0"), *FLOOR)


def scaling_down() -> Cluster:
    cluster, kinds, item = write(IDLE, snapshot(*THREE, cpu=0.1))
    assert "beginScaleDown" in kinds
    assert item["scalingInProgress"] is True
    assert item["scaleDownActionId"] == "1730000300-req-xyz"
    assert item["scaleDownStartedEpoch"] == int(NOW_S)
    assert item["scaleDownPhase"] == "DRAINING"
    assert item["scaleDownTargetInstanceIds"] == ["i-0"]
    assert item["scaleDownCompletedInstanceIds"] == []
    return cluster


def condemned() -> Cluster:
    cluster = scaling_down()
    drain = Drain("i-0", "1730000300-req-xyz")
    assert effects(cluster, snapshot(*THREE, cpu=0.1)) == (drain,)
    cluster, kinds = noted(cluster, drain, Drained())
    assert kinds == ["drained"]
    cluster, kinds, item = write(cluster, snapshot(*THREE, cpu=0.1))
    assert kinds == ["terminating"]
    assert item["scaleDownPhase"] == "TERMINATING"
    return cluster


def test_begin_scale_down_writes_the_plan_before_anything_is_touched() -> None:
    assert scaling_down().scale_down is not None


def test_mark_scale_down_instance_done_and_complete() -> None:
    cluster, kinds = noted(condemned(), Terminate("i-0"), None)
    assert kinds == ["terminated"]
    assert encode(cluster)["scaleDownCompletedInstanceIds"] == ["i-0"]

    _, kinds, item = write(cluster, snapshot(*FLOOR, cpu=0.1), NOW_S + 90)

    assert kinds == ["completeScaleDown"]
    assert item["scalingInProgress"] is False
    assert item["lastScaleEpoch"] == int(NOW_S) + 90, "the time of the end, not of the tick that began"
    assert not [name for name in item if name.startswith("scaleDown")]


def test_fail_scale_down_keeps_what_is_not_condemned_and_does_not_cool_down() -> None:
    stuck_s = NOW_S + SETTINGS.scale_down_stuck_s + 1

    cluster, kinds, _ = write(scaling_down(), snapshot(*THREE, cpu=0.1), stuck_s)
    assert kinds == ["drainSkipped"]
    _, kinds, item = write(cluster, snapshot(*THREE, cpu=0.1), stuck_s)

    assert kinds == ["failScaleDown"]
    assert item["scalingInProgress"] is False
    assert item["lastScaleEpoch"] == IDLE.last_scale_s


def test_load_that_comes_back_ends_a_scale_down_and_the_fleet_scales_up() -> None:
    busy = snapshot(*THREE, pending=4)
    cluster = replace(scaling_down(), pending_since_s=int(NOW_S) - 1_000)

    told = []
    for _ in range(3):
        cluster, kinds, _ = write(cluster, busy)
        told += kinds

    assert told == ["drainSkipped", "failScaleDown", "decision", "beginScaleUp"]


def test_pending_and_idle_are_dated_when_they_begin_and_zero_means_not() -> None:
    def timestamps(cluster: Cluster) -> tuple[object, object]:
        item = encode(cluster)
        return item["pendingSinceEpoch"], item["idleSinceEpoch"]

    cluster, _, _ = write(Cluster(), snapshot(*FLOOR, cpu=0.1))
    assert timestamps(cluster) == (0, int(NOW_S))
    cluster, _, item = write(cluster, snapshot(*FLOOR, pending=1), NOW_S + 10)
    assert timestamps(cluster) == (int(NOW_S) + 10, 0)
    assert item["workerCount"] == 2
    cluster, _, _ = write(cluster, snapshot(*FLOOR), NOW_S + 20)
    assert timestamps(cluster) == (0, 0)
