"""A shell: one tick, from a Lambda invocation or a turn of a loop.

Read; fold in what waits; go on with what is open, or decide.  A tick has a time budget and
stops cleanly inside it.  Ticks may overlap, repeat and die anywhere.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.execute import Together, one_after_the_other
from holdfast.autoscaler.ports import (
    Cloud,
    ClusterStore,
    Inbox,
    Kubernetes,
    Load,
    Metrics,
    Picture,
    ReadinessCheck,
)
from holdfast.autoscaler.reasons import TickOutcome
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.result import TickResult
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.snapshot.build import Listings, build
from holdfast.autoscaler.snapshot.namespaces import look_at_namespaces
from holdfast.autoscaler.snapshot.pools import look_at_pools
from holdfast.autoscaler.snapshot.volumes import look_at_volumes
from holdfast.autoscaler.tick.turn import Turn
from holdfast.cloud import ALIVE, Instance, Market, Notice, Offering, Prices
from holdfast.cloud.kubernetes import Budget, KubeNode, Pod, instance_id_of, is_joining, takes_pods
from holdfast.kernel import (
    Busy,
    Clock,
    Conflict,
    HoldfastError,
    NewId,
    Random,
    Unknown,
)

UNREAD: Final = Cluster()
"""A record that knows nothing."""


@dataclass(frozen=True)
class Autoscaler:
    """Everything that a tick needs, wired once."""

    settings: Settings
    store: ClusterStore
    inbox: Inbox
    cloud: Cloud
    kubernetes: Kubernetes
    metrics: Metrics
    clock: Clock
    new_id: NewId
    random: Random
    together: Together = one_after_the_other
    readiness_check: ReadinessCheck | None = None
    """What else must call a new node Ready before it has joined."""
    picture: Picture | None = None
    """Of a process that watches the cluster."""
    pause: Callable[[float, bool], bool] | None = None
    """Of a process that hears news: rests between two rounds of effects, shorter where there are any.  It is
    told whether nodes are being drained, and answers whether the tick may go on.  None: the clock sleeps."""

    def tick(
        self,
        owner: str,
        *,
        until_s: float,
        notices: Sequence[Notice] = (),
        told: Callable[[str], None] = lambda step: None,
    ) -> TickResult:
        """Do what is to be done until nothing is, or `until_s` comes near."""
        turn = Turn(self, owner, until_s, told)
        try:
            if notices:
                # Kept before anything else: from here on, every tick will find them.
                if not self.keep(notices):
                    why = "the notices are of machines that are not ours"
                    return turn.ended(TickOutcome.NOTHING_TO_DO, why)
                holder = turn.take_lock()
                if holder:
                    return turn.ended(
                        TickOutcome.LEFT_TO_ANOTHER, f"{holder} is at work, and folds in what waits"
                    )
            while True:
                result = turn.run()
                turn.release_lock()
                # A tick that put a notice while we held the lock has left it to us.
                if result.outcome not in (TickOutcome.IDLE, TickOutcome.WAITING) or not self._news(turn):
                    return result
        except (Busy, Unknown, Conflict) as error:
            return turn.ended(TickOutcome.BUSY, str(error))
        except HoldfastError as error:
            return turn.ended(TickOutcome.REFUSED, str(error))

    def keep(self, notices: Sequence[Notice]) -> Sequence[Notice]:
        """Put into the inbox those of our machines, and return them.  Twice is once.

        Foreign ones are dropped before the inbox, the lock and the log hear of them.
        """
        ours = self._of_ours(notices)
        if ours:
            self.inbox.put(ours)
        return ours

    def _of_ours(self, notices: Sequence[Notice]) -> Sequence[Notice]:
        """A machine that the record names is ours.  For others the machines are listed, once; without an
        answer, all are kept."""
        try:
            record = self.store.read(SUBJECT).value
            unknown = [each for each in notices if not record.names(each.instance_id)]
            listed = {each.instance_id for each in self.cloud.instances()} if unknown else set[str]()
        except HoldfastError:
            return notices
        return [each for each in notices if each not in unknown or each.instance_id in listed]

    def _news(self, turn: Turn) -> bool:
        if not turn.held or turn.is_late():
            return False
        return any(notice.key not in turn.known_notices for notice in self.inbox.waiting())

    def look(self, owner: str = "", cluster: Cluster = UNREAD, watched: Kubernetes | None = None) -> Listings:
        """Everything that can be seen now, beside the record as it was read before.  Changes nothing.

        `watched`: the cluster as its watches tell it, in place of lists.
        """
        settings, troubles = self.settings, list[str]()
        kubernetes = watched or self.kubernetes
        cluster_uid = kubernetes.cluster_uid()
        instances = self.cloud.instances()
        nodes = kubernetes.nodes()
        pods = kubernetes.pods()
        budgets: Sequence[Budget] = ()
        try:
            budgets = kubernetes.budgets()
        except (Busy, Unknown) as error:
            troubles.append(f"the disruption budgets cannot be listed ({error})")
        workers = {instance.instance_id for instance in instances if instance.state in ALIVE}
        serving = [node for node in nodes if instance_id_of(node) in workers and takes_pods(node)]
        pools = look_at_pools(self.cloud, settings.pools)
        named = (pools.types.get(pool.name, pool.instance_types) for pool in settings.pools)
        types = sorted({kind for of_pool in named for kind in of_pool})
        prices, unpriced = self._prices(types, set(pools.zones.values()))
        return Listings(
            owner=owner,
            at_s=self.clock.now_s(),
            cluster=cluster,
            cluster_uid=cluster_uid,
            instances=instances,
            nodes=nodes,
            pods=pods,
            namespaces=look_at_namespaces(kubernetes, pods, troubles),
            volumes=look_at_volumes(kubernetes, pods, troubles),
            budgets=budgets,
            load=self.metrics.load(serving, pods, settings.idle_down_s),
            loads=self._loads(instances, serving, pods),
            notices=self.inbox.waiting(),
            marked=self._marked(instances),
            settings=settings,
            shapes=pools.shapes,
            templates=pools.templates,
            digests=pools.digests,
            pool_problems=pools.problems,
            zones=pools.zones,
            types=pools.types,
            remarks=(*pools.remarks, *unpriced),
            prices=prices,
            ready_nodes=self._confirmed_ready(nodes, troubles),
            troubles=tuple(troubles),
        )

    def _marked(self, instances: Sequence[Instance]) -> Sequence[Notice]:
        """Notices that no queue has brought yet.  Without an answer those from the inbox must do."""
        if not any(each.state in ALIVE and each.market is Market.SPOT for each in instances):
            return ()
        try:
            return self.cloud.marked()
        except HoldfastError:
            return ()  # `doctor` says whether it is allowed

    def snapshot(self, owner: str, cluster: Cluster = UNREAD) -> Snapshot:
        return build(self.look(owner, cluster))

    def _loads(
        self, instances: Sequence[Instance], serving: Sequence[KubeNode], pods: Sequence[Pod]
    ) -> dict[str, Load]:
        """Asked only where workers of several pools are in service: the load of one is the fleet's."""
        pool_of = {instance.instance_id: instance.pool for instance in instances}
        nodes: dict[str, list[KubeNode]] = {}
        for node in serving:
            nodes.setdefault(pool_of[instance_id_of(node)], []).append(node)
        if len(nodes) < 2:
            return {}
        window_s = self.settings.idle_down_s
        return {pool: self.metrics.load(of_pool, pods, window_s) for pool, of_pool in nodes.items()}

    def _confirmed_ready(self, nodes: Sequence[KubeNode], troubles: list[str]) -> frozenset[str] | None:
        """Asked only while a node joins.  Without an answer a machine must not be ended as late."""
        if self.readiness_check is None or not any(map(is_joining, nodes)):
            return None
        try:
            return self.readiness_check.ready_nodes()
        except (Busy, Unknown) as error:
            troubles.append(f"the readiness check does not answer, so the API's word counts ({error})")
            return None

    def _prices(self, types: Sequence[str], zones: set[str]) -> tuple[Prices, tuple[str, ...]]:
        """Unknown prices hold what they concern, and nothing else.  With what an operator should know."""
        offerings = [Offering(zone, market, kind) for zone in zones for market in Market for kind in types]
        try:
            prices = self.cloud.prices(offerings)
            return prices, _unlisted(prices)
        except HoldfastError as error:
            remark = (
                f"prices: EC2 does not tell them ({error}); machines are chosen by their size until it does. "
                "See that ec2:DescribeSpotPriceHistory is allowed, or give usd_per_hour"
            )
            return Prices({}), (remark,)


def _unlisted(prices: Prices) -> tuple[str, ...]:
    if not prices.problem:
        return ()
    told = f"on-demand prices: the price list does not tell them ({prices.problem})"
    return (f"{told}; give them in usd_per_hour, or set on_demand_prices to settings",)
