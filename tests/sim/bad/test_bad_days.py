"""Bad days, one at a time: what befalls the fleet, what must come of it, and the guard without which not."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler.record import Purpose
from holdfast.autoscaler.tick import Autoscaler
from holdfast.cloud import Market
from holdfast.sim.ec2.machine import Ending
from holdfast.sim.kubernetes.pods import Workload
from holdfast.sim.scenarios.bad_days import UNBOUND
from tests.proof import prove
from tests.sim.bad.days import CALM, Day, a_day
from tests.sim.variant_shell import shell_without

MINUTES_S = 60.0


def floor_after_a_dry_spell(shell: Any) -> str:
    """Spot is dry in six types and three zones, and the workers die: on-demand brings the floor back."""
    day = a_day(shell, replace(CALM, min_workers=1, pools=CALM.pools[:1]))
    day.dry()
    for machine in day.cloud.alive():
        day.cloud.end(machine, Ending.RECLAIMED)
    took_s = day.until(lambda: day.serving >= 1, 15 * MINUTES_S)
    refused = sum(entry.kind == "refused" for entry in day.cloud.log)
    if took_s > 10 * MINUTES_S or refused > CALM.spot_refusals_max + 1:
        return f"{day.serving} workers after {took_s:.0f} s and {refused} refusals"
    return ""


def refusals_cost_nothing(shell: Any) -> str:
    """Nothing can be had for a while.  When it can, the floor comes back though few launches are allowed."""
    day = a_day(shell, replace(CALM, repairs_per_hour_max=6, launches_per_hour_max=6))
    day.world.run(day.world.now + 3_600)
    day.dry()
    day.dry(Market.ON_DEMAND)
    for machine in day.cloud.alive():
        day.cloud.end(machine, Ending.FAILED)
    day.world.run(day.world.now + 15 * MINUTES_S)
    day.cloud.wares.left.clear()
    took_s = day.until(lambda: day.serving >= CALM.min_workers, 45 * MINUTES_S)
    return "" if took_s <= 20 * MINUTES_S else f"{day.serving} workers after {took_s:.0f} s"


def a_broken_pool_is_alone(shell: Any) -> str:
    """The GPU pool has no image, its pods wait; an ordinary worker dies and is replaced at once."""
    day = a_day(shell)
    day.cloud.undescribed["gpu"] = "ami_id of pool gpu is empty: name an image"
    return _replaced_beside_gpu(day)


def a_refused_pool_is_alone(shell: Any) -> str:
    """EC2 refuses every launch of the GPU pool, and then every GPU for want of a quota."""
    day = a_day(shell)
    day.cloud.broken_pools["gpu"] = "InvalidAMIID.NotFound: the image is not there"
    if said := _replaced_beside_gpu(day):
        return said
    day.cloud.broken_pools.clear()
    day.cloud.wares.quota |= {"spot/g": 0, "on-demand/g": 0}
    return _replaced_beside_gpu(day)


def _replaced_beside_gpu(day: Day) -> str:
    gpu = {"size": "gpu"}
    day.cluster.deploy(Workload(name="train", node_selector=gpu, tolerates=frozenset({"size"})))
    day.world.run(day.world.now + 20 * MINUTES_S)
    victim = next(machine for machine in day.cloud.alive() if machine.action_id)
    day._deliver(day.cloud.notice(victim))
    day.invoke(day.cloud.notice(victim))
    day.world.run(day.world.now + 3 * MINUTES_S)
    took_s = day.until(lambda: day.serving >= CALM.min_workers, 30 * MINUTES_S)
    return "; ".join(day.accidents[:1]) or "" if took_s <= 5 * MINUTES_S else f"replaced after {took_s:.0f} s"


def hints_starve_nothing(shell: Any) -> str:
    """Hints for every spot machine come all twenty minutes for three hours, and one is taken for certain."""
    day = a_day(shell)
    began = _launched(day)
    for _ in range(9):
        for machine in day.cloud.alive():
            if machine.offering.market is Market.SPOT:
                day.invoke(day.cloud.hint(machine))
        day.world.run(day.world.now + 20 * MINUTES_S)
    more = _launched(day) - began
    if more > 4 * CALM.budget_of(Purpose.HINT) or day.watch.longest_below_s > 10 * MINUTES_S:
        return f"{more} launches, below the floor for {day.watch.longest_below_s:.0f} s"
    return ""


def another_offering(shell: Any) -> str:
    """The replacement of a machine that is being reclaimed is not of its type in its zone."""
    day = a_day(shell)
    victim = next(m for m in day.cloud.alive() if m.offering.market is Market.SPOT)
    began_s = day.world.now
    day.invoke(day.cloud.notice(victim))
    day.world.run(day.world.now + 10 * MINUTES_S)
    new = [m for m in day.cloud.alive() if m.launched_s > began_s]
    same = [m.instance_id for m in new if m.offering == victim.offering]
    return f"{same} of {victim.offering}" if same or not new else ""


def _launched(day: Day) -> int:
    return sum(len(entry.instance_ids) for entry in day.cloud.log if entry.kind == "launched")


def a_full_subnet_bars_itself(shell: Any) -> str:
    """Zone a has two subnets, and one is full: the zone still gets its worker."""
    pools = (replace(CALM.pools[0], subnet_ids=("subnet-a", "subnet-a2")),)
    settings = replace(CALM, pools=pools, min_workers=3)
    day = a_day(shell, settings, subnets={"subnet-a2": "a"})
    day.cloud.full_subnets = {"subnet-a"}
    for machine in day.cloud.alive():
        day.cloud.end(machine, Ending.FAILED)
    took_s = day.until(lambda: day.serving >= 3, 20 * MINUTES_S)
    spot = [m for m in day.cloud.alive() if m.offering.market is Market.SPOT]
    return "" if took_s <= 10 * MINUTES_S and len(spot) == 3 else f"{len(spot)} on spot after {took_s:.0f} s"


def every_pool_with_room(shell: Any) -> str:
    """The first pool may have one worker: the others make up the floor."""
    first = replace(CALM.pools[0], max_workers=1)
    day = a_day(shell, replace(CALM, pools=(first, *CALM.pools[1:])))
    for machine in day.cloud.alive():
        day.cloud.end(machine, Ending.FAILED)
    took_s = day.until(lambda: day.serving >= CALM.min_workers, 20 * MINUTES_S)
    there = sum(machine.pool == "default" for machine in day.cloud.alive())
    if took_s > 10 * MINUTES_S or there > 1:
        return f"{day.serving} workers after {took_s:.0f} s, {there} of the first pool"
    return ""


def pods_without_help_keep_nothing(shell: Any) -> str:
    """A claim that is never bound: the load goes, and so do the workers, though the pod waits on."""
    day = a_day(shell)
    web = day.cluster.deploy(Workload(name="web", cpu_m=1_500, replicas=6, busy=0.9))
    day.until(lambda: day.serving >= 6, 3_600)
    day.cluster.deploy(Workload(name="claim", cpu_m=200, unbound=True, scheduler_says=UNBOUND))
    day.cluster.scale(web, 1)
    day.world.run(day.world.now + 4 * 3_600)
    return "" if day.serving <= CALM.min_workers + 1 else f"{day.serving} are left: {day.record.hold_reason}"


def no_node_again_and_again(shell: Any) -> str:
    """A pod that no node takes, for a reason that is not considered: it gets some nodes, and not for ever."""
    day = a_day(shell)
    day.cluster.deploy(Workload(name="web", cpu_m=1_500, replicas=3, busy=0.05))
    day.world.run(day.world.now + 1_800)
    began = _launched(day)
    says = "node(s) did not have enough free storage"
    day.cluster.deploy(Workload(name="disk", cpu_m=200, unbound=True, in_doubt=True, scheduler_says=says))
    day.world.run(day.world.now + 6 * 3_600)
    more = _launched(day) - began
    return "" if more <= 14 else f"{more} nodes were launched in vain"


def no_deadlock_at_the_maximum(shell: Any) -> str:
    """The fleet is at its greatest size, idle but for pods that wait for another pool."""
    day = a_day(shell, replace(CALM, max_workers=4))
    web = day.cluster.deploy(Workload(name="web", cpu_m=1_500, replicas=4, busy=0.9))
    day.until(lambda: day.serving >= 4, 3_600)
    day.cluster.scale(web, 1)
    gpu = {"size": "gpu"}
    day.cluster.deploy(Workload(name="train", cpu_m=1_000, node_selector=gpu, tolerates=frozenset({"size"})))
    took_s = day.until(lambda: any(m.pool == "gpu" for m in day.cloud.alive()), 2 * 3_600)
    return "" if took_s <= 3_600 else f"pods wait for {took_s:.0f} s: {day.record.hold_reason}"


def phantoms_are_not_on_their_way(shell: Any) -> str:
    """The node of a young worker is deleted by hand, and its machine runs on: the floor does not count it."""
    day = a_day(shell)
    ours = [node for node in day.cluster.by_name.values() if node.machine and node.machine.action_id]
    day.cluster.delete_node(ours[0].name, ours[0].uid)
    took_s = day.until(lambda: day.serving >= CALM.min_workers, 20 * MINUTES_S)
    return "" if took_s <= 5 * MINUTES_S else f"{day.serving} workers after {took_s:.0f} s"


def half_of_the_nodes_deleted(shell: Any) -> str:
    """By hand, and their machines run on: none is ended, and the floor is made good within the maximum."""
    day = a_day(shell, replace(CALM, min_workers=6, max_workers=8))
    before = {machine.instance_id for machine in day.cloud.alive()}
    undo = day.lying.nodes_deleted()
    took_s = day.until(lambda: day.serving >= 6, 20 * MINUTES_S)
    day.world.run(day.world.now + 60 * MINUTES_S)
    ended = before - {machine.instance_id for machine in day.cloud.alive()}
    if took_s > 5 * MINUTES_S or ended or len(day.cloud.alive()) > 8:
        return f"{day.serving} workers after {took_s:.0f} s, {sorted(ended)} are ended"
    undo()
    day.world.run(day.world.now + 30 * MINUTES_S)
    return "; ".join(day.judge.unhealed())


def hung_kubelets_are_replaced(shell: Any) -> str:
    """Two of four kubelets hang.  Pods wait no longer than the limit and a boot; the machines are ended."""
    day = a_day(shell, replace(CALM, min_workers=4))
    for node in [n for n in day.cluster.by_name.values() if n.machine and n.machine.action_id][:2]:
        day.cluster.hang(node)
    hung = [m for m in day.cloud.alive() if m.action_id][:2]
    took_s = day.until(lambda: day.serving >= 4, 2 * 3_600) if day.serving < 4 else 0.0
    day.world.run(day.world.now + 60)
    took_s += day.until(lambda: day.serving >= 4, 2 * 3_600)
    day.world.run(day.world.now + 30 * MINUTES_S)
    left = [m.instance_id for m in hung if m.alive]
    return "" if took_s <= 25 * MINUTES_S and not left else f"after {took_s:.0f} s, {left} run on"


DAYS: dict[str, tuple[Callable[[Any], str], str, dict[str, str]]] = {
    "bad day: spot is dry, and on-demand is not reached in many types and zones": (
        floor_after_a_dry_spell,
        "launch_plan",
        {"    if impatient or attempt > settings.spot_refusals_max:\n": "    if attempt > 10**9:\n"},
    ),
    "bad day: what was certainly refused is spent": (
        refusals_cost_nothing,
        "launch_result",
        {
            "unspent = cluster if launched else refunded(cluster, up.action_id, row, row.count)": (
                "unspent = cluster"
            )
        },
    ),
    "bad day: a pool that cannot be described stops every tick": (
        a_broken_pool_is_alone,
        "pools",
        {
            "        except Invalid as error:\n            found.problems[pool.name] = str(error)\n": (
                "        except KeyError as error:\n            found.problems[pool.name] = str(error)\n"
            )
        },
    ),
    "bad day: a quota of one family bars its whole market": (
        a_refused_pool_is_alone,
        "launch_result",
        {
            "_for_long(write.value, row.offering.quota": (
                "_for_long(_for_long(write.value, 'on-demand/standard', 'quota', now_s), 'spot/standard'"
            )
        },
    ),
    "bad day: hints have no budget of their own": (
        hints_starve_nothing,
        "workflow",
        {
            "    if len(hints) > left:\n": "    if False:\n",
            "_replaced(cluster, snapshot, hints, Purpose.HINT,": (
                "_replaced(cluster, snapshot, hints, Purpose.REPAIR,"
            ),
        },
    ),
    "bad day: a replacement goes where machines are being reclaimed": (
        another_offering,
        "interruption",
        {"        cluster = _reclaimed(cluster, snapshot, notice, now_s)\n": ""},
    ),
    "bad day: a full subnet bars its zone": (
        a_full_subnet_bars_itself,
        "launch_result",
        {"barred(write.value, row.subnet_id, settings": "barred(write.value, str(row.offering), settings"},
    ),
    "bad day: the floor uses the first pool only": (
        every_pool_with_room,
        "spread",
        {
            "    for pool in pools:\n        most =": "    for pool in pools[:1]:\n        most =",
            "        for name in with_room[:1]:\n"
            "            chosen[name] += min(left, room[name] - chosen[name])\n": (
                "        chosen[pools[0].name] += left\n"
            ),
        },
    ),
    "bad day: a pod whose claim is not bound keeps idle workers": (
        pods_without_help_keep_nothing,
        "idle",
        {"        and not snapshot.pods_wait_for(pool.name)\n": "        and not snapshot.waiting\n"},
    ),
    "bad day: an empty node that helped no pod is asked for again and again": (
        no_node_again_and_again,
        "workflow",
        {"        lambda: unhelped.note(cluster, snapshot, now_s),\n": ""},
    ),
    "bad day: pods that wait for one pool keep the workers of another": (
        no_deadlock_at_the_maximum,
        "idle",
        {"        and not snapshot.pods_wait_for(pool.name)\n": "        and not snapshot.pending\n"},
    ),
    "bad day: a machine whose node is gone counts for the floor": (
        phantoms_are_not_on_their_way,
        "decide",
        {"return without_node(cluster, snapshot) if listed or not snapshot.doubts else ()": "return ()"},
    ),
    "bad day: the floor waits for nodes that were deleted, many at once": (
        half_of_the_nodes_deleted,
        "decide",
        {"if listed or not snapshot.doubts else ()": "if not snapshot.doubts else ()"},
    ),
    "bad day: a node that is not ready counts as a worker for ever": (
        hung_kubelets_are_replaced,
        "workflow",
        {"        lambda: not_ready.fold(cluster, snapshot, settings, now_s),\n": ""},
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
