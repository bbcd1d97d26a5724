"""The judges of a campaign: never two serve, none is without a primary for too long, no instance is lost.

**How long a group may be without a primary.**  A silent one is revoked when its lease is out by the
database's clock, and one that hears no answers after three of them; then come a sweep, the promotion, the
hook, and the first write of a probe: `QUIET_S` for all that.  If servers or the database were in trouble
meanwhile, the trouble itself is added, and one lease in which no server judges any silence.  `BUSY_S` is for
a machine that does other work beside, as often as its cores are wanted.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from tests.real.product.failover_agent.fleet import LEASE_S
from tests.real.product.failover_fleet.campaign import Campaign, Failover, Trouble
from tests.real.product.failover_fleet.fleet import Fleet, Group
from tests.real.product.failover_fleet.ledger import accidents, read, unrecorded

KEPT_S = LEASE_S * 1.01
QUIET_S = 3.0
BUSY_S = 15.0
LEGAL = {"running_primary", "running_replica", "zombie"}
"""What may be left when all groups stand: nothing is on its way, and no machine is the servers' to end."""


def two_served(fleet: Fleet) -> list[str]:
    """By the services' own ledgers, which hold every write that a client was promised."""
    found = []
    for group in fleet.groups:
        ledger = read(group.ledger)
        found += accidents(ledger) + unrecorded(group.probe.acknowledged, ledger)
        if not ledger:
            found.append(f"{group.agent_id}: no write was ever taken")
    return found


def bound_s(failover: Failover, troubles: Sequence[Trouble]) -> float:
    """How long this failover may have taken."""
    met = [
        trouble
        for trouble in troubles
        if trouble.began_s < failover.served_s and trouble.ended_s + KEPT_S > failover.struck_s
    ]
    troubled_s = sum(each.ended_s - each.began_s + KEPT_S for each in met)
    return failover.fault.leases * KEPT_S + QUIET_S + BUSY_S * failover.load + troubled_s


def too_late(campaign: Campaign) -> list[str]:
    return [
        f"{each.group}: {each.took_s:.1f} s after {each.fault.name}, and {limit_s:.1f} s are allowed"
        for each in campaign.failovers
        if each.took_s > (limit_s := bound_s(each, campaign.troubles))
    ]


def unaccounted(fleet: Fleet) -> list[str]:
    """Each machine that was ever started is one row, and each row is one of them, in a legal status."""
    return [problem for group in fleet.groups for problem in _of_group(fleet, group)]


def _of_group(fleet: Fleet, group: Group) -> list[str]:
    rows: list[dict[str, Any]] = fleet.ask("GET", f"/api/agents/{group.agent_id}/instances")
    started = Counter(wired.instance_id for wired in group.machines)
    found = [
        f"{name}: {count} machines, {known} rows"
        for name, count, known in _compared(started, Counter(row["id"] for row in rows))
    ]
    served = {write.instance_id for write in read(group.ledger)}
    primaries = [row["id"] for row in rows if row["is_primary"]]
    newest = group.probe.newest
    if newest is None or primaries != [newest.instance_id]:
        found.append(f"{group.agent_id}: the rows say {primaries}, the last write was taken by {newest}")
    for row in rows:
        status, name = row["instance_status"], row["id"]
        if status not in LEGAL:
            found.append(f"{name} is {status}")
        if status == "running_replica" and name in served:
            found.append(f"{name} has served, lost its role, and is a standby")
    return found


def _compared(started: Counter[str], known: Counter[str]) -> list[tuple[str, int, int]]:
    names = sorted(started | known)
    return [(name, started[name], known[name]) for name in names if started[name] != known[name]]


def untold(fleet: Fleet) -> list[str]:
    """Every epoch under which a service took a write was begun by a promotion that the history tells."""
    found = []
    for group in fleet.groups:
        history: list[dict[str, Any]] = fleet.ask("GET", f"/api/agents/{group.agent_id}/history?limit=1000")
        told = {
            (event["about"], int(event["numbers"].get("epoch", 0)))
            for event in history
            if event["kind"] in ("promoting", "reinstated")
        }
        served = {(write.instance_id, write.epoch) for write in read(group.ledger)}
        found += [f"{name} served under epoch {epoch}, untold" for name, epoch in sorted(served - told)]
    return found


def shown(campaign: Campaign) -> str:
    """What was seen, for whoever runs it by hand."""
    times = sorted(each.took_s for each in campaign.failovers)
    faults = Counter(each.fault.name for each in campaign.failovers)
    troubles = ", ".join(f"{each.name} ({each.ended_s - each.began_s:.1f} s)" for each in campaign.troubles)
    writes = sum(len(group.probe.acknowledged) for group in campaign.fleet.groups)
    return (
        f"{len(times)} failovers of {len(campaign.fleet.groups)} groups, "
        f"{sum(len(group.machines) for group in campaign.fleet.groups)} machines, {writes} writes; "
        f"median {times[len(times) // 2]:.1f} s, longest {times[-1]:.1f} s\n"
        f"  {', '.join(f'{name} {count}' for name, count in sorted(faults.items()))}\n  {troubles}"
    )
