"""Where to ask for new workers: zones balanced, spot first, within the hour's launches and the money."""

from collections import Counter
from collections.abc import Callable, Sequence

from holdfast.autoscaler.fleet import by_zone, staying
from holdfast.autoscaler.place import Berth, berths
from holdfast.autoscaler.record import Cluster, Launch, Spent
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.sight import Need, Sight
from holdfast.cloud import Market, Offering

HOUR_S = 3_600


def spent_lately(cluster: Cluster, now_s: float) -> int:
    return sum(spent.count for spent in this_hour(cluster, now_s))


def this_hour(cluster: Cluster, now_s: float) -> tuple[Spent, ...]:
    return tuple(spent for spent in cluster.spent if now_s - spent.at_s < HOUR_S)


def prepared(pool: Pool, sight: Sight) -> bool:
    template = sight.templates.get(pool.name)
    return template is not None and template.digest == sight.digests.get(pool.name, template.digest)


def intents(
    cluster: Cluster,
    sight: Sight,
    need: Need,
    group: int,
    beside: Sequence[Launch],
    settings: Settings,
    now_s: float,
    attempt: int = 1,
) -> list[Launch]:
    """Rows for so many workers of a pool, one for each place that they go to."""
    pool, template = settings.pool(need.pool), sight.templates.get(need.pool)
    if pool is None or template is None:
        return []
    in_zone = by_zone(staying(cluster, sight))
    for row in (*(cluster.scale_up.intended if cluster.scale_up else ()), *beside):
        in_zone[row.zone] += row.count
    subnets = [
        (place.zone, place.subnet_id)
        for place in sight.places
        if place.pool == need.pool and need.zone in ("", place.zone)
    ]
    chosen = berths(
        need.count,
        instance_types=pool.instance_types,
        markets=_markets(pool),
        subnets=subnets,
        in_zone=in_zone,
        refused=_refusals(cluster, sight, pool, beside, settings, now_s),
    )
    rows = Counter(_within_means(chosen, cluster, sight, beside, settings))
    return [
        Launch(
            group=group + n,
            attempt=attempt,
            pool=need.pool,
            zone=berth.zone,
            subnet_id=berth.subnet_id,
            market=berth.market,
            instance_type=berth.instance_type,
            template_id=template.template_id,
            template_version=template.version,
            count=number,
            at_s=int(now_s),
            bound=bool(need.zone),
        )
        for n, (berth, number) in enumerate(rows.items())
    ]


def _markets(pool: Pool) -> tuple[Market, ...]:
    return (Market.SPOT, Market.ON_DEMAND) if pool.market == Market.SPOT else (Market.ON_DEMAND,)


def _refusals(
    cluster: Cluster, sight: Sight, pool: Pool, beside: Sequence[Launch], settings: Settings, now_s: float
) -> Callable[[Offering], str]:
    barred = {u.offering: u.reason for u in cluster.unavailable if now_s < u.until_s}
    live = staying(cluster, sight)
    on_demand = sum(w.instance.market is Market.ON_DEMAND for w in live) + sum(
        row.count for row in beside if row.market is Market.ON_DEMAND
    )
    most = settings.on_demand_max_fraction * (len(live) + 1)

    def refused(offering: Offering) -> str:
        if str(offering) in barred:
            return barred[str(offering)]
        if offering.market is Market.ON_DEMAND and pool.market == Market.SPOT and on_demand + 1 > most:
            return "the fleet has its share of on-demand workers"
        if settings.usd_per_hour_max and sight.prices.usd(offering) is None:
            return "its price is not known, and there is a ceiling"
        return ""

    return refused


def _within_means(
    chosen: Sequence[Berth], cluster: Cluster, sight: Sight, beside: Sequence[Launch], settings: Settings
) -> list[Berth]:
    """As many as the ceiling on dollars an hour allows."""
    if not settings.usd_per_hour_max:
        return list(chosen)
    asked = (*(cluster.scale_up.intended if cluster.scale_up else ()), *beside)
    usd = sight.usd_per_hour() or 0.0
    usd += sum((sight.prices.usd(row.offering) or 0.0) * row.count for row in asked)
    within: list[Berth] = []
    for berth in chosen:
        usd += sight.prices.usd(berth.offering) or 0.0
        if usd > settings.usd_per_hour_max:
            break
        within.append(berth)
    return within


def why_nowhere(
    cluster: Cluster, sight: Sight, pools: Sequence[str], settings: Settings, now_s: float
) -> str:
    barred = sorted(u.offering for u in cluster.unavailable if now_s < u.until_s)
    if settings.usd_per_hour_max and (sight.usd_per_hour() or 0.0) > 0:
        return f"nowhere to grow within {settings.usd_per_hour_max:g} dollars an hour"
    if barred:
        return f"no capacity to be had: {', '.join(barred[:4])} are left alone for a while"
    return f"nowhere to grow: pool {', '.join(dict.fromkeys(pools))} has no subnet that is known"
