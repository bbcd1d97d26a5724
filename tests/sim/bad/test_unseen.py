"""Bad days on which something is not seen, or not done in time: what lives is not ended for it, and what is
missing is not waited for."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler.tick import Autoscaler
from holdfast.cloud import Market, Offering, State
from holdfast.sim.ec2.machine import Ending, Machine
from holdfast.sim.kubernetes.pods import SimNode, Workload
from tests.proof import prove
from tests.sim.bad.days import CALM, TYPES, Day, a_day
from tests.sim.variant_shell import shell_without

MINUTE_S = 60.0


def floor_beside_hung_kubelets(shell: Any) -> str:
    """Two of three kubelets hang, and the machines in their place never join: others are launched."""
    day = _all_ours(shell)
    for node in _nodes(day)[:2]:
        day.cluster.hang(node)
    day.cloud.manners.never_joins = 1.0
    _launches(day, 2)
    day.cloud.manners.never_joins = 0.0
    took_s = day.until(lambda: day.serving >= CALM.min_workers, 60 * MINUTE_S)
    return "" if took_s <= 30 * MINUTE_S else f"{day.serving} workers after {took_s:.0f} s"


def unlisted_while_it_joins(shell: Any) -> str:
    """A new machine is in no listing for an hour, and its node is Ready: it is not ended as late."""
    day = _all_ours(shell)
    new = _replacement(day)
    day.lying.untrue.machines.add(new.instance_id)
    day.world.run(day.world.now + 60 * MINUTE_S)
    day.lying.untrue.machines.clear()
    day.world.run(day.world.now + 30 * MINUTE_S)
    return _ended(day, [new])


def unlisted_and_wanted(shell: Any) -> str:
    """The same: the floor counts on it, so its node is opened."""
    day = _all_ours(shell)
    new = _replacement(day)
    day.lying.untrue.machines.add(new.instance_id)
    took_s = day.until(lambda: day.serving >= CALM.min_workers, 60 * MINUTE_S)
    return "" if took_s <= 20 * MINUTE_S else f"{day.serving} workers after {took_s:.0f} s"


def an_unlisted_node_with_pods(shell: Any) -> str:
    """One node is in no listing for an hour, and its pods are."""
    day = _all_ours(shell)
    day.cluster.deploy(Workload(name="web", cpu_m=1_000, replicas=3))
    day.world.run(day.world.now + MINUTE_S)
    node = next(node for node in _nodes(day) if node.pods)
    day.lying.untrue.nodes.add(node.name)
    day.world.run(day.world.now + 60 * MINUTE_S)
    assert node.machine is not None
    return _ended(day, [node.machine])


def a_template_that_names_no_machine(shell: Any) -> str:
    """The node of a replacement says k3s://…, and takes pods: its machine is not ended, and it is told."""
    day = _all_ours(shell)
    day.cluster.nameless = True
    new = _replacement(day)
    day.world.run(day.world.now + 120 * MINUTE_S)
    if "unmatched" not in day.kinds():
        return "it is not told"
    return _ended(day, [new]) or "; ".join(day.accidents[:1])


def protected_and_unlisted(shell: Any) -> str:
    """EC2 refuses to end a machine; then no listing shows it for a few minutes: it is not taken for gone."""
    day = _all_ours(shell)
    node = _nodes(day)[0]
    machine = node.machine
    assert machine is not None
    machine.protected = True
    day.cluster.hang(node)
    day.until(lambda: "terminationRefused" in day.kinds(), 60 * MINUTE_S)
    day.world.run(day.world.now + 30 * MINUTE_S)
    day.lying.untrue.machines.add(machine.instance_id)
    day.world.run(day.world.now + 3 * MINUTE_S)
    return "; ".join(day.accidents[:1])


def hinted_surplus(shell: Any) -> str:
    """A machine that no record names is hinted at again and again: it is adopted or ended all the same."""
    day = _all_ours(shell)
    surplus = day.cloud.add(
        Offering("a", Market.SPOT, TYPES[0]), action_id="1-late", token="", state=State.RUNNING
    )
    day.cluster.join(surplus)
    others = [m for m in day.cloud.alive() if m.offering.market is Market.SPOT and m is not surplus]
    for _ in range(9):
        for machine in (*others, surplus):
            day.invoke(day.cloud.hint(machine))
        day.world.run(day.world.now + 20 * MINUTE_S)
    return f"{surplus.instance_id} runs on, and takes no pods" if _is_idle(day, surplus) else ""


def surplus_of_another(shell: Any) -> str:
    """A surplus bears another's tags for hours: it is let be until it is listed as ours again."""
    day = _all_ours(shell)
    surplus = day.cloud.add(
        Offering("a", Market.SPOT, TYPES[0]), action_id="1-late", token="", state=State.RUNNING
    )
    day.cluster.join(surplus)
    day.lying.untrue.retagged.add(surplus.instance_id)
    day.world.run(day.world.now + 180 * MINUTE_S)
    if ended := _ended(day, [surplus]):
        return f"{ended} was ended, and listed as another's"
    day.lying.untrue.retagged.clear()
    day.world.run(day.world.now + 60 * MINUTE_S)
    if _is_idle(day, surplus):
        return f"{surplus.instance_id} runs on, and takes no pods"
    return "; ".join(day.accidents[:1])


