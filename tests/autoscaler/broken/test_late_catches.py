"""A tick comes late: what the shipped autoscaler does then, and one with a guard taken out does not."""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.autoscaler import execute, tick
from holdfast.autoscaler import workflow as shipped
from holdfast.autoscaler.execute import ADMIT_WITHIN_S
from holdfast.autoscaler.ports import Admit
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.kernel import Write
from tests.autoscaler.unit.record.test_workflow import TWO
from tests.autoscaler.unit.scale_up.test_action import row, scaling_up
from tests.autoscaler.unit.snapshot.test_readiness_check import Says
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, snapshot, worker
from tests.autoscaler.unit.tick import executing
from tests.autoscaler.unit.tick import test_execute as crowds
from tests.autoscaler.unit.tick import test_tick as ticking
from tests.cli.small_world import SmallWorld
from tests.proof import prove
from tests.variants import autoscaler_shell_without, autoscaler_without, broken
from tests.workloads import budget, node, pod

HOUR_S = 3_600
UNOPENED = snapshot(*TWO, worker("i-9", joining=True))
"""Ready, and the taint has not been lifted."""


def told(module: Any, cluster: Cluster, seen: Snapshot, *, hours: int) -> list[str]:
    """Kinds of what is written by a process that looks once an hour, and whose effects all fail."""
    step, kinds = module.workflow(SETTINGS).step, list[str]()
    for hour in range(1, hours + 1):
        while isinstance(ahead := step(cluster, seen, NOW_S + hour * HOUR_S), Write):
            kinds += [event.kind for event in ahead.events]
            cluster = ahead.value
    return kinds


def ends_a_ready_node(module: Any) -> str:
    kinds = told(module, scaling_up(row(1, "i-9")), UNOPENED, hours=1)
    return "a ready node is condemned" if "terminating" in kinds else ""


def gives_up_a_request(module: Any) -> str:
    kinds = told(module, scaling_up(row()), snapshot(*TWO), hours=1)
    return "the request is given up" if "launchAbandoned" in kinds else ""


def never_ends(module: Any) -> str:
    kinds = told(module, scaling_up(row(1, "i-9")), UNOPENED, hours=6)
    return "" if "terminating" in kinds else f"after six hours it is still open: {kinds}"


def opens_late(module: Any) -> str:
    cluster = executing.Cluster(node(joining=True))
    executor = executing.executor_of(
        cluster, read_s=executing.NOW_S - ADMIT_WITHIN_S - 1, made=module.Executor
    )
    executing.do(executor, Admit("i-1"))
    return "a node is opened by an old record" if cluster.log else ""


def takes_an_unlisted_node_for_drained(module: Any) -> str:
    executor = executing.executor_of(executing.Cluster(node(), [pod("a", node="n-1")]), made=module.Executor)
    executor.names = {}  # as of a listing that lacks the node
    return "" if executing.drained(executor).blocked_by else "a node that is not listed counts as drained"


def collide(module: Any) -> str:
    cluster = crowds.Crowd(crowds.give_way)
    crowds.drain_crowd(cluster, [budget(selector={"app": "web"}, allowed=20)], module.Executor)
    return f"{cluster.most_at_once} evictions at once" if cluster.most_at_once > 1 else ""


def evicts_by_an_old_record(module: Any) -> str:
    bench = ticking.Bench(*ticking.draining(), made=module.Autoscaler)
    bench.store.read_takes_s = 20.0
    bench.tick(for_s=200)
    return " ".join(each for each in bench.world.touched if each.startswith("evict"))


def counts_a_ready_node_as_unready(module: Any) -> str:
    world = SmallWorld.of(1)
    world.its_nodes = [node("n-0", joining=True)]
    auto = ticking.Bench(world, made=partial(module.Autoscaler, readiness_check=Says(broken=True))).auto
    return "" if auto.snapshot("me").workers[0].ready else "a ready node counts as not ready"


Tell = Callable[[Any], str]
SCALING_UP: dict[str, tuple[dict[str, str], Tell]] = {
    "L-A3: a ready node is ended because no tick looked in time": (
        {"(ready or row.status is": "(row.status is"},
        ends_a_ready_node,
    ),
    "L-A3: a request whose answer was lost is given up because no tick looked in time": (
        {" and (ready or row.status is LaunchStatus.INTENDED)": " and ready"},
        gives_up_a_request,
    ),
    "L-A1: a scale-up is given more time again and again": (
        {"is_over and row.extended < again and": "is_over and"},
        never_ends,
    ),
}
EXECUTING: dict[str, tuple[dict[str, str], Tell]] = {
    "S-A4: a node is opened by a record that was read long ago": (
        {'            self._still_fresh(ADMIT_WITHIN_S, "admit")\n': ""},
        opens_late,
    ),
    "S-A4: a node that is not listed counts as drained": (
        {'return Drained(blocked_by="its node is not listed")': "return Drained()"},
        takes_an_unlisted_node_for_drained,
    ),
    "H11: evictions under one budget are sent side by side": (
        {"                turns.enter_context(self._turn(called))\n": ""},
        collide,
    ),
}


TICKING: dict[str, tuple[dict[str, str], Tell]] = {
    "S-A4: a tick that sleeps over the answer to its read takes the record for fresh": (
        {"self._executor.read_s = asked_s": "self._executor.read_s = self._auto.clock.now_s()"},
        evicts_by_an_old_record,
    ),
    "L-A3: a readiness check that gives no answer makes every new node late": (
        {'({error})")\n            return None\n\n': '({error})")\n            return frozenset()\n\n'},
        counts_a_ready_node_as_unready,
    ),
}


@pytest.mark.parametrize("title", SCALING_UP)
def test_scaling_up_without(title: str) -> None:
    changes, tell = SCALING_UP[title]

    assert tell(shipped) == ""
    assert tell(autoscaler_without({"scale_up": changes}))
    prove("variant", title, caught_by="a story")


@pytest.mark.parametrize("title", [*EXECUTING, *TICKING])
def test_a_shell_without(title: str) -> None:
    module = execute if title in EXECUTING else tick
    changes, tell = {**EXECUTING, **TICKING}[title]

    assert tell(module) == ""
    if title in TICKING:
        assert tell(SimpleNamespace(Autoscaler=autoscaler_shell_without(changes)))
    else:
        assert tell(broken(module.__name__, changes))
    prove("variant", title, caught_by="a story")
