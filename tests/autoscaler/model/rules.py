"""What no schedule may do, and how every one must end: the invariants as functions of values."""

from collections import Counter

from holdfast.autoscaler.ports import Admit, DeleteNode, Effect, LaunchInstances, Terminate, Uncordon
from holdfast.autoscaler.record import Cluster, Status
from holdfast.autoscaler.settings import Settings
from tests.autoscaler.model.fleet import TEMPLATE, World


def effect_breaks(cluster: Cluster, world: World, effect: Effect) -> str:
    """What carrying this out now would break, given the newest record."""
    match effect:
        case Terminate(instance_id):
            return termination_breaks(cluster, world, instance_id)
        case Admit(instance_id):
            machine = world.machine(instance_id)
            if machine is not None and machine.alive and machine.joining and not names(cluster, instance_id):
                return f"S-A3: {instance_id} takes pods, and no record names it"
        case DeleteNode(instance_id):
            machine = world.machine(instance_id)
            if machine is not None and machine.alive:
                return f"H5: {instance_id} lives, and its node was deleted"
        case Uncordon(instance_id, action_id):
            machine, row = world.machine(instance_id), cluster.interruption_of(instance_id)
            if machine is not None and row is not None and row.drained and machine.cordons == {action_id}:
                return f"H7: {instance_id} is interrupted and was opened again"
    return ""


def termination_breaks(cluster: Cluster, world: World, instance_id: str) -> str:
    machine = world.machine(instance_id)
    if machine is None or not machine.alive:
        return ""
    if not machine.action_id:
        return f"S-A4: {instance_id} is not ours and was terminated"
    if not cluster.is_condemned(instance_id) and not cluster.is_gone(instance_id):
        return f"S-A4: {instance_id} was terminated without being condemned"
    if machine.pods:
        return f"S-A4: {instance_id} was terminated in service"
    return ""


def asks_unbidden(cluster: Cluster, effect: Effect) -> str:
    """A1: capacity is asked for as the record says.  For one hand alone: another may come late (H1)."""
    up = cluster.scale_up
    if not isinstance(effect, LaunchInstances):
        return ""
    if up is None or up.action_id != effect.action_id or effect.launch not in up.intended:
        return f"A1: {effect.launch.count} are asked for, and no record intends it"
    return ""


def names(cluster: Cluster, instance_id: str) -> bool:
    up = cluster.scale_up
    return (
        instance_id in (up.instance_ids if up else ())
        or any(recent.instance_id == instance_id for recent in cluster.recent)
        or cluster.is_condemned(instance_id)
        or cluster.is_gone(instance_id)
        or cluster.interruption_of(instance_id) is not None
    )


def commit_breaks(
    before: Cluster, after: Cluster, world: World, settings: Settings, seen: frozenset[str] = frozenset()
) -> str:
    """What this commit breaks.  `seen`: the machines that were listed as alive when it was decided."""
    return (
        _replaces_an_action(before, after)
        or _forgets_the_condemned(before, after)
        or _names_twice(after)
        or _condemns_below_the_floor(before, after, world, settings, seen)
    )


def _replaces_an_action(before: Cluster, after: Cluster) -> str:
    was = before.scale_up or before.scale_down
    now = after.scale_up or after.scale_down
    if was and now and was.action_id != now.action_id:
        return f"S-A1: {was.action_id} was replaced by {now.action_id} before it ended"
    return ""


def _forgets_the_condemned(before: Cluster, after: Cluster) -> str:
    for one in before.condemned:
        if not after.is_condemned(one.instance_id) and not after.is_gone(one.instance_id):
            return f"S-A4: that {one.instance_id} is condemned was forgotten"
    down = before.scale_down
    if down and after.scale_down:
        kept = set(down.having(Status.CONDEMNED)) & set(after.scale_down.having(Status.SKIPPED))
        if kept:
            return f"S-A4: {kept} were condemned and are kept"
    return ""


def _names_twice(after: Cluster) -> str:
    ids = Counter(after.scale_up.instance_ids if after.scale_up else ())
    twice = [i for i, n in ids.items() if n > 1]
    return f"S-A2: two requests were answered with {twice}" if twice else ""


