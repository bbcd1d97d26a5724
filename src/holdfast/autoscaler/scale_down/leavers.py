"""Which workers leave: the oldest out of the fullest zone, and never its last."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence

from holdfast.autoscaler.snapshot import Worker


def leavers(
    staying: Collection[Worker],
    *,
    may_leave: Callable[[str], bool],
    count: int,
    keep_last_of_zone: bool = True,
) -> Sequence[Worker]:
    """Up to `count` workers, in the order in which they should go.  No more are asked than need be."""
    left = sorted(staying, key=lambda worker: (worker.instance.launched_s, worker.instance_id))
    chosen: list[Worker] = []
    while len(chosen) < count:
        in_zone = Counter(worker.instance.zone for worker in left)
        # Sorting keeps the order of equals: the oldest in the fullest zone comes first.
        fullest_first = sorted(left, key=lambda worker: -in_zone[worker.instance.zone])
        leaver = next(
            (
                worker
                for worker in fullest_first
                if not (keep_last_of_zone and empties_a_zone(worker.instance.zone, in_zone))
                and may_leave(worker.instance_id)
            ),
            None,
        )
        if leaver is None:
            break
        chosen.append(leaver)
        left.remove(leaver)
    return chosen


def empties_a_zone(zone: str, in_zone: Counter[str]) -> bool:
    """Whether the zone would stand empty without one of its workers, while another is populated."""
    return in_zone[zone] == 1 and len(in_zone) > 1
