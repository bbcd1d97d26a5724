"""What no schedule may do to a fleet, judged at every commit, every call to the cloud, every placed pod.

The judge sees the truth; the autoscaler sees listings that lag.  Where a rule can only hold as far
as a listing could have shown, the judge looks back as far as the listing did.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable
from typing import Final

from holdfast.autoscaler.reasons import TickOutcome
from holdfast.autoscaler.record import (
    Cluster,
    Interrupted,
    Launch,
    LaunchStatus,
    Purpose,
    ScaleDown,
    ScaleUp,
)
from holdfast.autoscaler.settings import Settings
from holdfast.cloud import NoticeKind
from holdfast.cloud.kubernetes import KubeNode, cordon_owners
from holdfast.kernel import Versioned, Write
from holdfast.sim.ec2.cloud import Entry, SimCloud
from holdfast.sim.ec2.machine import Machine
from holdfast.sim.gated import LAG_MAX_S
from holdfast.sim.kubernetes.cluster import SimKubernetes
from holdfast.sim.kubernetes.controllers import Observer
from holdfast.sim.kubernetes.pods import Owned, SimNode, SimPod
from holdfast.sim.scenarios.ended_share import EndedShare
from holdfast.sim.scenarios.shown import Shown
from holdfast.testing.legal import illegal_commit

CRITICAL: Final = ("system-node-critical", "system-cluster-critical")
MONEY_SLACK: Final = 1.25
"""Prices move between the look that a launch rests on and its answer."""
HOUR_S: Final = 3_600.0
PATIENCE_S: Final = 2 * HOUR_S
PATIENCE_TICKS: Final = 24


class Judge(Observer):
    def __init__(
        self, cloud: SimCloud, cluster: SimKubernetes, settings: Settings, record: Callable[[], Cluster]
    ) -> None:
        self.cloud, self.cluster, self.settings, self.record = cloud, cluster, settings, record
        self.accidents: list[str] = []
        self.actions = 0
        self.named: set[str] = set()
        """Machines that a committed record has ever named."""
        self.condemned: set[str] = set()
        self.interrupted: set[str] = set()
        self.by_hand: set[str] = set()
        """Nodes that a person has cordoned."""
        self.shown = Shown(cloud, cluster)
        self.hidden = self.shown.hidden
        self.patience_s = PATIENCE_S
        """How long something may be wrong that is mended by and by."""
        self.buried: set[str] = set()
        """Machines that live, and whose silent nodes were deleted while no listing showed them."""
        self.looked_s = 0.0
        """When the process that commits now has listed the machines."""
        self._tokens: dict[str, int] = {}
        """Tokens of committed intents, and how many machines each may bring."""
        self._answered: Counter[str] = Counter()
        self._ids: set[str] = set()
        self.lied: Callable[[], bool] = lambda: False
        """Whether the list of nodes is not the truth now: what is wrong meanwhile can not be mended."""
        self._wrong_s: dict[str, float] = {}
        """For how long each thing is wrong that may be so for a while."""
        self._patrolled_s = cloud.world.now
        self._rows: dict[str, Launch] = {}
        self._launches: dict[Purpose, deque[tuple[float, int]]] = {purpose: deque() for purpose in Purpose}
        self._ended = EndedShare(cluster)
        cloud.told, cluster.observer = self.heard, self

    def accuse(self, what: str) -> None:
        self.accidents.append(what)

    def restored(self) -> None:
        """The record knows nothing of the last hours: neither what was launched then, nor what began."""
        for launches in self._launches.values():
            launches.clear()

    # Commits

    def committed(self, before: Versioned[Cluster], after: Versioned[Cluster], write: Write[Cluster]) -> None:
        was, now = before.value, after.value
        self._one_action(was, now)
        self._intents(was, now)
        self._condemnations(was, now)
        self._remember(now)
        for problem in illegal_commit(before, after, write, self.cloud.world.now, self.settings):
            self.accuse(problem)
        ends = {"completeScaleUp", "failScaleUp", "completeScaleDown", "failScaleDown"}
        self.actions += sum(event.kind in ends for event in write.events)

    def _one_action(self, was: Cluster, now: Cluster) -> None:
        old, new = _open(was), _open(now)
        if new is None or (old is not None and new.action_id == old.action_id):
            return
        if old is not None:
            self.accuse(f"S-A1: {old.action_id} was replaced by {new.action_id}")
        if new.action_id in self._ids:
            self.accuse(f"S-A1: the action id {new.action_id} was used before")
        self._ids.add(new.action_id)

    def _intents(self, was: Cluster, now: Cluster) -> None:
        up = now.scale_up
        if up is None or up == was.scale_up:
            return
        for row in up.launches:
            token = row.token(up.action_id)
            if token not in self._tokens:
                self._tokens[token] = row.count
                self._rows[token] = row

    def _condemnations(self, was: Cluster, now: Cluster) -> None:
        old, new = {c.instance_id for c in was.condemned}, {c.instance_id for c in now.condemned}
        for instance_id in sorted(old - new):
            machine = self.cloud.machines.get(instance_id)
            if machine is not None and machine.alive and not self.shown.is_unlisted(machine):
                self.accuse(f"S-A4: {instance_id} was condemned, lives, and is forgotten")
        for instance_id in sorted(new - old):
            machine = self.cloud.machines[instance_id]
            if machine.foreign or not machine.action_id:
                self.accuse(f"S-A4: {instance_id} is not ours, and was condemned")
            why = next(row.reason for row in now.condemned if row.instance_id == instance_id)
            if (
                self.shown.serves(machine)
                and self.shown.is_heard(machine)
                and machine.ended_s >= self._horizon_s
            ):
                self._guard_floor(machine, why, leaving=new | {d.instance_id for d in _certain(now)})
            if problem := self._ended.condemned(machine, why, self.cloud.world.now):
                self.accuse(problem)

    def _guard_floor(self, leaver: Machine, why: str, leaving: set[str]) -> None:
        """S-A5, as far as a listing could have shown: a machine that died after it still counts."""
        left = [
            machine
            for machine in self.cloud.machines.values()
            if machine.instance_id not in leaving
            and not machine.foreign
            and machine.ended_s >= self._horizon_s
            and self.shown.serves(machine)
        ]
        done = f"condemning {leaver.instance_id} ({why})"
        if len(left) < self.settings.min_workers:
            self.accuse(f"S-A5: {done} leaves {len(left)} of {self.settings.min_workers}")
        zones = Counter(machine.offering.zone for machine in left)
        if zones and not zones[leaver.offering.zone]:
            self.accuse(f"S-A5: {done} empties zone {leaver.offering.zone}")

    @property
    def _horizon_s(self) -> float:
        """A machine that ended before this was listed as ended when the process that commits now looked."""
        return self.looked_s - LAG_MAX_S

    def _remember(self, now: Cluster) -> None:
        if now.scale_up is not None:
            self.named.update(now.scale_up.instance_ids)
        self.named.update(row.instance_id for row in now.recent)
        self.condemned.update(row.instance_id for row in now.condemned)
        self.interrupted.update(row.instance_id for row in _certain(now))

    def tick_ended(self, outcome: TickOutcome, why: str) -> None:
        """Whatever is wrong with one pool, no tick is refused for it.  Another cluster is, as it must be."""
        if outcome is TickOutcome.REFUSED and not why.startswith("another cluster answers"):
            self.accuse(f"L-A5: a tick was refused: {why}")

    # The cloud

    def heard(self, entry: Entry) -> None:
        if entry.kind == "launched":
            self._launched(entry)
        elif entry.kind == "asked to end":
            self._terminated(self.cloud.machines[entry.instance_ids[0]])

    def _launched(self, entry: Entry) -> None:
        most = self._tokens.get(entry.token)
        if most is None:
            self.accuse(f"S-A3: {entry.instance_ids} launched without a committed intent")
        elif len(entry.instance_ids) > most:
            self.accuse(f"S-A2: {len(entry.instance_ids)} launched where {most} were intended")
        self._answered[entry.token] += 1
        if self._answered[entry.token] > 1:
            self.accuse(f"S-A2: {entry.action_id} launched twice for one attempt")
        if self._is_open(entry):
            self._guard_ceilings(entry)
            self._guard_budget(entry)

    def _guard_budget(self, entry: Entry) -> None:
        """Economy: launches within an hour stay within the budget of what they are for, by the moment of each
        decision: a process may have slept before its request arrived."""
        row = self._rows.get(entry.token)
        if row is None:
            return
        lately, most = self._launches[row.purpose], self.settings.budget_of(row.purpose)
        lately.append((row.at_s, len(entry.instance_ids)))
        newest_s = max(at_s for at_s, _ in lately)
        while lately[0][0] <= newest_s - HOUR_S:
            lately.popleft()
        launched = sum(count for _, count in lately)
        if launched > most:
            self.accuse(f"economy: {launched} launches within an hour ({row.purpose}), {most} allowed")

    def _is_open(self, entry: Entry) -> bool:
        """Whether the record still waits for this launch.  If not it is a late first try: a surplus."""
        up = self.record().scale_up
        rows = up.launches if up is not None and up.action_id == entry.action_id else ()
        return any(
            row.status is LaunchStatus.INTENDED and row.token(entry.action_id) == entry.token for row in rows
        )

    def _guard_ceilings(self, entry: Entry) -> None:
        record, most = self.record(), self.settings.max_workers
        interrupted = {row.instance_id for row in record.interrupted}
        staying = [
            machine.instance_id
            for machine in self.cloud.alive()
            if machine.instance_id not in self.condemned | interrupted
            and not self.shown.is_unlisted(machine)
            and (machine.instance_id in self.named or machine.instance_id in entry.instance_ids)
        ]
        if len(staying) > most:
            self.accuse(f"H4: {len(staying)} workers, {most} allowed: {staying}")
        ceiling = self.settings.usd_per_hour_max
        if ceiling and self.cloud.usd_per_hour() > ceiling * MONEY_SLACK:
            self.accuse(f"economy: {self.cloud.usd_per_hour():.2f} dollars an hour, {ceiling:g} allowed")

    def _terminated(self, machine: Machine) -> None:
        if machine.foreign or not machine.action_id:
            self.accuse(f"S-A4: {machine.instance_id} is not ours to end")
        elif machine.alive and machine.instance_id not in self.condemned:
            self.accuse(f"S-A4: {machine.instance_id} was ended without being condemned")
        node = self.cluster.by_name.get(machine.address)
        if machine.alive and node is not None and node.machine is machine:
            busy = [pod.name for pod in node.pods.values() if _matters(pod) and not pod.deleting_s]
            shown = node.ready and not self.shown.is_absent(node)
            if busy and machine.instance_id not in self.interrupted and shown:
                self.accuse(f"S-A4: {machine.instance_id} was ended while {busy[0]} ran on it")

    # The cluster

    def placed(self, pod: SimPod, node: SimNode) -> None:
        machine = node.machine
        if machine is None or not _matters(pod):
            return
        machine.served = True
        if machine.action_id and machine.instance_id not in self.named:
            self.accuse(f"S-A2: {pod.name} was placed on {machine.instance_id}, which no record has named")

    def evicted(self, pod: SimPod) -> None:
        machine = pod.node.machine if pod.node is not None else None
        if machine is None:
            if pod.node is not None:
                self.accuse(f"S-A6: {pod.name} was evicted from {pod.node.name}, which is not ours")
        elif _is_critical(pod) and machine.instance_id not in self.interrupted:
            self.accuse(f"S-A6: critical pod {pod.name} was evicted from {machine.instance_id}")

    def changed(self, node: SimNode, before: KubeNode) -> None:
        if node.machine is None:
            self.accuse(f"node {node.name} is none of ours, and was changed")
        if node.name in self.by_hand and not node.cordoned:
            self.accuse(f"L-A2: the cordon that a person made on {node.name} was lifted")

    def deleted(self, node: SimNode) -> None:
        if node.machine is None:
            self.accuse(f"H5: node {node.name} is none of ours, and was deleted")
        elif node.machine.alive and node.machine.instance_id not in self.hidden:
            self.accuse(f"H5: node {node.name} was deleted while {node.machine.instance_id} lives")
        elif node.ready:
            self.accuse(f"S-A9: node {node.name} was deleted while it was Ready")
        elif node.machine.alive:
            self.buried.add(node.machine.instance_id)
        self.by_hand.discard(node.name)

    # From time to time

    def patrol(self) -> None:
        """What is wrong may stay so for a while, even in a world full of faults, and not for hours.

        Only time counts in which the nodes are listed as they are.
        """
        now_s = self.cloud.world.now
        passed_s = 0.0 if self.lied() else now_s - self._patrolled_s
        self._patrolled_s = now_s
        bounds = dict(self.wrong())
        self._wrong_s = {what: self._wrong_s.get(what, -passed_s) + passed_s for what in bounds}
        for what, for_s in self._wrong_s.items():
            if for_s > bounds[what]:
                self.accuse(f"{what}, for {for_s:.0f} s")

    def wrong(self) -> Iterable[tuple[str, float]]:
        """What is wrong now, and for how long it may be."""
        for what in dict.fromkeys([*self._strays(), *self._unnamed(), *self._old_action()]):
            yield what, self.patience_s

    def _strays(self) -> Iterable[str]:
        """Cordons of ours that no action needs any more."""
        record = self.record()
        action = _open(record)
        open_ids = {action.action_id} if action is not None else set()
        open_ids |= {row.action_id for row in record.interrupted}
        open_ids |= {row.action_id for row in record.condemned}
        for node in self.cluster.by_name.values():
            owners = cordon_owners(node.value())
            lives = node.machine is not None and node.machine.alive
            shown = node.machine is not None and not self.shown.is_unlisted(node.machine)
            if owners and not owners & open_ids and lives and shown:
                yield f"L-A2: {node.name} is left cordoned for {' '.join(sorted(owners))}"

    def _unnamed(self) -> Iterable[str]:
        for machine in self.cloud.alive():
            known = machine.instance_id in self.named | self.condemned
            if machine.action_id and not known and not self.shown.is_disowned(machine):
                yield f"S-A3: no record names {machine.instance_id}, and it runs"

    def _old_action(self) -> Iterable[str]:
        action = _open(self.record())
        if isinstance(action, ScaleDown):
            yield f"L-A1: {action.action_id} is still open"

    # The end

    def unhealed(self) -> list[str]:
        """What is still wrong though nothing has failed for a long time."""
        return [*self._unfinished(), *self._unaccounted(), *self._unserved()]

    def _unfinished(self) -> Iterable[str]:
        record = self.record()
        action = _open(record)
        if action is not None:
            yield f"L-A1: {action.action_id} is still open"
        if record.condemned:
            yield f"L-A1: still condemned: {[row.instance_id for row in record.condemned]}"
        # One that is replaced by choice may be on its way out at any time.
        going = {row.action_id for row in record.interrupted if row.kind is NoticeKind.REPLACE}
        for node in self.cluster.by_name.values():
            if cordon_owners(node.value()) & going:
                continue
            if cordon_owners(node.value()) or (node.cordoned and node.name not in self.by_hand):
                yield f"L-A2: {node.name} is left cordoned for {sorted(cordon_owners(node.value()))}"
        if record.strays:
            yield f"L-A2: strays are left: {record.strays}"

    def _unaccounted(self) -> Iterable[str]:
        nodes = {node.machine.instance_id: node for node in self.cluster.by_name.values() if node.machine}
        for machine in self.cloud.alive():
            node = nodes.pop(machine.instance_id, None)
            if machine.action_id and machine.instance_id not in self.named:
                yield f"S-A3: no record has ever named {machine.instance_id}, and it runs"
            elif node is None and not machine.action_id and machine.instance_id in self.buried:
                continue  # it is not ours to end
            elif node is None:
                yield f"S-A3: {machine.instance_id} runs, and has no node"
            elif not self.shown.serves(machine):
                yield f"S-A3: {machine.instance_id} runs, and takes no pods"
        for instance_id, node in nodes.items():
            yield f"S-A3: node {node.name} is left of {instance_id}, which is gone"

    def _unserved(self) -> Iterable[str]:
        alive = len(self.cloud.alive())
        if alive < self.settings.min_workers:
            yield f"L-A4: {alive} workers, the floor is {self.settings.min_workers}"
        if alive < self.settings.max_workers:
            for pod in self.cluster.waiting.values():
                yield f"L-A3: {pod.name} is still pending"


def _open(cluster: Cluster) -> ScaleUp | ScaleDown | None:
    return cluster.scale_up or cluster.scale_down


def _certain(cluster: Cluster) -> list[Interrupted]:
    """Interrupted for sure; no machine leaves for a mere hint."""
    return [row for row in cluster.interrupted if row.kind.is_certain]


def _matters(pod: SimPod) -> bool:
    return pod.workload.kind is not Owned.DAEMON_SET


def _is_critical(pod: SimPod) -> bool:
    workload = pod.workload
    return _matters(pod) and (
        workload.priority_class in CRITICAL
        or workload.namespace == "kube-system"
        or workload.kind is Owned.BARE
        or workload.do_not_evict
        or workload.local_storage
    )
