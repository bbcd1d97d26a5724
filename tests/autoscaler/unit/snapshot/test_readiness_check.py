"""A second source may have to call a new node Ready before it has joined."""

from pathlib import Path

import pytest

from holdfast.adapters.clock import SystemClock, new_id
from holdfast.adapters.prometheus import Prometheus
from holdfast.app.autoscaler import wiring
from holdfast.app.autoscaler.stores import open_stores
from holdfast.app.doctor import cluster as doctor
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot.build import build
from holdfast.autoscaler.tick import Autoscaler
from holdfast.kernel import Busy
from tests.cli.small_world import SmallWorld
from tests.workloads import listings, node, settings

NEW = node("n-new", instance_id="i-new", joining=True)
OLD = node("n-old", instance_id="i-old")


class Says:
    def __init__(self, *names: str, broken: bool = False) -> None:
        self.names, self.broken, self.asked = frozenset(names), broken, 0

    def ready_nodes(self) -> frozenset[str]:
        self.asked += 1
        if self.broken:
            raise Busy("http://prometheus: refused")
        return self.names


def ready(*names: str | None) -> dict[str, bool]:
    confirmed = None if names == (None,) else frozenset(name for name in names if name)
    return {w.node_name: w.ready for w in build(listings(NEW, OLD, ready_nodes=confirmed)).workers}


def test_a_node_that_the_readiness_check_does_not_call_ready_has_not_joined() -> None:
    assert ready("n-old") == {"n-new": False, "n-old": True}
    assert ready("n-new") == {"n-new": True, "n-old": True}, "a node that has joined needs no second check"


def test_so_has_one_whose_machine_is_not_listed() -> None:
    def unopened(confirmed: frozenset[str] | None) -> frozenset[str]:
        return build(listings(NEW, OLD, instances=[], ready_nodes=confirmed)).unopened

    assert unopened(frozenset({"n-old"})) == frozenset()
    assert unopened(frozenset({"n-new"})) == unopened(None) == frozenset({"i-new"})


def test_without_a_readiness_check_the_word_of_the_api_counts() -> None:
    assert ready(None) == {"n-new": True, "n-old": True}


def test_the_readiness_check_alone_makes_no_node_ready() -> None:
    unready = node("n-new", instance_id="i-new", joining=True, ready=False)

    (worker,) = build(listings(unready, ready_nodes=frozenset({"n-new"}))).workers

    assert not worker.ready


def wired(folder: Path, world: SmallWorld, readiness_check: Says) -> Autoscaler:
    stores = open_stores(Settings(database=str(folder / "state.db")))
    return Autoscaler(
        settings(), stores.store, stores.inbox, world, world, world, SystemClock(), new_id, lambda: 0.5,
        readiness_check=readiness_check,
    )  # fmt: skip


def test_it_is_asked_only_while_a_node_joins(tmp_path: Path) -> None:
    world, readiness_check = SmallWorld.of(2), Says("n-0")
    autoscaler = wired(tmp_path, world, readiness_check)

    assert autoscaler.look().ready_nodes is None
    assert readiness_check.asked == 0
    world.its_nodes.append(node("n-2", joining=True))
    assert autoscaler.look().ready_nodes == frozenset({"n-0"})


def test_a_readiness_check_that_gives_no_answer_makes_no_node_late(tmp_path: Path) -> None:
    world = SmallWorld.of(1)
    world.its_nodes = [node("n-0", joining=True)]

    seen = wired(tmp_path, world, Says(broken=True)).snapshot("me")

    assert [worker.ready for worker in seen.workers] == [True]
    assert seen.troubles == (
        "the readiness check does not answer, so the API's word counts (http://prometheus: refused)",
    )


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        (Settings(prometheus_url="http://here"), False),
        (Settings(prometheus_url="http://here", join_check="prometheus"), True),
        (Settings(join_check="prometheus"), False),
    ],
)
def test_the_settings_say_which_source_is_asked(said: Settings, asked: bool) -> None:
    assert isinstance(wiring.readiness_check_of(said), Prometheus) is asked


def test_the_doctor_asks_the_readiness_check_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def checked(said: Settings) -> list[tuple[bool | None, str]]:
        return [(check.ok, check.says) for check in doctor._join_check(said)]

    assert checked(Settings()) == []
    (nowhere,) = doctor._join_check(Settings(join_check="prometheus"))
    assert (nowhere.ok, nowhere.fix) == (False, "set PROMETHEUS_URL, or JOIN_CHECK=kubernetes")
    monkeypatch.setattr(wiring, "readiness_check_of", lambda _: Says("n-1", "n-2"))
    assert checked(Settings(join_check="prometheus")) == [(True, "2 nodes")]
    monkeypatch.setattr(wiring, "readiness_check_of", lambda _: Says(broken=True))
    ((ok, says),) = checked(Settings(join_check="prometheus"))
    assert not ok
    assert "refused" in says
