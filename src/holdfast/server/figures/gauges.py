"""What is so, asked of the database at each scrape."""

from collections import Counter
from collections.abc import Iterator

from holdfast.app.failover.stores import Stores
from holdfast.failover.group import Group, subject_of
from holdfast.failover.roles import Status
from holdfast.failover.rules.rule import Situation
from holdfast.failover.rules.standby import unready
from holdfast.kernel import HoldfastError
from holdfast.server.desk.context import Context
from holdfast.server.figures.metrics import Gauge

TERMINATING_LONG_S = 600.0
EXPECTED = (Status.REPLICA, Status.PROMOTING, Status.PRIMARY)


def gauges(stores: Stores, context: Context, granting: str) -> list[Gauge]:
    """Without the database there is one figure: that it is away."""
    try:
        return list(_asked(stores, context, granting))
    except HoldfastError:
        return [("failover_database_up", UP, {}, 0.0)]


UP = "Whether this server reaches its database."


def _asked(stores: Stores, context: Context, granting: str) -> Iterator[Gauge]:
    for (client_id, status), count in sorted(stores.tenants.status_counts().items()):
        yield "instance_status", "Instances by status.", {"client": client_id, "status": status}, count
    several = sum(count > 1 for count in stores.tenants.more_than_one_primary().values())
    yield "failover_groups_with_several_primaries", "Must be 0.", {}, several
    for client in stores.tenants.clients():
        yield from _of_client(context, client.client_id)
    yield (
        "failover_recovering",
        "1: the database went back in time, nothing is granted.",
        {},
        float(bool(granting)),
    )
    yield "failover_database_up", UP, {}, 1.0


def _of_client(context: Context, client_id: str) -> Iterator[Gauge]:
    found: Counter[str] = Counter()
    for agent_id in context.tenants.agents(client_id):
        group = context.store.read(subject_of(client_id, agent_id)).value
        found += _counted(context, group)
    for name, what in FIGURES.items():
        yield name, what, {"client": client_id}, found[name]


FIGURES = {
    "failover_groups": "Groups of the client.",
    "failover_groups_degraded": "Groups without a primary that serves.",
    "failover_groups_without_standby": "Groups in which no standby could take over.",
    "failover_groups_paused": "Groups in which no role changes.",
    "failover_instances_expected": "Instances that should send heartbeats.",
    "failover_instances_silent": "Those of them that do not.",
    "failover_instances_terminating_long": "Instances that are condemned and still there.",
}


def _counted(context: Context, group: Group) -> Counter[str]:
    situation = Situation(group, context.look(group), context.now_s(), context.policy)
    expected = list(group.having(*EXPECTED))
    condemned = group.having(Status.TERMINATING)
    return Counter(
        {
            "failover_groups": 1,
            "failover_groups_degraded": int(group.degraded is not None),
            "failover_groups_without_standby": int(
                not any(not unready(situation, each) for each in group.having(Status.REPLICA))
            ),
            "failover_groups_paused": int(group.paused_until_s > situation.now_s),
            "failover_instances_expected": len(expected),
            "failover_instances_silent": sum(
                situation.of(each).silent_s > group.settings.fresh_s for each in expected
            ),
            "failover_instances_terminating_long": sum(
                situation.now_s > max(each.terminate_at_s, each.since_s) + TERMINATING_LONG_S
                for each in condemned
            ),
        }
    )
