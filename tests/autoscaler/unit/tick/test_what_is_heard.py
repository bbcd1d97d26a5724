"""What a tick learns from the cloud itself, and what it tells the objects that it touches."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from holdfast.autoscaler.record import Cluster
from holdfast.cloud import Market, Notice, NoticeKind, State
from holdfast.cloud.announcements import Announcement
from holdfast.cloud.kubernetes import Evicted, Eviction
from holdfast.kernel import HoldfastError, Invalid
from tests.autoscaler.unit.tick.test_tick import NOW_S, Bench, draining
from tests.cli.small_world import SmallWorld


@dataclass
class Telling(SmallWorld):
    """It marks machines that it takes back, and keeps what is told to its objects."""

    says: Sequence[Notice] | HoldfastError = ()
    told: list[Announcement] = field(default_factory=list)

    def marked(self) -> Sequence[Notice]:
        if isinstance(self.says, HoldfastError):
            raise self.says
        return self.says

    def announce(self, announcement: Announcement, at_s: float) -> None:
        self.told.append(announcement)


def a_world() -> Telling:
    world = Telling.of(3)
    assert isinstance(world, Telling)
    world.machines = [replace(each, market=Market.SPOT) for each in world.machines]
    return world


def test_rounds_of_one_drain_are_told_once() -> None:
    world, cluster = draining()
    world.evict = lambda pod, **said: Evicted(Eviction.REFUSED, "needs 1")  # type: ignore[method-assign]
    bench = Bench(world, cluster)

    result = bench.tick(for_s=100)

    assert result.outcome == "out of time"
    assert result.steps.count("drain i-3") == 1, result.steps


MARKED = Notice("i-0", NoticeKind.INTERRUPTION, int(NOW_S), int(NOW_S) + 120)


def test_a_machine_that_the_cloud_marks_is_interrupted_and_its_node_is_told() -> None:
    world = a_world()
    world.says = (MARKED,)
    bench = Bench(world)

    bench.tick()

    assert [row.instance_id for row in bench.record.interrupted] == ["i-0"]
    assert ("n-0", "SpotInterruption") in [(each.name, each.reason) for each in world.told]


def test_a_cloud_that_does_not_tell_stops_no_tick() -> None:
    world = a_world()
    world.says = Invalid("ec2:DescribeSpotInstanceRequests is not allowed")
    bench = Bench(world)

    assert not bench.tick().outcome.failed
    assert bench.record.interrupted == ()


def test_a_machine_that_has_ended_while_its_node_stands_there_is_a_loss() -> None:
    world = a_world()
    world.machines[0] = replace(world.machines[0], state=State.TERMINATED, ended_why="Server.SpotInstance")
    bench = Bench(world, Cluster())

    bench.tick()

    lost = [each for each in bench.store.events("cluster", 0) if each.event.kind == "lost"]
    assert [(each.event.about, each.event.reason) for each in lost] == [("i-0", "Server.SpotInstance")]
