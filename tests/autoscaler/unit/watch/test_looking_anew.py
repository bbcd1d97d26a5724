"""On a picture a tick asks for capacity; before it takes a node out of service it lists."""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.ports import Drain, LaunchInstances, Load, Terminate
from holdfast.autoscaler.record import Cluster, Condemned
from holdfast.autoscaler.tick import Autoscaler
from holdfast.autoscaler.watch.anew import MAY_REST_ON_A_PICTURE, must_look_anew
from holdfast.autoscaler.workflow import Ahead
from holdfast.cloud.kubernetes import DO_NOT_EVICT, KubeNode
from holdfast.kernel import Do, Done, Event, Wait, Write
from tests.autoscaler.unit.tick.test_tick import AT_S, Bench
from tests.cli.small_world import SmallWorld
from tests.proof import prove
from tests.variants import autoscaler_shell_without
from tests.workloads import pending, pod

IDLE = Load(0.1, 0.1)
TOLD = (Event("decision", 1.0),)


@dataclass
class Listed(SmallWorld):
    """Counts how often its nodes are listed."""

    lists: int = 0

    def nodes(self) -> list[KubeNode]:
        self.lists += 1
        return self.its_nodes


@dataclass
class Painted:
    """A picture that is always offered, of whatever world."""

    world: SmallWorld
    asked: list[int] = field(default_factory=list)

    def current(self, version: int) -> Any:
        self.asked.append(version)
        return self.world


def bench_of(world: SmallWorld, *more: Any, picture: Painted, made: Any = Autoscaler, **said: Any) -> Bench:
    bench = Bench(world, *more, made=made, **said)
    bench.auto = replace(bench.auto, picture=picture)
    return bench


def test_capacity_is_asked_for_by_the_picture_alone() -> None:
    base = SmallWorld.of(3)
    full = [pod(f"on-{each.metadata.name}", node=each.metadata.name, cpu="1500m") for each in base.its_nodes]
    listed = Listed(base.machines, base.its_nodes, full)
    waiting = [*full, pending(cpu="1500m")]
    picture = Painted(SmallWorld(listed.machines, listed.its_nodes, waiting))
    bench = bench_of(listed, picture=picture, pending_up_s=0)
    bench.tick()  # learns which cluster this is, and which machines have joined: by lists
    known = listed.lists

    bench.tick()

    assert listed.lists == known, "nothing was listed for it"
    assert [each for each in listed.touched if each.startswith("launch")] == ["launch 1"]
    assert picture.asked == sorted(picture.asked), "each look says beside which version it will stand"


def takes_no_node_by_a_picture(made: Any = Autoscaler) -> None:
    """The picture has not seen the pods that keep every node."""
    base = SmallWorld.of(4, measured=IDLE)
    kept = [pod(f"on-n-{n}", node=f"n-{n}", annotations={DO_NOT_EVICT: "true"}) for n in range(4)]
    listed = Listed(base.machines, base.its_nodes, kept, measured=IDLE)
    record = Cluster(idle_since_s=AT_S - 3_600, cluster_uid=base.uid, joined_since_s=AT_S)
    bench = bench_of(listed, record, picture=Painted(base), made=made)

    bench.tick(for_s=5)

    told = [logged.event.kind for logged in bench.store.events(SUBJECT)]
    assert listed.lists, "it was listed before anything was taken"
    assert "beginScaleDown" not in told
    assert listed.touched == []


def test_what_takes_a_node_rests_on_lists() -> None:
    takes_no_node_by_a_picture()


def test_a_tick_that_trusts_its_picture() -> None:
    made = autoscaler_shell_without(
        {"if self._watched and self._needs_lists(cluster, self._stepped):": "if False:"}
    )
    with pytest.raises(AssertionError):
        takes_no_node_by_a_picture(made)
    prove("variant", "watch: a node is taken by a picture alone", caught_by="a tick")


def test_which_steps_need_a_look() -> None:
    cluster, launch = Cluster(), LaunchInstances("1-a", None)  # type: ignore[arg-type]
    held, condemned = (
        replace(cluster, hold_code="x"),
        replace(cluster, condemned=(Condemned("i-1", "1-a", "idle", 1),)),
    )
    harmless: tuple[Ahead, ...] = (Done(), Wait(1.0, "later"), Do((launch,)), Write(held, TOLD))
    taking: tuple[Ahead, ...] = (
        Do((launch, Drain("i-1", "1-a"))),
        Do((Terminate("i-1"),)),
        Write(condemned, TOLD),
    )
    assert not any(must_look_anew(cluster, ahead) for ahead in harmless)
    assert all(must_look_anew(cluster, ahead) for ahead in taking)


def test_every_field_that_is_named_is_there() -> None:
    assert set(Cluster.__dataclass_fields__) >= MAY_REST_ON_A_PICTURE
