"""Which nodes leave: the oldest out of the fullest zone, and never the last of a zone."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """A worker as the cloud lists it."""

    instance_id: str
    zone: str
    launched_s: int = 0


def leavers(staying: Collection[Node], *, may_leave: Collection[str], count: int) -> Sequence[Node]:
    """Up to `count` nodes, in the order in which they should go."""
    left = sorted(staying, key=lambda node: (node.launched_s, node.instance_id))
    chosen: list[Node] = []
    while len(chosen) < count:
        in_zone = Counter(node.zone for node in left)
        candidates = [
            node for node in left if node.instance_id in may_leave and not empties_a_zone(node, in_zone)
        ]
        if not candidates:
            break
        # `max` keeps the first of equals: the oldest in the fullest zone.
        leaver = max(candidates, key=lambda node: in_zone[node.zone])
        chosen.append(leaver)
        left.remove(leaver)
    return chosen


def empties_a_zone(node: Node, in_zone: Counter[str]) -> bool:
    """Whether its zone would stand empty while another is populated."""
    return in_zone[node.zone] == 1 and len(in_zone) > 1
