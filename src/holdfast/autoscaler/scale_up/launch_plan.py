"""Where to ask for new workers: zones balanced, spot first, within the hour's launches and the money."""

from collections import Counter
from collections.abc import Callable, Sequence

from holdfast.autoscaler.fleet import by_zone, staying, unlisted
from holdfast.autoscaler.record import Cluster, Launch, Purpose, Spent
from holdfast.autoscaler.scale_up.launch_slots import LaunchSlot, launch_slots
from holdfast.autoscaler.scale_up.offering_ranks import RECLAIMED, types_at, types_of, width
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.snapshot import Need, Snapshot
from holdfast.cloud import Instance, Market, Offering

HOUR_S = 3_600
SPARE_ATTEMPTS = 4


def spent_lately(cluster: Cluster, now_s: float, purpose: Purpose = Purpose.DEMAND) -> int:
    return sum(spent.count for spent in this_hour(cluster, now_s) if spent.purpose is purpose)


def this_hour(cluster: Cluster, now_s: float) -> tuple[Spent, ...]:
    return tuple(spent for spent in cluster.spent if now_s - spent.at_s < HOUR_S)


def left_this_hour(cluster: Cluster, purpose: Purpose, settings: Settings, now_s: float) -> int:
    return settings.budget_of(purpose) - spent_lately(cluster, now_s, purpose)


def prepared(pool: Pool, snapshot: Snapshot) -> bool:
    template = snapshot.templates.get(pool.name)
    return template is not None and template.digest == snapshot.digests.get(pool.name, template.digest)


def bars_of(pool: str, slot: LaunchSlot | Launch) -> tuple[str, ...]:
    """Every name under which a place may be left alone: its offering, quota, subnet, and type of the pool."""
    return (str(slot.offering), slot.offering.quota, slot.subnet_id, f"{pool}/{slot.instance_type}")


def intents(
    cluster: Cluster,
    snapshot: Snapshot,
    need: Need,
    group: int,
    beside: Sequence[Launch],
    settings: Settings,
    now_s: float,
    attempt: int = 1,
) -> list[Launch]:
    """Rows for so many workers of a pool, one for each place that they go to.

    A place from which machines are being reclaimed comes last, and never for a mere hint.
    """
    chosen = _chosen(cluster, snapshot, need, beside, settings, now_s, attempt)
    if len(chosen) < need.count and need.purpose is not Purpose.HINT:
        everywhere = _chosen(cluster, snapshot, need, beside, settings, now_s, attempt, reclaimed=True)
        chosen = everywhere if len(everywhere) > len(chosen) else chosen
    template = snapshot.templates.get(need.pool)
    if template is None:
        return []
    return [
        Launch(
            group=group + n,
            attempt=attempt,
            pool=need.pool,
            zone=slot.zone,
            subnet_id=slot.subnet_id,
            market=slot.market,
            instance_type=slot.instance_type,
            template_id=template.template_id,
            template_version=template.version,
            count=number,
            at_s=int(now_s),
            bound=bool(need.zone),
            purpose=need.purpose,
            types=need.types,
            usd_max=need.usd_max,
        )
        for n, (slot, number) in enumerate(Counter(chosen).items())
    ]


def _chosen(
    cluster: Cluster,
    snapshot: Snapshot,
    need: Need,
    beside: Sequence[Launch],
    settings: Settings,
    now_s: float,
    attempt: int,
    *,
    reclaimed: bool = False,
) -> list[LaunchSlot]:
    """A place for each worker, as many as there are.  `reclaimed`: also where machines are taken back."""
    pool = settings.pool(need.pool)
    if pool is None:
        return []
    interrupted = {affected.instance_id for affected in cluster.interrupted}
    there = [w for w in staying(cluster, snapshot) if w.instance_id not in interrupted]
    in_zone, in_offering = by_zone(there), Counter(_offering(w.instance) for w in there)
    for row in _asked(cluster, beside):
        in_zone[row.zone] += row.count
        in_offering[row.offering] += row.count
    subnets = [
        (place.zone, place.subnet_id)
        for place in snapshot.places
        if place.pool == need.pool and need.zone in ("", place.zone)
    ]
    chosen = launch_slots(
        need.count,
        types_at=types_at(need, pool, cluster, snapshot),
        markets=_markets(pool, attempt, cluster, settings, now_s),
        subnets=subnets,
        in_zone=in_zone,
        refused=_refusals(need, cluster, snapshot, settings, now_s, reclaimed=reclaimed),
        in_offering=in_offering,
        width=width(need, pool, len({zone for zone, _ in subnets}), settings),
    )
    chosen = within_limits(chosen, pool, cluster, snapshot, beside)
    chosen = _within_share(chosen, pool, cluster, snapshot, beside, settings)
    return _within_means(chosen, cluster, snapshot, beside, settings)


def attempts_max(row: Launch, snapshot: Snapshot, settings: Settings) -> int:
    """Every place once, in both markets, and a few more for tokens that were used up."""
    pool = settings.pool(row.pool)
    types = len(row.types or (types_of(pool, snapshot) if pool else ()))
    return SPARE_ATTEMPTS + len(Market) * types * sum(place.pool == row.pool for place in snapshot.places)


