"""Which workers leave: the oldest out of the fullest zone, and never its last."""

from collections import Counter
from collections.abc import Collection, Sequence

from holdfast.autoscaler.snapshot import Worker


def leavers(
    staying: Collection[Worker], *, may_leave: Collection[str], count: int, keep_last_of_zone: bool = True
) -> Sequence[Worker]:
    """Up to `count` workers, in the order in which they should go."""
    left = sorted(staying, key=lambda worker: (worker.instance.launched_s, worker.instance_id))
    chosen: list[Worker] = []
    while len(chosen) < count:
        in_zone = Counter(worker.instance.zone for worker in left)
        candidates = [
            worker
            for worker in left
            if worker.instance_id in may_leave
            and not (keep_last_of_zone and empties_a_zone(worker.instance.zone, in_zone))
        ]
        if not candidates:
            break
        # `max` keeps the first of equals: the oldest in the fullest zone.
        leaver = max(candidates, key=lambda worker: in_zone[worker.instance.zone])
        chosen.append(leaver)
        left.remove(leaver)
    return chosen


def empties_a_zone(zone: str, in_zone: Counter[str]) -> bool:
    """Whether the zone would stand empty without one of its workers, while another is populated."""
    return in_zone[zone] == 1 and len(in_zone) > 1
