"""How many workers may be disrupted by choice within an hour: a share of those in service.

The record keeps which were.  A node that is emptied while pods run on it counts, and one that is replaced; a
node without pods does not.
"""

from dataclasses import replace

from holdfast.autoscaler.fleet import serving
from holdfast.autoscaler.record import Cluster, Disrupted
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot

HOUR_S = 3_600


def this_hour(cluster: Cluster, now_s: float) -> tuple[Disrupted, ...]:
    return tuple(one for one in cluster.disrupted if now_s - one.at_s < HOUR_S)


def left(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> int:
    most = settings.disruption.most_of(len(serving(cluster, snapshot)))
    return max(0, most - len(this_hour(cluster, now_s)))


def booked(cluster: Cluster, instance_id: str, now_s: float) -> Cluster:
    return replace(cluster, disrupted=(*this_hour(cluster, now_s), Disrupted(instance_id, int(now_s))))
