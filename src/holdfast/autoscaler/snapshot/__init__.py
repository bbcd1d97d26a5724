"""One look at the world, joined up: the machine, its node and what runs there, as one worker.

Everything that pods and budgets decide is a function in here, called when a step asks:
a tick with nothing to do looks at 30,000 pods and considers none of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from holdfast.autoscaler.ports import Load
from holdfast.cloud import ALIVE, Instance, Notice, Offering, Prices, State
from holdfast.cloud.launches import Template

NOTHING_KNOWN = Load(None, problem="no source was asked")


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

    @property
    def instance_id(self) -> str:
        return self.instance.instance_id

    @property
    def alive(self) -> bool:
        return self.instance.state in ALIVE

    @property
    def ours(self) -> bool:
        """Launched by an action of ours: only such may ever be removed."""
        return bool(self.instance.action_id)


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


@dataclass(frozen=True, slots=True)
class Need:
    """Workers of a pool that pods wait for, beyond all that exists or is on its way."""

    pool: str
    count: int
    why: str = ""
    zone: str = ""
    """Only there would it help: the pods are bound to this zone.  Empty: anywhere."""


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
    pending: int = 0
    """Pods that no node takes, and that a new node of ours would."""
    unsatisfiable: tuple[str, ...] = ()
    """Pods that no template of ours could run, each with the reason."""
    needs: Callable[[int], tuple[Need, ...]] = lambda on_its_way: ()
    """What the pending pods need, given so many workers that are still to come."""
    must_stay: Callable[[str], str] = lambda instance_id: ""
    """Why this worker may not leave; empty if it may."""
    fits_without: Callable[[frozenset[str], frozenset[str]], str] = _all_fit
    """Which pod of the leaving instances would find no place, and why; empty if all would.
    Neither those nor the closed ones offer any room."""
    load: Load = NOTHING_KNOWN
    notices: tuple[Notice, ...] = ()
    templates: Mapping[str, Template] = field(default_factory=dict)
    """By pool: the template version that its settings describe, where it has been made."""
    digests: Mapping[str, str] = field(default_factory=dict)
    """By pool: the digest that its template must have."""
    places: tuple[Place, ...] = ()
    prices: Prices = field(default_factory=lambda: Prices({}))
    troubles: tuple[str, ...] = ()
    """What could not be looked at.  With any, nothing scales down and nothing is swept."""

    def usd_per_hour(self) -> float | None:
        """What the fleet costs; None if a price is not known."""
        total = 0.0
        for worker in self.workers:
            if worker.alive:
                i = worker.instance
                usd = self.prices.usd(Offering(i.zone, i.market, i.instance_type))
                if usd is None:
                    return None
                total += usd
        return total
