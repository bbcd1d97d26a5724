"""A loop without a queue: EC2's own listings say what it takes back, and what has ended."""

from collections.abc import Callable
from typing import Any

import pytest

from holdfast.autoscaler import codec
from holdfast.autoscaler.tick import Autoscaler
from holdfast.cloud import Market
from holdfast.sim.ec2.machine import Ending, Machine
from holdfast.sim.limits import ItemLimits
from holdfast.sim.memory import MemoryItems
from holdfast.sim.scenarios.scaling import Scaling
from holdfast.sim.world import START_S, World
from tests.proof import prove
from tests.sim.variant_shell import shell_without

BUSY_S, QUIET_S = 2 * 3_600.0, 600.0


def a_quiet_fleet(shell: Any = Autoscaler) -> Scaling:
    """After some busy hours without a fault.  From then on no queue brings anything."""
    world = World(3, None)
    items = MemoryItems(codec.CODEC, limits=ItemLimits(world.now_s))
    scaling = Scaling(world, items, autoscaler=shell, tick_s=30)
    scaling.begin()
    world.run(START_S + BUSY_S)
    scaling.calm()
    scaling.cloud.manners.marks_requests = True
    world.run(world.now + QUIET_S)
    return scaling


def after(
    befalls: Callable[[Scaling, Machine], None], shell: Any = Autoscaler
) -> tuple[Scaling, Machine, list[str]]:
    scaling = a_quiet_fleet(shell)
    spot = [m for m in scaling.cloud.alive() if m.offering.market is Market.SPOT and not m.deadline_s]
    victim = next(machine for machine in spot if machine.served)
    befalls(scaling, victim)
    scaling.world.run(scaling.world.now + 600)
    told = [e.event.kind for e in scaling.events(0) if e.event.about == victim.instance_id]
    return scaling, victim, told


def noticed(scaling: Scaling, victim: Machine) -> None:
    scaling.cloud.notice(victim)  # what it returns is what a queue would bring: here it brings nothing


def fails(scaling: Scaling, victim: Machine) -> None:
    scaling.cloud.end(victim, Ending.FAILED)


def test_a_notice_is_heard_from_the_spot_requests_and_the_node_is_drained_in_time() -> None:
    scaling, victim, told = after(noticed)

    after_notice = [kind for kind in told[told.index("interrupted") :] if kind != "notReplaced"]
    assert after_notice == ["interrupted", "drained", "reclaimed"]
    drained = next(
        e.event
        for e in scaling.events(0)
        if e.event.kind == "drained" and e.event.about == victim.instance_id
    )
    assert drained.at_s < victim.deadline_s
    assert not scaling.accidents


def test_a_machine_that_ends_without_a_word_is_told_of() -> None:
    scaling, _, told = after(fails)

    assert [kind for kind in told if kind in ("interrupted", "lost", "reclaimed")] == ["lost", "reclaimed"]
    assert not scaling.accidents


BROKEN = {
    "H13: spot requests are not asked": (
        "tick", "            marked=self._marked(instances),\n", noticed, "interrupted",
    ),
    "H13: what a listing shows is not taken for a loss": (
        "interruption", "(*snapshot.notices, *_unexpected(cluster, snapshot))", fails, "lost",
    ),
}  # fmt: skip


@pytest.mark.parametrize("title", BROKEN)
def test_without(title: str) -> None:
    part, guard, befalls, kind = BROKEN[title]
    shell = shell_without(part, {guard: "" if part == "tick" else "snapshot.notices"})

    _, _, told = after(befalls, shell)

    assert kind not in told
    prove("variant", title, caught_by="a quiet fleet without a queue")