def told_once(shell: Any) -> str:
    """A machine dies; its node is in no listing for a while, and then it is once more."""
    day = _all_ours(shell)
    node = _nodes(day)[0]
    machine = node.machine
    assert machine is not None
    day.cloud.manners.stopping_s = (90.0, 90.0)  # its node is not deleted before
    day.cloud.end(machine, Ending.FAILED)
    day.until(lambda: "reclaimed" in _told(day, machine), 10 * MINUTE_S)
    day.lying.untrue.nodes.add(node.name)
    day.world.run(day.world.now + 20 * MINUTE_S)
    day.lying.untrue.nodes.clear()
    day.world.run(day.world.now + 10 * MINUTE_S)
    told = _told(day, machine)
    return "" if len(told) == len(set(told)) else f"told {' '.join(told)}"


def _told(day: Day, machine: Machine) -> list[str]:
    told = [one.event.kind for one in day.events(0) if one.event.about == machine.instance_id]
    return [kind for kind in told if kind in ("lost", "notReplaced", "reclaimed")]


def _all_ours(shell: Any) -> Day:
    """Three workers of ours, and none made by hand."""
    day = a_day(shell, replace(CALM, min_workers=3))
    for machine in [m for m in day.cloud.alive() if not m.action_id]:
        day.cloud.end(machine, Ending.FAILED)
    day.world.run(day.world.now + 30 * MINUTE_S)
    assert day.serving == len(_nodes(day)) == 3, "the day begins well"
    return day


def _nodes(day: Day) -> list[SimNode]:
    return [
        node
        for node in day.cluster.by_name.values()
        if node.machine and node.ready and node.machine.action_id
    ]


def _launches(day: Day, count: int) -> None:
    before = len(day.cloud.machines)
    day.until(lambda: len(day.cloud.machines) >= before + count, 30 * MINUTE_S)


def _replacement(day: Day) -> Machine:
    victim = next(machine for machine in day.cloud.alive())
    day.cloud.end(victim, Ending.FAILED)
    _launches(day, 1)
    return max(day.cloud.machines.values(), key=lambda machine: machine.launched_s)


def _ended(day: Day, machines: list[Machine]) -> str:
    return " ".join(each.instance_id for each in machines if not each.alive)


def _is_idle(day: Day, machine: Machine) -> bool:
    node = day.cluster.by_name.get(machine.address)
    return machine.alive and node is not None and node.machine is machine and bool(node.taints)


DAYS: dict[str, tuple[Callable[[Any], str], str, dict[str, str]]] = {
    "bad day: a scale-up waits for what never joins while many nodes are not ready": (
        floor_beside_hung_kubelets,
        "scale_up",
        {
            "        elif late_s > 0 and (doubt := _doubt(snapshot, worker, ghost)):\n": (
                "        elif snapshot.troubles:\n            continue\n"
                "        elif late_s > 0 and (doubt := _doubt(snapshot, worker, ghost)):\n"
            )
        },
    ),
    "S-A9: a machine that is not listed is ended as late beside its Ready node": (
        unlisted_while_it_joins,
        "scale_up",
        {
            "worker, ghost = workers.get(instance_id), snapshot.reporting.get(instance_id)": (
                "worker, ghost = workers.get(instance_id), None"
            )
        },
    ),
    "bad day: a node is not opened while its machine is not listed, and the floor counts on it": (
        unlisted_and_wanted,
        "build",
        {"doubted=_is_doubted(node, listings)": "doubted=True"},
    ),
    "S-A9: a machine is ended for a node that is not listed, though its pods are": (
        an_unlisted_node_with_pods,
        "build",
        {"has_pods=not inhabited.isdisjoint(known_as)": "has_pods=False"},
    ),
    "S-A9: a machine is ended whose node does not name it": (
        a_template_that_names_no_machine,
        "build",
        {'namesake = next((nameless[each] for each in known_as if each in nameless), "")': 'namesake = ""'},
    ),
    "bad day: a protected machine is taken for gone when one listing lacks it": (
        protected_and_unlisted,
        "sweep",
        {"now_s - max(one.at_s, one.retry_s) > settings.absent_s": "now_s - one.at_s > settings.absent_s"},
    ),
    "bad day: a hint that is not followed keeps a surplus": (
        hinted_surplus,
        "sweep",
        {"cluster.interrupted if row.replacement != DECLINED}": "cluster.interrupted}"},
    ),
    "S-A4: a surplus is ended while it is listed as another's": (
        surplus_of_another,
        "sweep",
        {
            "        if worker.ours\n        and worker.instance_id not in named\n": (
                "        if worker.instance_id not in named\n"
            )
        },
    ),
    "bad day: a loss is told again when its node is listed again": (
        told_once,
        "workflow",
        {" or stone.instance_id in ended": ""},
    ),
}


@pytest.mark.parametrize("title", DAYS)
def test_the_shipped_one_gets_through(title: str) -> None:
    day, _, _ = DAYS[title]

    assert day(Autoscaler) == ""


@pytest.mark.parametrize("title", DAYS)
def test_a_day_without(title: str) -> None:
    day, part, changes = DAYS[title]

    assert day(shell_without(part, changes)), "nothing was noticed"
    prove("variant", title, caught_by="a bad day")
