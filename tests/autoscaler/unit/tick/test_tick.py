"""One tick on a small world: inside its time, by a fresh record, and with every notice kept first."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from holdfast.autoscaler.codec import CODEC, SUBJECT
from holdfast.autoscaler.ports import Load
from holdfast.autoscaler.reasons import TickOutcome
from holdfast.autoscaler.record import Cluster, Condemned, ScaleDown, Target
from holdfast.autoscaler.result import TickResult
from holdfast.autoscaler.tick import Autoscaler
from holdfast.autoscaler.tick.turn import TROUBLES_MAX
from holdfast.cloud import Notice, NoticeKind, Prices, State
from holdfast.cloud.kubernetes import Evicted, Eviction, KubeNode, Pod
from holdfast.kernel import Busy, Conflict, HoldfastError, Invalid, Lock, Unknown, Versioned, Write
from holdfast.sim.memory import MemoryItems
from tests.autoscaler.unit.tick.executing import Clock
from tests.cli.small_world import SmallWorld
from tests.workloads import SHAPES, ZONES, budget, instance, node, pending, pod, settings

NOW_S = 1_730_000_000.0
AT_S = int(NOW_S)
NOTICE = Notice("i-0", NoticeKind.INTERRUPTION, AT_S, AT_S + 120)
TTL_S = settings().lock_ttl_s


@dataclass
class Inbox:
    notices: dict[str, Notice] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

    def put(self, notices: Sequence[Notice]) -> None:
        self.log.append("put")
        self.notices |= {notice.key: notice for notice in notices}

    def waiting(self) -> Sequence[Notice]:
        return list(self.notices.values())

    def forget(self, keys: Sequence[str]) -> None:
        for key in keys:
            self.notices.pop(key, None)


class Store(MemoryItems[Cluster]):
    """Reads may take time; reads and commits may fail as often as told."""

    def __init__(self, clock: Clock, log: list[str]) -> None:
        super().__init__(CODEC)
        self.clock, self.log_of_calls = clock, log
        self.read_takes_s = 0.0
        self.troubles: list[HoldfastError] = []
        self.commit_troubles: list[HoldfastError] = []

    def read(self, subject: str) -> Versioned[Cluster]:
        self.log_of_calls.append("read")
        if self.troubles:
            raise self.troubles.pop(0)
        found = super().read(subject)
        self.clock.at_s += self.read_takes_s
        return found

    def commit(
        self, subject: str, found: Versioned[Cluster], write: Write[Cluster], commit_id: str
    ) -> Versioned[Cluster]:
        if self.commit_troubles:
            raise self.commit_troubles.pop(0)
        return super().commit(subject, found, write, commit_id)


class Bench:
    """A world, a record and an autoscaler on both."""

    def __init__(
        self, world: SmallWorld, cluster: Cluster | None = None, *, made: Any = Autoscaler, **said: Any
    ) -> None:
        self.clock, self.inbox, self.world = Clock(NOW_S), Inbox(), world
        self.store = Store(self.clock, self.inbox.log)
        if cluster is not None:
            self.write(cluster)
        ids = iter(range(1_000_000))
        self.auto: Autoscaler = made(
            settings(**said),
            self.store,
            self.inbox,
            world,
            world,
            world,
            self.clock,
            lambda: f"commit-{next(ids)}",
            lambda: 0.5,
        )

    def write(self, cluster: Cluster) -> None:
        found = MemoryItems.read(self.store, SUBJECT)
        self.store.items[SUBJECT] = {
            **CODEC.encode(cluster),
            "version": found.version + 1,
            "commitId": f"written-{found.version}",
        }

    def tick(self, for_s: float = 60.0, *notices: Notice) -> TickResult:
        self.store.log_of_calls.clear()
        return self.auto.tick("me", until_s=self.clock.at_s + for_s, notices=notices)

    @property
    def record(self) -> Cluster:
        return MemoryItems.read(self.store, SUBJECT).value


def draining() -> tuple[SmallWorld, Cluster]:
    """A scale-down under way: the node is closed, and one pod is still on it."""
    world = SmallWorld.of(4, its_pods=[pod("web", node="n-3")], measured=Load(0.1, 0.1))
    world.its_nodes[3] = node("n-3", cordon_owners=["1-a"])
    return world, Cluster(scale_down=ScaleDown("1-a", AT_S - 5, (Target("i-3"),)))


def test_a_tick_with_nothing_to_do_touches_nothing() -> None:
    bench = Bench(SmallWorld.of(3))

    assert bench.tick().outcome == "idle"
    assert bench.world.touched == []
    assert bench.record.worker_count == 3


def test_a_drain_evicts_by_a_fresh_record() -> None:
    bench = Bench(*draining())

    bench.tick(for_s=20)

    assert "evict shop/web" in bench.world.touched


def test_a_record_is_as_old_as_the_moment_when_it_was_asked_for() -> None:
    """A tick that sleeps while the answer is on its way must not act by it as if it were fresh."""
    bench = Bench(*draining())
    bench.store.read_takes_s = 20.0

    bench.tick(for_s=200)

    assert [each for each in bench.world.touched if each.startswith("evict")] == []


def test_nothing_begins_after_its_time() -> None:
    bench = Bench(*draining())

    result = bench.tick(for_s=0)

    assert (result.outcome, bench.world.touched, bench.store.log_of_calls) == ("busy", [], [])
    assert result.why == "no time was left to begin with", "a tick that gets nothing done is no success"


def test_a_tick_ends_inside_its_time_however_long_there_is_work() -> None:
    """The pod never goes: each round rests, and the last one no longer than is left."""
    world, cluster = draining()
    bench = Bench(world, cluster)
    world.evict = lambda pod, **said: Evicted(Eviction.REFUSED, "needs 1")  # type: ignore[method-assign]

    result = bench.tick(for_s=31)

    assert result.outcome == "out of time"
    assert NOW_S + 31 <= bench.clock.at_s < NOW_S + 32


def test_between_two_rounds_of_a_drain_it_rests_as_its_process_wants_and_ends_when_told() -> None:
    world, cluster = draining()
    bench = Bench(world, cluster, after_cordon_s=5)
    asked: list[tuple[float, bool]] = []

    def pause(pause_s: float, drains: bool) -> bool:
        asked.append((pause_s, drains))
        return len(asked) < 2

    bench.auto = replace(bench.auto, pause=pause)
    result = bench.tick(600.0)

    assert asked == [(5, True), (10, True)], "longer with each round that changed nothing"
    assert (result.outcome, result.why) == (TickOutcome.OUT_OF_TIME, "the next tick goes on")
    assert bench.record.scale_down is not None, "what is open is left to the next process"
    assert not bench.record.lock.owner, "which need not wait for us"


def test_time_that_was_spent_on_failing_calls_alone_is_no_work() -> None:
    """The operator must hear of it: an alarm rings for `busy`, and for `out of time` it does not."""
    bench = Bench(SmallWorld.of(3))
    bench.store.troubles = [Busy("the API is down")] * TROUBLES_MAX

    result = bench.tick(for_s=2)

    assert bench.store.troubles, "its time was over before its patience"
    assert (result.outcome, result.why) == ("busy", "the API is down")


@pytest.mark.parametrize("error", [Busy("throttled"), Unknown("no answer")])
def test_a_store_that_stays_busy_is_left_to_the_next_tick(error: HoldfastError) -> None:
    bench = Bench(SmallWorld.of(3))
    bench.store.troubles = [error] * TROUBLES_MAX
    assert bench.tick(for_s=900).outcome == "busy"

    bench.store.troubles = [error] * (TROUBLES_MAX - 1)
    assert bench.tick(for_s=900).outcome == "idle"


def test_a_tick_that_lost_a_race_reads_again() -> None:
    bench = Bench(SmallWorld.of(3))
    bench.store.commit_troubles = [Conflict("another was faster")] * 3

    assert bench.tick().outcome == "idle"
    assert bench.record.worker_count == 3


def test_what_makes_no_sense_is_refused_and_told() -> None:
    bench = Bench(SmallWorld.of(3, broken=Invalid("grant ec2:DescribeInstances")))

    result = bench.tick()

    assert (result.outcome, result.why) == ("refused", "grant ec2:DescribeInstances")


def test_notices_are_kept_before_anything_else() -> None:
    bench = Bench(SmallWorld.of(3))

    bench.tick(60, NOTICE)

    assert bench.store.log_of_calls[:2] == ["read", "put"]
    assert [row.instance_id for row in bench.record.interrupted] == ["i-0"]
    assert bench.inbox.notices == {}, "folded in, and forgotten"


def test_a_tick_that_brings_a_notice_leaves_it_to_the_tick_at_work() -> None:
    bench = Bench(SmallWorld.of(3), Cluster(lock=Lock("other", NOW_S + TTL_S)))

    result = bench.tick(60, NOTICE)

    assert result.outcome == "left to another"
    assert list(bench.inbox.notices) == [NOTICE.key]
    assert bench.record.lock.owner == "other", "and takes no lock away"


def test_the_lock_of_a_holder_that_died_does_not_cost_a_notice_its_time() -> None:
    bench = Bench(SmallWorld.of(3), Cluster(lock=Lock("other", NOW_S + TTL_S - 31)))

    assert bench.tick(60, NOTICE).outcome != "left to another"
    assert bench.record.interrupted != ()


def test_a_tick_that_loses_the_race_for_the_lock_leaves_the_notice_to_the_others() -> None:
    bench = Bench(SmallWorld.of(3))
    bench.store.commit_troubles = [Conflict("another was faster")] * TROUBLES_MAX

    assert bench.tick(60, NOTICE).outcome == "left to another"
    assert list(bench.inbox.notices) == [NOTICE.key]


def test_a_notice_that_came_while_we_held_the_lock_is_ours() -> None:
    """The tick that brought it found the lock taken, and went: no other would come for it."""
    bench = Bench(SmallWorld.of(4))
    late = [Notice("i-1", NoticeKind.INTERRUPTION, AT_S, AT_S + 120)]
    commit = bench.store.commit

    def commits(subject: str, found: Any, write: Any, commit_id: str) -> Any:
        if late and any(event.kind == "lockReleased" for event in write.events):
            bench.inbox.put([late.pop()])
        return commit(subject, found, write, commit_id)

    bench.store.commit = commits  # type: ignore[method-assign]

    bench.tick(300, NOTICE)

    assert {row.instance_id for row in bench.record.interrupted} == {"i-0", "i-1"}


def test_the_lock_is_released_and_only_ours() -> None:
    bench = Bench(SmallWorld.of(3), Cluster(condemned=(Condemned("i-9", "1-a", "surplus", AT_S),)))
    bench.tick(60)
    assert bench.record.lock.owner == ""

    other = Bench(SmallWorld.of(3), Cluster(lock=Lock("other", NOW_S + TTL_S)))
    other.tick(60)
    assert other.record.lock.owner == "other"


@pytest.mark.parametrize("error", [Conflict("stale"), Busy("throttled"), Unknown("no answer")])
def test_a_lock_that_cannot_be_released_runs_out(error: HoldfastError) -> None:
    world, cluster = draining()
    world.its_pods.clear()
    bench = Bench(world, cluster)
    release = bench.store.commit

    def fails_at_the_end(subject: str, found: Any, write: Any, commit_id: str) -> Any:
        if any(event.kind == "lockReleased" for event in write.events):
            raise error
        return release(subject, found, write, commit_id)

    bench.store.commit = fails_at_the_end  # type: ignore[method-assign]

    result = bench.tick(60)

    assert result.outcome in ("idle", "waiting")
    assert result.steps


@pytest.mark.parametrize("error", [Conflict("stale"), Busy("throttled"), Unknown("no answer")])
def test_a_notice_that_cannot_be_kept_is_told_as_busy(error: HoldfastError) -> None:
    bench = Bench(SmallWorld.of(3))

    def put(notices: Sequence[Notice]) -> None:
        raise error

    bench.inbox.put = put  # type: ignore[method-assign]

    result = bench.tick(60, NOTICE)

    assert (result.outcome, result.why) == ("busy", str(error))
    assert bench.record.interrupted == ()


@pytest.mark.parametrize("error", [Busy("throttled"), Unknown("no answer")])
def test_a_tick_that_cannot_tell_whether_it_has_the_lock_asks_again(error: HoldfastError) -> None:
    bench = Bench(SmallWorld.of(3))
    bench.store.commit_troubles = [error] * 2

    bench.tick(60, NOTICE)

    assert bench.record.interrupted != ()


def test_each_step_is_told_when_it_is_taken() -> None:
    bench, told = Bench(SmallWorld.of(3)), list[str]()

    result = bench.auto.tick("me", until_s=NOW_S + 60, notices=(NOTICE,), told=told.append)

    assert told
    assert list(result.steps) == told
    assert result.cluster is not None
    assert result.snapshot is not None


def test_a_look_hands_on_all_that_there_is() -> None:
    world = SmallWorld.of(3, its_pods=[pod("web", node="n-0")], its_budgets=[budget()])
    bench = Bench(world)
    bench.inbox.put([NOTICE])

    look = bench.auto.look("me")

    assert (look.owner, look.settings, list(look.notices)) == ("me", bench.auto.settings, [NOTICE])
    assert (look.pods, look.budgets, look.nodes) == (world.its_pods, world.its_budgets, world.its_nodes)
    assert look.instances == world.machines
    assert (look.zones, look.shapes, look.prices) == (ZONES, SHAPES, Prices(world.usd))
    assert look.digests == {"default": "digest of default"}
    assert look.templates["default"].digest == "digest of default"


def test_load_is_asked_of_workers_in_service_alone() -> None:
    world = SmallWorld.of(3)
    world.its_nodes += [node("n-6"), node("n-7", joining=True), node("n-8"), node("n-9", ready=False)]
    world.machines += [instance("i-6", state=State.TERMINATED), instance("i-7"), instance("i-9")]
    asked: list[str] = []

    def load(nodes: Sequence[KubeNode], pods: Sequence[Pod], window_s: int) -> Load:
        asked.extend(each.metadata.name for each in nodes)
        return Load(0.5)

    world.load = load  # type: ignore[method-assign]

    Bench(world).auto.look("me")

    assert asked == ["n-0", "n-1", "n-2"]


def test_a_tick_says_when_pods_will_have_waited_for_long_enough() -> None:
    waiting = [pending(f"web-{n}", cpu="1") for n in range(9)]
    bench = Bench(SmallWorld.of(3, its_pods=waiting), pending_up_s=180)

    first = bench.tick()
    assert (first.outcome, first.code, first.retry_at_s) == ("idle", "PendingTooShort", NOW_S + 180)
    bench.clock.at_s += 100
    assert bench.tick().retry_at_s == NOW_S + 180
