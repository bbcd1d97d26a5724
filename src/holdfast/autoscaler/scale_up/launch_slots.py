"""Where new machines go: zones balanced, spot before on-demand."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from holdfast.cloud import Market, Offering


@dataclass(frozen=True, slots=True)
class LaunchSlot:
    """Where one new machine goes."""

    zone: str
    subnet_id: str
    market: Market
    instance_type: str

    @property
    def offering(self) -> Offering:
        return Offering(self.zone, self.market, self.instance_type)


def launch_slots(
    count: int,
    *,
    instance_types: Sequence[str],
    markets: Sequence[Market],
    subnets: Sequence[tuple[str, str]],
    in_zone: Counter[str],
    refused: Callable[[LaunchSlot], str],
) -> list[LaunchSlot]:
    """Up to `count` places: the emptiest zone first, the first market everywhere before the next anywhere.

    `subnets` are pairs of zone and subnet.  `refused` says why a place is not to be had; several types
    and zones are what makes spot dependable, so all are tried before the next market is.
    """
    filled, used = Counter(in_zone), Counter[str]()
    chosen: list[LaunchSlot] = []
    while len(chosen) < count:
        slot = _next(instance_types, markets, subnets, filled, used, refused)
        if slot is None:
            break
        chosen.append(slot)
        filled[slot.zone] += 1
        used[slot.subnet_id] += 1
    return chosen


def _next(
    instance_types: Sequence[str],
    markets: Sequence[Market],
    subnets: Sequence[tuple[str, str]],
    filled: Counter[str],
    used: Counter[str],
    refused: Callable[[LaunchSlot], str],
) -> LaunchSlot | None:
    emptiest_first = sorted(subnets, key=lambda pair: (filled[pair[0]], pair[0], used[pair[1]], pair[1]))
    for market in markets:
        for zone, subnet_id in emptiest_first:
            for instance_type in instance_types:
                slot = LaunchSlot(zone, subnet_id, market, instance_type)
                if not refused(slot):
                    return slot
    return None
