"""One look at the world, joined up: the machine, its node and what runs there, as one worker.

Everything that pods and budgets decide is a function in here, called when a step asks:
a tick with nothing to do looks at 30,000 pods and considers none of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from holdfast.autoscaler.ports import Load
from holdfast.autoscaler.record import Purpose
from holdfast.cloud import ALIVE, Instance, Notice, Offering, Prices, Shape, State
from holdfast.cloud.announcements import WaitingPod
from holdfast.cloud.launches import Template

if TYPE_CHECKING:
    from holdfast.autoscaler.money.shares import FleetCost

NOTHING_KNOWN = Load(None, problem="no source was asked")
NEVER_S = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """A machine of the cluster, with its node once it has joined."""

    instance: Instance
    node_name: str = ""
    node_uid: str = ""
    ready: bool = False
    joining: bool = False
    """Its node still carries the joining taint: it takes no pod."""
    cordons: frozenset[str] = frozenset()
    """The actions that own its cordon."""
    cordoned: bool = False
    """Nothing new is placed there, by our cordon or another's."""
    namesake: str = ""
    """A node that names no machine and bears this one's private name or address: it may well be its node."""
    late: bool = False
    """It runs for longer than a machine may take to join, and has no node: none is on its way."""
    has_pods: bool = False
    """No node of it is listed, and pods are, on a node of its name: the list of nodes is not whole."""

    @property
    def instance_id(self) -> str:
        return self.instance.instance_id

    @property
    def alive(self) -> bool:
        return self.instance.state in ALIVE

    def uncordoned_from(self, action_id: str) -> bool:
        """The action cordoned it, and a person has opened it again: the mark is left, the cordon is not."""
        return action_id in self.cordons and not self.cordoned

    @property
    def ours(self) -> bool:
        """Launched by an action of ours: only such may ever be removed."""
        return self.instance.is_ours


@dataclass(frozen=True, slots=True)
class Ghost:
    """A node that names a machine which is not listed as alive."""

    instance_id: str
    name: str
    uid: str
    state: State | None
    """None: the machine is not listed at all, which once is no proof."""
    ready: bool = False
    """Its kubelet reports: some machine is there, whatever the listing says."""
    joining: bool = False
    """The node still carries the joining taint."""
    doubted: bool = False
    """It joins, and the readiness check does not call it Ready: it is not opened yet."""
    cordons: frozenset[str] = frozenset()
    """Actions of ours that have cordoned it."""


@dataclass(frozen=True, slots=True)
class Need:
    """Workers of a pool that pods wait for, beyond all that exists or is on its way."""

    pool: str
    count: int
    why: str = ""
    zone: str = ""
    """Only there would it help: the pods are bound to this zone.  Empty: anywhere."""
    purpose: Purpose = Purpose.DEMAND
    types: tuple[str, ...] = ()
    """Only these hold what waits, the cheapest first.  Empty: any of the pool will do."""
    usd_max: float = 0.0
    """What one of them may cost an hour at most.  0: anything."""


@dataclass(frozen=True, slots=True)
class Place:
    """A subnet where a pool may scale up."""

    pool: str
    zone: str
    subnet_id: str


