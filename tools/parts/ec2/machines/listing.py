"""Listings that lag: for the length of one call, moto shows the past.

The one lock is held meanwhile, so no other request sees it.
"""

import copy
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tools.parts.ec2.api.moto_app import Moto, write_state
from tools.parts.ec2.behaviour import Behaviour
from tools.parts.ec2.machines.fleet import Fleet
from tools.parts.ec2.machines.instance import Moment

LAGGING = ("DescribeInstances", "DescribeInstanceStatus", "DescribeTags")


@contextmanager
def as_listed(moto: Moto, fleet: Fleet, behaviour: Behaviour, region: str) -> Iterator[None]:
    """Inside, moto's instances of this region are what a listing shows at this moment."""
    now_s = time.time()
    frozen_s = behaviour.listings_as_of_s
    then_s = now_s - behaviour.lag_s if frozen_s is None else frozen_s
    backend = moto.backend(region)
    all_reservations, present_tags = backend.reservations, dict(backend.tags)
    here = [tracked for tracked in fleet.instances.values() if tracked.region == region]
    shown: dict[str, Moment] = {}
    for tracked in here:
        moment = tracked.at(then_s)
        if moment and not tracked.forgotten(now_s, behaviour.forget_after_s):
            shown[tracked.id] = moment
    try:
        backend.reservations = _only(all_reservations, shown)
        for tracked in here:
            backend.tags.pop(tracked.id, None)
        for instance_id, moment in shown.items():
            write_state(fleet.instances[instance_id].moto, moment.state)
            backend.tags[instance_id] = dict(moment.tags)
        yield
    finally:
        backend.reservations = all_reservations
        backend.tags.clear()
        backend.tags.update(present_tags)
        for instance_id in shown:
            write_state(fleet.instances[instance_id].moto, fleet.instances[instance_id].state)


def _only(reservations: Any, shown: dict[str, Moment]) -> Any:
    kept = type(reservations)()
    for key, reservation in reservations.items():
        instances = [instance for instance in reservation.instances if instance.id in shown]
        if instances:
            kept[key] = copy.copy(reservation)
            kept[key].instances = instances
    return kept
