"""What keeps a node, guard by guard: when it is planned, while it is drained, and at its condemnation."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler.ports import Drain, Drained, Terminate, Uncordon
from holdfast.autoscaler.record import (
    Cluster,
    Condemned,
    Cordon,
    Interrupted,
    ScaleDown,
    Skip,
    Status,
    Target,
    Tombstone,
)
from holdfast.autoscaler.scale_down.action import (
    CONSOLE_MAX,
    DRAIN_SLACK_S,
    begin,
    end,
    give_up,
    proceed,
    settle,
    tidy_up,
)
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.cloud import NoticeKind
from holdfast.kernel import FREE, Do, Happened, Lock, Write
from holdfast.kernel.write import EVENTS_MAX
from tests.autoscaler.unit.snapshots import snapshot, worker

NOW = 10_000.0
ACTION = "9990-req-0"
SETTINGS = Settings(min_workers=2, max_batch_down=2, pools=(Pool(name="d"), Pool(name="g")))
CONDEMNED, DRAINED, GONE, KEPT, PLANNED = (
    Status.CONDEMNED,
    Status.DRAINED,
    Status.GONE,
    Status.SKIPPED,
    Status.PLANNED,
)


def seen(zones: str = "aaaa", *, pools: str = "", **said: Any) -> Snapshot:
    named = pools or "d" * len(zones)
    workers = (
        worker(f"i-{n}", zone, launched_s=n, pool=pool)
        for n, (zone, pool) in enumerate(zip(zones, named, strict=True), 1)
    )
    return snapshot(*workers, **said)


def with_floors(**floors: int) -> Settings:
    return replace(
        SETTINGS, pools=tuple(Pool(name=name, min_workers=least) for name, least in floors.items())
    )


def step(cluster: Cluster, look: Snapshot, now_s: float = NOW, settings: Settings = SETTINGS) -> object:
    """What comes next in the open action."""
    assert cluster.scale_down is not None
    return proceed(cluster, cluster.scale_down, look, settings, now_s)


def action(*statuses: Status, started_s: int = 9_990, **said: Any) -> Cluster:
    targets = tuple(Target(f"i-{n}", status) for n, status in enumerate(statuses, 1))
    down = ScaleDown(ACTION, started_s, targets)
    rows = (Condemned(i, ACTION, "scale-down", started_s) for i in down.having(CONDEMNED))
    return Cluster(scale_down=down, **{"condemned": tuple(rows), **said})


def planned(cluster: Cluster, look: Snapshot, settings: Settings = SETTINGS) -> list[str]:
    ahead = begin(cluster, look, settings, NOW)
    if ahead is None:
        return []
    assert ahead.value.scale_down is not None
    return [target.instance_id for target in ahead.value.scale_down.targets]


def statuses(write: object) -> list[Status]:
    assert isinstance(write, Write)
    assert write.value.scale_down is not None
    return [target.status for target in write.value.scale_down.targets]


def news(cluster: Cluster, answer: object, now_s: float = NOW) -> Write[Cluster] | None:
    return settle(cluster, Drain("i-1", ACTION), Happened(answer), SETTINGS, now_s)


@pytest.mark.parametrize(
    "leaving",
    [
        Cluster(gone=(Tombstone("i-4", 9_990),)),
        Cluster(condemned=(Condemned("i-4", "1-a", "surplus", 9_990),)),
        Cluster(interrupted=(Interrupted("i-4", NoticeKind.REBALANCE, 9_990, 9_990),)),
    ],
    ids=["gone", "terminating", "hinted"],
)
def test_a_node_that_leaves_anyway_is_neither_planned_nor_counted(leaving: Cluster) -> None:
    assert planned(Cluster(), seen("aaaa")) == ["i-1", "i-2"]
    assert planned(leaving, seen("aaaa")) == ["i-1"], "three are left, and two must stay"
    assert planned(leaving, seen("aaa")) == ["i-1"]


def test_a_pool_is_not_planned_below_its_floor() -> None:
    assert planned(Cluster(), seen("aaaa", pools="gddd")) == ["i-1", "i-2"]
    assert planned(Cluster(), seen("aaaa", pools="gddd"), with_floors(g=1)) == ["i-2", "i-3"]


def test_a_node_that_must_stay_is_not_planned() -> None:
    def but(*free: str) -> Snapshot:
        return seen("aaaa", must_stay=lambda instance_id: "" if instance_id in free else "a pod")

    assert planned(Cluster(), but("i-4")) == ["i-4"]
    assert planned(Cluster(), but()) == [], "and an empty plan is no plan"


def test_fewer_leave_until_the_pods_of_all_of_them_fit_elsewhere() -> None:
    tried: list[frozenset[str]] = []

    def crowded(leaving: frozenset[str], closed: frozenset[str]) -> str:
        tried.append(leaving)
        return "no room" if len(leaving) > 1 else ""

    assert planned(Cluster(), seen("aaaa", fits_without=crowded)) == ["i-1"]
    assert tried == [frozenset({"i-1", "i-2"}), frozenset({"i-1"})]
    assert planned(Cluster(), seen("aaaa", fits_without=lambda leaving, closed: "no room")) == []


def test_a_plan_says_how_many_there_were_and_how_many_must_be() -> None:
    ahead = begin(Cluster(), seen("aaaa"), SETTINGS, NOW)

    assert ahead is not None
    assert ahead.events[0].numbers == {"workers": 4, "minWorkers": 2}


def test_a_condemnation_keeps_the_floor_of_the_pool_target_by_target() -> None:
    ahead = step(action(DRAINED, DRAINED), seen("aaaaa", pools="ggddd"), settings=with_floors(g=1))

    assert statuses(ahead) == [CONDEMNED, KEPT]
    assert isinstance(ahead, Write)
    assert ahead.events[1].reason == "pool g would fall below its floor"
    enough = with_floors(g=1, d=1)
    assert statuses(step(action(DRAINED), seen("aaaaa", pools="ggddd"), settings=enough)) == [CONDEMNED]


def test_a_drained_target_that_is_not_listed_may_go_if_the_others_are_enough() -> None:
    listed = seen("aaaa")
    without = replace(listed, workers=listed.workers[1:])

    assert statuses(step(action(DRAINED), without)) == [CONDEMNED]


def test_a_node_that_left_in_this_action_does_not_count_though_a_listing_shows_it() -> None:
    for left in (GONE, CONDEMNED):
        forgotten = action(DRAINED, left, condemned=())
        assert statuses(step(forgotten, seen("aaa"))) == [KEPT, left]
    elsewhere = action(DRAINED, condemned=(Condemned("i-2", "1-b", "late", 9_990),))
    assert statuses(step(elsewhere, seen("aaa"))) == [KEPT]


def test_news_of_a_drain_change_only_a_target_that_is_still_to_be_drained() -> None:
    assert statuses(news(action(PLANNED, PLANNED), Drained())) == [DRAINED, PLANNED]
    for status in (DRAINED, CONDEMNED, GONE, KEPT):
        assert news(action(status, PLANNED), Drained()) is None
        assert news(action(status, PLANNED), Drained(blocked_by="a pod")) is None
    assert news(Cluster(), Drained()) is None


def test_a_node_is_not_drained_while_pods_are_left() -> None:
    cluster, some = action(PLANNED, started_s=9_000), Drained(left=1, waiting_for="shop/web to be gone")
    in_time, too_late = 9_000 + SETTINGS.drain_timeout_s, 9_001 + SETTINGS.drain_timeout_s

    assert news(cluster, some, in_time) is None, "the next round goes on"
    kept = news(cluster, some, too_late)
    assert statuses(kept) == [KEPT]
    assert kept is not None
    assert kept.events[0].reason == "not drained within 300 s: shop/web to be gone"
    blocked = news(cluster, Drained(blocked_by="a pod", left=1), in_time)
    assert statuses(blocked) == [KEPT]
    assert blocked is not None
    assert blocked.events[0].reason == "a pod"


def test_a_drain_without_news_is_given_up_by_the_clock() -> None:
    cluster = action(CONDEMNED, PLANNED, started_s=9_000)
    last_s = 9_000 + SETTINGS.drain_timeout_s + DRAIN_SLACK_S

    assert isinstance(step(cluster, seen(), last_s), Do)
    assert statuses(step(cluster, seen(), last_s + 1)) == [CONDEMNED, KEPT]


def test_a_stuck_action_is_given_up_after_its_time_and_not_before() -> None:
    cluster = action(DRAINED, started_s=9_000)
    last_s = 9_000 + SETTINGS.scale_down_stuck_s

    assert statuses(step(cluster, seen(), last_s)) == [CONDEMNED]
    assert statuses(step(cluster, seen(), last_s + 1)) == [KEPT]


def test_a_node_that_is_kept_is_skipped_from_now_on_and_once() -> None:
    before = (Skip("i-1", "before", 10_001), Skip("i-8", "still", 10_001), Skip("i-9", "over", 10_000))

    given_up = give_up(action(PLANNED, skipped=before), "too late", SETTINGS, NOW)

    assert given_up is not None
    until_s = 10_000 + SETTINGS.skip_s
    assert given_up.value.skipped == (Skip("i-8", "still", 10_001), Skip("i-1", "too late", until_s))
    two = step(action(DRAINED, DRAINED, skipped=before[1:2]), seen("aa"))
    assert isinstance(two, Write)
    assert [skip.instance_id for skip in two.value.skipped] == ["i-8", "i-1", "i-2"]


def test_a_machine_that_was_ended_leaves_the_condemned_and_no_stone_is_dropped() -> None:
    stones = (Tombstone("i-7", 9_399), Tombstone("i-8", 9_400), Tombstone("i-9", 9_401))
    other = Condemned("i-5", "1-b", "late", 9_990)
    cluster = action(CONDEMNED, gone=stones)
    cluster = replace(cluster, condemned=(*cluster.condemned, other))

    write = settle(cluster, Terminate("i-1"), Happened("x" * 5_000), SETTINGS, NOW)

    assert write is not None
    assert write.value.condemned == (other,)
    assert write.value.gone == (*stones, Tombstone("i-1", 10_000)), "a step drops those that have run out"
    assert write.events[0].reason == f"its console ended with: {'x' * CONSOLE_MAX}"
    for nothing in (None, ""):
        quiet = settle(cluster, Terminate("i-1"), Happened(nothing), SETTINGS, NOW)
        assert quiet is not None
        assert quiet.events[0].reason == ""


def test_an_action_ends_only_when_nothing_of_it_can_still_be_kept() -> None:
    for status in (PLANNED, DRAINED):
        with pytest.raises(AssertionError):
            end(action(status), NOW)


def test_an_action_that_ends_releases_the_lock_and_counts_what_is_left() -> None:
    cluster = action(GONE, CONDEMNED, KEPT, lock=Lock("me", NOW + 99), worker_count=5)

    ended = end(cluster, NOW).value

    assert (ended.lock, ended.worker_count, ended.scale_down) == (FREE, 3, None)
    assert ended.is_condemned("i-2"), "it goes on dying without the action"
    assert end(replace(cluster, worker_count=1), NOW).value.worker_count == 0


def test_strays_are_found_in_commits_that_fit_and_not_on_nodes_that_are_gone() -> None:
    old = frozenset({"1-old"})
    cordoned = (worker(f"i-{n}", cordons=old, cordoned=True) for n in range(EVENTS_MAX + 20))

    found = tidy_up(Cluster(gone=(Tombstone("i-0", 9_990),)), snapshot(*cordoned), NOW)

    assert isinstance(found, Write)
    assert len(found.value.strays) == len(found.events) == EVENTS_MAX
    assert "i-0" not in {stray.instance_id for stray in found.value.strays}


def test_a_cordon_that_was_lifted_twice_is_noted_once() -> None:
    stray, other = Cordon("i-1", "1-old"), Cordon("i-1", "2-old")
    lifted = settle(Cluster(strays=(stray, other)), Uncordon("i-1", "1-old"), Happened(None), SETTINGS, NOW)

    assert lifted is not None
    assert lifted.value.strays == (other,)
    assert settle(lifted.value, Uncordon("i-1", "1-old"), Happened(None), SETTINGS, NOW) is None


def test_a_target_that_the_cloud_refuses_to_end_is_asked_for_again_when_its_pause_is_over() -> None:
    down = ScaleDown(ACTION, int(NOW), (Target("i-1", CONDEMNED), Target("i-2")))
    refused = Condemned("i-1", ACTION, "scale-down", int(NOW), refused=2, retry_s=int(NOW) + 60)
    cluster = Cluster(scale_down=down, condemned=(refused,))

    def kills(now_s: float) -> list[str]:
        ahead = proceed(cluster, down, seen(), SETTINGS, now_s)
        assert isinstance(ahead, Do)
        return [each.instance_id for each in ahead.effects if isinstance(each, Terminate)]

    assert kills(NOW + 59) == []
    assert kills(NOW + 60) == ["i-1"]
