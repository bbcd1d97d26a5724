"""The floor and busy workers use every pool that has room and can be launched from."""

from collections import Counter
from dataclasses import replace
from typing import Any

from holdfast.autoscaler.decide import AddWorkers, Hold, decide
from holdfast.autoscaler.ports import Load
from holdfast.autoscaler.record import Cluster, PoolFailure, Purpose, Unavailable
from holdfast.autoscaler.scale_up.spread import spread
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.snapshot import Place, Snapshot, Worker
from holdfast.autoscaler.workflow import workflow
from holdfast.cloud import Market, Offering, Prices
from holdfast.cloud.kubernetes import Taint
from holdfast.cloud.launches import Template
from holdfast.kernel import Write
from tests.autoscaler.unit.snapshots import NOW_S, snapshot, worker

AT_S = int(NOW_S)
FIRST = Pool(name="first", instance_types=("m5.large",), subnet_ids=("s-1",), max_workers=2)
SECOND = Pool(name="second", instance_types=("c5.large",), subnet_ids=("s-2",), max_workers=9)
TAINTED = Pool(
    name="gpu",
    instance_types=("g5.xlarge",),
    subnet_ids=("s-3",),
    max_workers=9,
    taints=(Taint(key="gpu", effect="NoSchedule"),),
)
SETTINGS = Settings(min_workers=4, max_workers=20, pools=(FIRST, SECOND))


def look(*workers: Worker, **said: Any) -> Snapshot:
    pools = ("first", "second", "gpu")
    usual: dict[str, Any] = {
        "templates": {name: Template(f"lt-{name}", 1, "d") for name in pools},
        "digests": dict.fromkeys(pools, "d"),
        "places": tuple(Place(name, "a", f"s-{n}") for n, name in enumerate(pools, 1)),
    }
    return snapshot(*workers, **{**usual, **said})


def over(
    count: int,
    *workers: Worker,
    cluster: Cluster | None = None,
    pools: tuple[Pool, ...] = SETTINGS.pools,
    beside: Counter[str] | None = None,
    tainted: bool = True,
    seen: Snapshot | None = None,
    **said: Any,
) -> dict[str, int]:
    settings = replace(SETTINGS, pools=pools, **said)
    known = cluster or Cluster()
    return spread(count, known, seen or look(*workers), settings, NOW_S, beside, tainted=tainted)


def test_what_the_first_pool_has_no_room_for_goes_to_the_next() -> None:
    assert over(1) == {"first": 1}
    assert over(4) == {"first": 2, "second": 2}
    assert over(4, worker("i-1", pool="first"), worker("i-2", pool="first")) == {"second": 4}
    assert over(2, beside=Counter(first=1)) == {"first": 1, "second": 1}, "what is asked for beside it counts"


def test_a_pool_that_cannot_be_launched_from_is_passed_over() -> None:
    failed = PoolFailure("first", 1, AT_S + 60, "no image")
    full = (
        Unavailable("spot/m5.large/a", AT_S + 60, "x"),
        Unavailable("on-demand/m5.large/a", AT_S + 60, "x"),
    )

    assert over(1, seen=look(pool_problems={"first": "no image"})) == {"second": 1}
    assert over(1, cluster=Cluster(pool_failures=(failed,))) == {"second": 1}
    assert over(1, cluster=Cluster(pool_failures=(replace(failed, until_s=AT_S),))) == {"first": 1}
    assert over(1, cluster=Cluster(unavailable=full)) == {"second": 1}
    assert over(1, seen=look(templates={}, places=(Place("second", "a", "s-2"),))) == {"second": 1}


def test_what_is_too_dear_in_one_pool_is_had_in_the_next_and_where_it_is_in_all_that_is_told() -> None:
    def floor(usd_max: float) -> tuple[dict[str, int], str]:
        settings = replace(SETTINGS, min_workers=1, usd_per_hour_max=usd_max)
        seen = look(prices=Prices({Offering("a", each, kind): usd for kind, usd in usual for each in Market}))
        begun = workflow(settings).step(Cluster(), seen, NOW_S)
        assert isinstance(begun, Write)
        up = begun.value.scale_up
        return {row.pool: row.count for row in up.launches} if up else {}, begun.value.hold_reason

    usual = (("m5.large", 0.8), ("c5.large", 0.02))
    assert floor(1.0) == ({"first": 1}, "")
    assert floor(0.5) == ({"second": 1}, "")
    assert floor(0.01)[0] == {}
    assert "usd_per_hour_max = 0.01" in floor(0.01)[1]


def test_what_no_pool_can_bring_now_stays_with_the_first_that_has_room() -> None:
    broken = look(pool_problems={"first": "no image", "second": "no image"})

    assert over(3, seen=broken) == {"first": 2}


def test_pools_that_keep_ordinary_pods_off_come_last_and_for_busy_workers_not_at_all() -> None:
    pools = (TAINTED, FIRST)

    assert over(3, pools=pools) == {"first": 2, "gpu": 1}
    assert over(3, pools=pools, tainted=False) == {"first": 2}
    assert over(3, pools=(TAINTED,), tainted=False) == {"gpu": 3}, "there is no other"


def test_the_floor_is_of_launches_that_repair_and_busy_workers_get_one_of_any_pool_with_room() -> None:
    short = decide(Cluster(), look(worker("i-1", pool="first")), SETTINGS, NOW_S)
    assert isinstance(short, AddWorkers)
    assert [(need.pool, need.count) for need in short.needs] == [("first", 1), ("second", 2)]
    assert {need.purpose for need in short.needs} == {Purpose.REPAIR}

    full = [worker(f"i-{n}", pool="first" if n < 2 else "second") for n in range(4)]
    busy = decide(Cluster(), look(*full, load=Load(0.95)), SETTINGS, NOW_S)
    assert isinstance(busy, AddWorkers)
    assert [(need.pool, need.count, need.purpose) for need in busy.needs] == [("second", 1, Purpose.DEMAND)]


def test_busy_workers_get_none_of_a_pool_that_would_take_no_pod_of_theirs() -> None:
    full = look(worker("i-0", pool="first"), worker("i-1", pool="first"), load=Load(0.95))

    held = decide(Cluster(), full, replace(SETTINGS, min_workers=2, pools=(TAINTED, FIRST)), NOW_S)

    assert isinstance(held, Hold)


def test_the_floor_of_a_pool_is_repaired_out_of_the_same_launches() -> None:
    pools = (FIRST, replace(SECOND, min_workers=2))

    short = decide(Cluster(), look(), replace(SETTINGS, min_workers=0, pools=pools), NOW_S)

    assert isinstance(short, AddWorkers)
    assert [(n.pool, n.count, n.purpose) for n in short.needs] == [("second", 2, Purpose.REPAIR)]


def test_where_all_pools_back_off_it_is_said() -> None:
    failures = tuple(PoolFailure(name, 1, AT_S + 60, "no image") for name in ("first", "second"))

    held = decide(Cluster(pool_failures=failures), look(), SETTINGS, NOW_S)

    assert isinstance(held, Hold)
    assert "pool first is backing off" in held.why
