"""The cheapest new machine that holds some pods, all of them on one node."""

from collections.abc import Sequence
from dataclasses import dataclass

from holdfast.autoscaler.scheduling.fit import named
from holdfast.autoscaler.scheduling.new_nodes import Candidate
from holdfast.autoscaler.scheduling.pack import unplaceable
from holdfast.autoscaler.scheduling.topology import Topology
from holdfast.cloud import Market, Offering
from holdfast.cloud.kubernetes import Pod
from holdfast.cloud.requests import Amount, requests_of


@dataclass(frozen=True, slots=True)
class Cheapest:
    pool: str
    instance_type: str
    zone: str
    market: Market
    usd: float
    """An hour, as expected: a guess from the size where the price is not known."""

    @property
    def offering(self) -> Offering:
        return Offering(self.zone, self.market, self.instance_type)


def cheapest(
    pods: Sequence[Pod], candidates: Sequence[Candidate], topology: Topology | None = None
) -> Cheapest | None:
    """The machine of these pools that costs least and takes all these pods; None if none does.

    `topology`: where pods are now, these among them; it is given back as it was.  Weights are not asked:
    the question is only what it would cost.
    """
    total = sum((requests_of(pod) for pod in pods), Amount())
    offered = [(room, each) for each in candidates if each.more > 0 for room in each.rooms]
    for room, candidate in sorted(offered, key=lambda pair: pair[0].usd):
        if not total.within(room.free):
            continue
        new = named(room, "one new node")
        if topology is None:
            why = unplaceable(pods, [new])
        else:
            with topology.trial():
                topology.add_node(new)
                why = unplaceable(pods, [new], topology)
        if not why:
            return Cheapest(candidate.pool, room.instance_type, room.zone, candidate.market, room.usd)
    return None