def _markets(
    pool: Pool, attempt: int, cluster: Cluster, settings: Settings, now_s: float
) -> tuple[Market, ...]:
    """Spot first; after so many refusals, or so long, on-demand first, and what is left of spot after it.

    By time too: where ticks come seldom or fail, bars run out sooner than the places are tried.
    """
    if pool.market != Market.SPOT:
        return (Market.ON_DEMAND,)
    up = cluster.scale_up
    impatient = up is not None and attempt > 1 and now_s - up.started_s > settings.spot_patience_s
    if impatient or attempt > settings.spot_refusals_max:
        return (Market.ON_DEMAND, Market.SPOT)
    return (Market.SPOT, Market.ON_DEMAND)


def _asked(cluster: Cluster, beside: Sequence[Launch]) -> tuple[Launch, ...]:
    """Requests that may still bring machines."""
    return (*(cluster.scale_up.intended if cluster.scale_up else ()), *beside)


def _offering(instance: Instance) -> Offering:
    return Offering(instance.zone, instance.market, instance.instance_type)


def _refusals(
    need: Need,
    cluster: Cluster,
    snapshot: Snapshot,
    settings: Settings,
    now_s: float,
    *,
    reclaimed: bool,
) -> Callable[[LaunchSlot], str]:
    barred = {
        one.offering: one.reason
        for one in cluster.unavailable
        if now_s < one.until_s and not (reclaimed and one.reason == RECLAIMED)
    }

    def refused(slot: LaunchSlot) -> str:
        usd = snapshot.prices.usd(slot.offering)
        if usd is None and (settings.usd_per_hour_max or need.usd_max):
            return "its price is not known, and there is a ceiling"
        if usd is not None and 0 < need.usd_max < usd:
            return "it would save nothing"
        return next((barred[bar] for bar in bars_of(need.pool, slot) if bar in barred), "")

    return refused


def within_limits(
    chosen: Sequence[LaunchSlot],
    pool: Pool,
    cluster: Cluster,
    snapshot: Snapshot,
    beside: Sequence[Launch],
) -> list[LaunchSlot]:
    """As many as the pool's vCPUs and memory allow, with all that it has or has asked for."""
    if not is_limited(pool):
        return list(chosen)
    types = [w.instance.instance_type for w in staying(cluster, snapshot) if w.instance.pool == pool.name]
    for row in _asked(cluster, beside):
        types += [row.instance_type] * row.count * (row.pool == pool.name)
    cpu_m, memory = (
        sum(each) for each in zip((0, 0), *(_size(kind, snapshot) for kind in types), strict=True)
    )
    within: list[LaunchSlot] = []
    for slot in chosen:
        more_cpu_m, more_memory = _size(slot.instance_type, snapshot)
        cpu_m, memory = cpu_m + more_cpu_m, memory + more_memory
        if (pool.vcpus_max and cpu_m > pool.vcpus_max * 1_000) or (
            pool.memory_gib_max and memory > pool.memory_gib_max << 30
        ):
            break
        within.append(slot)
    return within


def _size(instance_type: str, snapshot: Snapshot) -> tuple[int, int]:
    shape = snapshot.shapes.get(instance_type)
    return (shape.cpu_m, shape.memory) if shape is not None else (0, 0)


def _within_share(
    chosen: Sequence[LaunchSlot],
    pool: Pool,
    cluster: Cluster,
    snapshot: Snapshot,
    beside: Sequence[Launch],
    settings: Settings,
) -> list[LaunchSlot]:
    """As many on-demand workers as the fleet may have, in a pool that prefers spot."""
    if pool.market != Market.SPOT:
        return list(chosen)
    markets = [worker.instance.market for worker in staying(cluster, snapshot)]
    for row in _asked(cluster, beside):
        markets += [row.market] * row.count
    within: list[LaunchSlot] = []
    for slot in chosen:
        on_demand = sum(market is Market.ON_DEMAND for market in markets)
        most = settings.on_demand_max_fraction * (len(markets) + 1)
        if slot.market is Market.SPOT or on_demand + 1 <= most:
            within.append(slot)
            markets.append(slot.market)
    return within


def _within_means(
    chosen: Sequence[LaunchSlot],
    cluster: Cluster,
    snapshot: Snapshot,
    beside: Sequence[Launch],
    settings: Settings,
) -> list[LaunchSlot]:
    """As many as the ceiling on dollars an hour allows."""
    if not settings.usd_per_hour_max:
        return list(chosen)
    usd = usd_known(cluster, snapshot)
    usd += sum((snapshot.prices.usd(row.offering) or 0.0) * row.count for row in _asked(cluster, beside))
    within: list[LaunchSlot] = []
    for slot in chosen:
        usd += snapshot.prices.usd(slot.offering) or 0.0
        if usd > settings.usd_per_hour_max:
            break
        within.append(slot)
    return within


def usd_known(cluster: Cluster, snapshot: Snapshot) -> float:
    """What the fleet costs as far as prices are known, with those that are launched and not yet listed."""
    living = [worker.instance for worker in snapshot.workers if worker.alive]
    usd = sum(snapshot.prices.usd(_offering(each)) or 0.0 for each in living)
    waiting = set(unlisted(cluster, snapshot))
    for row in cluster.scale_up.launches if cluster.scale_up else ():
        usd += (snapshot.prices.usd(row.offering) or 0.0) * len(waiting.intersection(row.instance_ids))
    return usd


def is_limited(pool: Pool) -> bool:
    return bool(pool.vcpus_max or pool.memory_gib_max)
