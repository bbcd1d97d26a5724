"""What must not rest on a picture that was watched: the tick looks anew, and takes the step again.

On a picture a tick may wait, fold in notices, ask for capacity and say why it does nothing.  Whatever takes a
node out of service, opens one, or brings one of these nearer, rests on lists that were asked for.
"""

from dataclasses import fields
from typing import Final

from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.workflow import Ahead, follows_from_record
from holdfast.kernel import Do, Write

MAY_REST_ON_A_PICTURE: Final = frozenset(
    {
        "schema",
        "lock",
        "scale_up",
        "last_scale_s",
        "last_up_s",
        "pending_since_s",
        "worker_count",
        "interrupted",
        "unavailable",
        "spent",
        "pool_failures",
        "last_action_id",
        "hold_code",
        "hold_reason",
    }
)
"""Fields of the record.  One that is added later is looked at anew until it is named here."""


def must_look_anew(cluster: Cluster, ahead: Ahead) -> bool:
    if isinstance(ahead, Do):
        return not all(map(follows_from_record, ahead.effects))
    if isinstance(ahead, Write):
        changed = {
            each.name
            for each in fields(cluster)
            if getattr(cluster, each.name) != getattr(ahead.value, each.name)
        }
        return not changed <= MAY_REST_ON_A_PICTURE
    return False