def _all_fit(leaving: frozenset[str], closed: frozenset[str]) -> str:
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What the workflows know of the world, after the record was read."""

    owner: str
    """The invocation that looks: part of the id of an action that it begins."""
    workers: tuple[Worker, ...] = ()
    ghosts: tuple[Ghost, ...] = ()
    waiting_pods: Callable[[], tuple[WaitingPod, ...]] = lambda: ()
    """The pods for which the scheduler finds no node, the first few of each kind."""
    unschedulable: int = 0
    """Pods for which the scheduler finds no node."""
    pending: int = 0
    """Pods that no node takes, and that a new node of ours would."""
    pending_since_s: Callable[[], float] = lambda: NEVER_S
    """Since when one of them waits, by its own condition and the API server's clock."""
    pending_pools: frozenset[str] | None = None
    """The pools whose new nodes would take them.  None: all."""
    unsatisfiable: tuple[str, ...] = ()
    """Pods that no template of ours could run, each with the reason."""
    unhelped: Mapping[str, str] = field(default_factory=dict)
    """By their owner: pods for which a node as they ask for stands empty in vain, and why."""
    waiting: frozenset[str] = frozenset()
    """The owners of all pods that the scheduler found no node for."""
    needs: Callable[[int], tuple[Need, ...]] = lambda on_its_way: ()
    """What the pending pods need, given so many workers that are still to come."""
    must_stay: Callable[[str], str] = lambda instance_id: ""
    """Why this worker may not leave; empty if it may."""
    stays_put: Callable[[str], str] = lambda instance_id: ""
    """Why this worker may not be disrupted, wherever its pods would go; empty if it may."""
    fits_on_new: Callable[[str], str] = lambda instance_id: ""
    """Which pod of this worker would find no place though a new one of its pool and zone came; empty if all
    would."""
    types_for: Callable[[str], tuple[str, ...]] = lambda instance_id: ()
    """The types of which a new one would do for that.  None, where all would: any."""
    used: Callable[[str], float] = lambda instance_id: 1.0
    """The part of what this worker offers that its pods ask for."""
    fits_without: Callable[[frozenset[str], frozenset[str]], str] = _all_fit
    """Which pod of the leaving instances would find no place, and why; empty if all would.
    Neither those nor the closed ones offer any room."""
    is_empty: Callable[[str], bool] = lambda instance_id: False
    """Whether nothing runs on this worker but what comes and goes with its node."""
    is_occupied: Callable[[str], bool] = lambda instance_id: False
    """Whether the node of this worker is listed, with pods that a drain moves."""
    load: Load = NOTHING_KNOWN
    loads: Mapping[str, Load] = field(default_factory=dict)
    """By pool, where several are in service."""
    notices: tuple[Notice, ...] = ()
    """Those that wait in the inbox."""
    observed: tuple[Notice, ...] = ()
    """What the cloud's own listings say in the same words: machines that it marks, or that have ended."""
    templates: Mapping[str, Template] = field(default_factory=dict)
    """By pool: the template version that its settings describe, where it has been made."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """By pool: the digest that its template must have."""
    pool_problems: Mapping[str, str] = field(default_factory=dict)
    """By pool: why it cannot be launched from now.  That is its own trouble, and no other pool's."""
    remarks: tuple[str, ...] = ()
    """What else an operator should mend: no pool is held up by it."""
    places: tuple[Place, ...] = ()
    types: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By pool: the types that its requirements come to.  Pools that name their types are not here."""
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    """By instance type."""
    prices: Prices = field(default_factory=lambda: Prices({}))
    costs: Callable[[], "FleetCost | None"] = lambda: None
    """Who costs what: a look at every pod, made when it is asked for."""
    cluster_uid: str = ""
    """The identity of the cluster that was looked at; empty: it was not asked for."""
    troubles: tuple[str, ...] = ()
    """What could not be looked at, or cannot be right.  With any, nothing scales down and nothing is
    swept."""
    doubts: tuple[str, ...] = ()
    """Those of them by which a listing is not whole: that a node is not listed proves nothing then."""

    @property
    def problems(self) -> tuple[str, ...]:
        """What an operator must mend, and what holds nothing else up."""
        broken = (f"pool {pool}: {problem}" for pool, problem in self.pool_problems.items())
        nameless = (
            f"{worker.instance_id} runs as node {worker.namesake}, which does not name it: its launch "
            "template must set the provider id (aws:///ZONE/INSTANCE) and the taint holdfast.dev/joining"
            for worker in self.workers
            if worker.namesake and worker.alive and worker.ours
        )
        return (*broken, *nameless, *self.remarks)

    @property
    def reporting(self) -> Mapping[str, Ghost]:
        """By instance id: Ready nodes whose machine is not listed.  They live, whatever the listing says."""
        return {ghost.instance_id: ghost for ghost in self.ghosts if ghost.state is None and ghost.ready}

    @property
    def unopened(self) -> frozenset[str]:
        """Machines whose nodes are Ready and take no pod yet.  That one is not listed keeps its node from
        nothing: its kubelet reports under the name of the machine."""
        listed = {w.instance_id for w in self.workers if w.alive and w.ready and w.joining}
        return frozenset(listed).union(
            i for i, ghost in self.reporting.items() if ghost.joining and not ghost.doubted
        )

    def pods_wait_for(self, pool: str) -> bool:
        return self.pending > 0 and (self.pending_pools is None or pool in self.pending_pools)

    def usd_per_hour(self) -> float | None:
        """What the fleet costs; None if a price is not known."""
        total = 0.0
        for worker in self.workers:
            if worker.alive:
                usd = self.usd_of(worker)
                if usd is None:
                    return None
                total += usd
        return total

    def usd_of(self, worker: Worker) -> float | None:
        i = worker.instance
        return self.prices.usd(Offering(i.zone, i.market, i.instance_type))
