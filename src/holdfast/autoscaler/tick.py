"""A shell: one tick, from a Lambda invocation or a turn of a loop.

Read; fold in what waits; go on with what is open, or decide.  A tick has a time budget and
stops cleanly inside it.  Ticks may overlap, repeat and die anywhere.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from holdfast.autoscaler import identity, lock
from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.execute import Executor, Together, drains, one_after_the_other, pause_s
from holdfast.autoscaler.ports import (
    Cloud,
    ClusterStore,
    Effect,
    Inbox,
    Kubernetes,
    Load,
    Metrics,
    ReadinessCheck,
)
from holdfast.autoscaler.reasons import TickOutcome
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.restored import read_on
from holdfast.autoscaler.result import TickResult
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.snapshot.build import Listings, build
from holdfast.autoscaler.snapshot.namespaces import look_at_namespaces
from holdfast.autoscaler.snapshot.pools import look_at_pools
from holdfast.autoscaler.workflow import Ahead, conclude, workflow
from holdfast.cloud import ALIVE, Instance, Market, Notice, Offering, Prices
from holdfast.cloud.kubernetes import Budget, KubeNode, Pod, instance_id_of, is_joining, takes_pods
from holdfast.kernel import (
    Busy,
    Clock,
    Conflict,
    Do,
    Done,
    DriverPorts,
    HoldfastError,
    NewId,
    Random,
    Unknown,
    Versioned,
    Wait,
    Workflow,
    Write,
    advance,
)

UNREAD: Final = Cluster()
"""A record that knows nothing."""
TROUBLES_MAX: Final = 6
"""So often in a row may the store or the world be busy before a tick leaves it to the next one."""
CONFLICTS_MAX: Final = 12
"""So often in a row may a commit be refused before a tick says that it gets nothing done."""


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

    def tick(
        self,
        owner: str,
        *,
        until_s: float,
        notices: Sequence[Notice] = (),
        told: Callable[[str], None] = lambda step: None,
    ) -> TickResult:
        """Do what is to be done until nothing is, or `until_s` comes near."""
        turn = _Turn(self, owner, until_s, told)
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

    def _news(self, turn: "_Turn") -> bool:
        if not turn.held or turn.is_late():
            return False
        return any(notice.key not in turn.known_notices for notice in self.inbox.waiting())

    def look(self, owner: str = "", cluster: Cluster = UNREAD) -> Listings:
        """Everything that can be seen now, beside the record as it was read before.  Changes nothing."""
        settings, troubles = self.settings, list[str]()
        cluster_uid = self.kubernetes.cluster_uid()
        instances = self.cloud.instances()
        nodes = self.kubernetes.nodes()
        pods = self.kubernetes.pods()
        budgets: Sequence[Budget] = ()
        try:
            budgets = self.kubernetes.budgets()
        except (Busy, Unknown) as error:
            troubles.append(f"the disruption budgets cannot be listed ({error})")
        workers = {instance.instance_id for instance in instances if instance.state in ALIVE}
        serving = [node for node in nodes if instance_id_of(node) in workers and takes_pods(node)]
        pools = look_at_pools(self.cloud, settings.pools)
        types = sorted({kind for pool in settings.pools for kind in pool.instance_types})
        return Listings(
            owner=owner,
            at_s=self.clock.now_s(),
            cluster=cluster,
            cluster_uid=cluster_uid,
            instances=instances,
            nodes=nodes,
            pods=pods,
            namespaces=look_at_namespaces(self.kubernetes, pods, troubles),
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
            prices=self._prices(types, set(pools.zones.values())),
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

    def _prices(self, types: Sequence[str], zones: set[str]) -> Prices:
        offerings = [Offering(zone, market, kind) for zone in zones for market in Market for kind in types]
        try:
            return self.cloud.prices(offerings)
        except HoldfastError:
            return Prices({})  # unknown prices hold what they concern, and nothing else


class _Turn:
    """One tick in progress."""

    def __init__(
        self, autoscaler: Autoscaler, owner: str, until_s: float, told: Callable[[str], None]
    ) -> None:
        self._auto, self._owner, self._until_s, self._told = autoscaler, owner, until_s, told
        a = autoscaler
        self._executor = Executor(a.settings, a.cloud, a.kubernetes, a.inbox, a.clock, a.together)
        self._ports: DriverPorts[Cluster, Snapshot, Effect] = DriverPorts(
            read=self._read,
            look=self._look,
            commit=self._commit,
            commit_id_at=lambda version: a.store.commit_id_at(SUBJECT, version),
            perform=self._executor.perform,
            now_s=a.clock.now_s,
            pause=a.clock.sleep,
            new_id=a.new_id,
            random=a.random,
        )
        locked = lock.locked(workflow(a.settings), owner=owner, ttl_s=a.settings.lock_ttl_s)
        self._workflow: Workflow[Cluster, Snapshot, Effect] = replace(locked, step=self._step)
        self._locked_step = locked.step
        self._stepped: Ahead | None = None
        """What the last step asked for."""
        self._steps: list[str] = []
        self._done = 0
        """Commits that were made."""
        self._conflicts = self._in_a_row = 0
        self.held = False
        """Whether the lock was ours at some time during this tick."""
        self.known_notices: frozenset[str] = frozenset()
        """The notices that the last look knew."""
        self._known = Cluster()
        self._snapshot: Snapshot | None = None

    def run(self) -> TickResult:
        troubles, trouble, rounds = 0, "no time was left to begin with", 0
        while not self.is_late():
            told = self._done
            try:
                ahead = advance(self._ports, self._workflow)
            except Conflict as error:
                trouble = str(error)
                if self._lost_race(told):
                    continue
                return self.ended(TickOutcome.BUSY, f"{CONFLICTS_MAX} commits in a row were refused: {error}")
            except (Busy, Unknown) as error:
                troubles, trouble = troubles + 1, str(error)
                if troubles >= TROUBLES_MAX:
                    return self.ended(TickOutcome.BUSY, str(error))
                self._rest(0.5 * 2**troubles * (0.5 + self._auto.random()))
                continue
            troubles, trouble, self._in_a_row = 0, "", 0
            if isinstance(ahead, Done):
                return self._idle()
            if isinstance(ahead, Wait):
                return self.ended(TickOutcome.WAITING, ahead.why, ahead.until_s)
            if isinstance(ahead, Do):
                self._tell(ahead)
                rounds = 1 if self._done > told else rounds + 1
                if self._done == told or drains(ahead.effects):
                    self._rest(pause_s(ahead.effects, self._auto.settings.after_cordon_s, rounds))
        # Time that was spent on calls that fail is no work: the operator must hear of it.
        if trouble:
            return self.ended(TickOutcome.BUSY, trouble)
        return self.ended(TickOutcome.OUT_OF_TIME, "the next tick goes on")

    def _lost_race(self, done_before: int) -> bool:
        """Count it, and give way for a while.  False: so many in a row are no race, or none that we win."""
        self._conflicts += 1
        self._in_a_row = self._in_a_row + 1 if self._done == done_before else 1
        if self._in_a_row > 1:
            self._rest(min(0.1 * 2**self._in_a_row, 5.0) * (0.5 + self._auto.random()))
        return self._in_a_row < CONFLICTS_MAX

    def take_lock(self) -> str:
        """Before the first look: of many that were called at once, one works.  Who has it, if not we."""
        a = self._auto
        for _ in range(TROUBLES_MAX):
            found = self._found()
            now_s, ttl_s = a.clock.now_s(), a.settings.lock_ttl_s
            if lock.is_held(found.value, self._owner, now_s, ttl_s=ttl_s, urgent=True):
                return found.value.lock.owner
            try:
                a.store.commit(SUBJECT, found, lock.take(found.value, self._owner, now_s, ttl_s), a.new_id())
            except Conflict:
                continue
            except (Busy, Unknown):
                self._rest(0.2 + a.random())
                continue
            self.held = True
            return ""
        return "others"

    def release_lock(self) -> None:
        """Best effort: a lock that is not given back runs out."""
        a = self._auto
        if not self.held:
            return
        try:
            found = a.store.read(SUBJECT)
            write = lock.release(found.value, self._owner, a.clock.now_s())
            if write is not None:
                a.store.commit(SUBJECT, found, write, a.new_id())
        except (Conflict, Busy, Unknown):
            pass

    def is_late(self) -> bool:
        return self._auto.clock.now_s() >= self._until_s

    def _idle(self) -> TickResult:
        """Nothing is left to do: say why nothing is begun, with the figures of now."""
        assert self._snapshot is not None
        a = self._auto
        if refusal := identity.refusal(self._known, self._snapshot.cluster_uid):
            return self.ended(TickOutcome.REFUSED, refusal)
        decision = conclude(self._known, self._snapshot, a.settings, a.clock.now_s())
        return self.ended(TickOutcome.IDLE, decision.why, code=decision.code)

    def ended(self, outcome: TickOutcome, why: str, retry_at_s: float = 0.0, *, code: str = "") -> TickResult:
        seen_problems = self._snapshot.problems if self._snapshot else ()
        problems = tuple(dict.fromkeys((*self._executor.problems, *seen_problems)))
        seen = (self._known, self._snapshot) if self._snapshot else (None, None)
        steps = tuple(self._steps)
        return TickResult(outcome, why, code, steps, retry_at_s, problems, self._conflicts, *seen)

    def _read(self) -> Versioned[Cluster]:
        asked_s = self._auto.clock.now_s()  # before: a process that sleeps over the answer has an old record
        found = self._found()
        self._executor.read_s = asked_s
        self._known = found.value
        self.held = self.held or found.value.lock.owner == self._owner
        return found

    def _found(self) -> Versioned[Cluster]:
        a = self._auto
        found, problem = read_on(a.store, a.clock.now_s(), a.new_id)
        if problem:
            self._executor.problems.append(problem)
        return found

    def _step(self, cluster: Cluster, snapshot: Snapshot, now_s: float) -> Ahead:
        self._stepped = self._locked_step(cluster, snapshot, now_s)
        return self._stepped

    def _commit(self, found: Versioned[Cluster], write: Write[Cluster], commit_id: str) -> Versioned[Cluster]:
        done = self._auto.store.commit(SUBJECT, found, write, commit_id)
        self._done += 1
        self._known = done.value
        self.held = self.held or done.value.lock.owner == self._owner
        if write is self._stepped:
            self._tell(write)
        if self._snapshot is not None:
            self._executor.announce(write.events, self._snapshot)
        return done

    def _look(self) -> Snapshot:
        listings = self._auto.look(self._owner, self._known)
        self._executor.names = {instance_id_of(node): node.metadata.name for node in listings.nodes}
        self._executor.budgets = listings.budgets
        self.known_notices = frozenset(notice.key for notice in listings.notices)
        self._snapshot = build(listings)
        return self._snapshot

    def _tell(self, ahead: Write[Cluster] | Do[Effect]) -> None:
        from holdfast.autoscaler.report.preview import in_words  # an idle tick has nothing to tell

        for step in in_words(ahead):
            self._steps.append(step)
            self._told(step)

    def _rest(self, seconds: float) -> None:
        self._auto.clock.sleep(max(0.0, min(seconds, self._until_s - self._auto.clock.now_s())))