def _condemns_below_the_floor(
    before: Cluster, after: Cluster, world: World, settings: Settings, seen: frozenset[str]
) -> str:
    new = {c.instance_id for c in after.condemned} - {c.instance_id for c in before.condemned}
    served = [m for m in world.machines if m.instance_id in new and m.alive and m.node and not m.joining]
    if not served:
        return ""
    left = [
        m
        for m in world.machines
        if (m.alive or m.instance_id in seen)
        and m.node
        and not m.joining
        and not after.is_condemned(m.instance_id)
        and not after.is_gone(m.instance_id)
        # A hint is no certainty: a machine that has one is still there.
        and not ((row := after.interruption_of(m.instance_id)) and row.kind.is_certain)
    ]
    if len(left) < settings.min_workers:
        return f"S-A5: condemning {sorted(new)} leaves {len(left)} of {settings.min_workers}"
    zones = Counter(m.zone for m in left)
    emptied = [m.zone for m in served if not zones[m.zone]]
    if emptied and zones:
        return f"S-A5: condemning {sorted(new)} leaves no worker in {emptied}"
    return ""


def world_breaks(world: World) -> str:
    """S-A2: one success for each request, however often and late it is asked."""
    by_request: dict[str, set[str]] = {}
    for machine in world.machines:
        if machine.request:
            by_request.setdefault(machine.request, set()).add(machine.token)
    twice = [request for request, tokens in by_request.items() if len(tokens) > 1]
    return f"S-A2: {twice} was carried out more than once" if twice else ""


def too_many(cluster: Cluster, world: World, settings: Settings) -> str:
    """Named machines that are not leaving, against the maximum size."""
    staying = [
        m.instance_id
        for m in world.alive
        if names(cluster, m.instance_id) or m.serves
        if not cluster.is_condemned(m.instance_id) and cluster.interruption_of(m.instance_id) is None
    ]
    if len(staying) > settings.max_workers:
        return f"S-A2: {sorted(staying)} are more than {settings.max_workers}"
    return ""


def lacking(cluster: Cluster, world: World, settings: Settings) -> tuple[bool, bool]:
    """Whether the floor, and whether the load, wants more workers than live on or are asked for."""
    coming = cluster.scale_up.owed if cluster.scale_up else 0
    for m in world.machines:
        if m.alive and not cluster.is_condemned(m.instance_id):
            row = cluster.interruption_of(m.instance_id)
            coming += row is None or not row.kind.is_certain
    return coming < settings.min_workers, coming < min(world.wanted, settings.max_workers)


def unfinished(cluster: Cluster, world: World, settings: Settings) -> list[str]:
    """L-A1 to L-A4: what is not yet as it must be in the end."""
    size = max(settings.min_workers, min(world.wanted, settings.max_workers))
    problems = []
    if cluster.scaling_in_progress:
        problems.append(f"L-A1: {cluster.scale_up or cluster.scale_down} is open")
    cordoned = [m.instance_id for m in world.alive if m.cordons]
    if cordoned or cluster.strays:
        problems.append(f"L-A2: {cordoned} are cordoned, {cluster.strays} is written down")
    if len(world.serving) != size:
        problems.append(f"L-A3: {len(world.serving)} serve of {size}")
    if len(world.alive) != len(world.serving):
        problems.append(f"S-A3: {[m.instance_id for m in world.alive if not m.serves]} live and serve no pod")
    if cluster.condemned or cluster.interrupted or cluster.missing:
        problems.append(f"{cluster.condemned} {cluster.interrupted} {cluster.missing} is not over")
    if settings.disruption.drift and (old := [m.instance_id for m in world.alive if m.template != TEMPLATE]):
        problems.append(f"{old} are not as their pool is now")
    if world.inbox:
        problems.append(f"{world.inbox} was not taken out")
    orphans = [m.instance_id for m in world.machines if m.node and not m.alive and not world.brisk]
    if orphans:
        problems.append(f"the nodes of {orphans} have no machine")
    return problems
