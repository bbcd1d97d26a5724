"""Where new machines go: zones balanced, spot before on-demand."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

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
    types_at: Callable[[str, Market], Sequence[str]],
    markets: Sequence[Market],
    subnets: Sequence[tuple[str, str]],
    in_zone: Counter[str],
    refused: Callable[[LaunchSlot], str],
    in_offering: Counter[Offering] | None = None,
    width: Callable[[Market], int] = lambda market: 1,
) -> list[LaunchSlot]:
    """Up to `count` places: the emptiest zone first, the first market everywhere before the next anywhere.

    `subnets` are pairs of zone and subnet.  `refused` says why a place is not to be had; several types
    and zones are what makes spot dependable, so all are tried before the next market is.  Of the best
    types, `width` of them, the one is taken that there are fewest of (`in_offering`).
    """
    filled, used, of = Counter(in_zone), Counter[str](), Counter(in_offering or ())
    chosen: list[LaunchSlot] = []
    while len(chosen) < count:
        emptiest_first = sorted(subnets, key=lambda pair: (filled[pair[0]], pair[0], used[pair[1]], pair[1]))
        slot = _next(types_at, markets, emptiest_first, of, refused, width)
        if slot is None:
            break
        chosen.append(slot)
        filled[slot.zone] += 1
        used[slot.subnet_id] += 1
        of[slot.offering] += 1
    return chosen


def _next(
    types_at: Callable[[str, Market], Sequence[str]],
    markets: Sequence[Market],
    emptiest_first: Sequence[tuple[str, str]],
    of: Counter[Offering],
    refused: Callable[[LaunchSlot], str],
    width: Callable[[Market], int],
) -> LaunchSlot | None:
    for market in markets:
        for zone, subnet_id in emptiest_first:
            slots = (LaunchSlot(zone, subnet_id, market, kind) for kind in types_at(zone, market))
            best = list(islice((slot for slot in slots if not refused(slot)), width(market)))
            if best:
                return min(best, key=lambda slot: of[slot.offering])
    return None
