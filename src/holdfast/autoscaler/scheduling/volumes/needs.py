"""What a pod's volumes ask of its node."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from holdfast.autoscaler.scheduling.match import selects_labels
from holdfast.cloud.kubernetes import NodeSelector
from holdfast.cloud.volumes import TopologyTerm

Labels = Mapping[str, str]
ZONE = "topology.kubernetes.io/zone"
BETA_LABELS = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
}
ZONE_LABELS = (*BETA_LABELS, *BETA_LABELS.values())


class VolumeDoubt(StrEnum):
    """What of a pod's volumes is not considered."""

    CAPACITY = "a volume of a driver that tells how much storage is left where"
    IMMEDIATE = "a volume that will be made anew, and before a node is chosen for it"
    DISK = "a disk that the pod names itself"


@dataclass(frozen=True, slots=True)
class Bound:
    """What a claim got on the node where its pod was placed."""

    volume: str = ""
    """Empty: a new one is made."""
    selector: NodeSelector | None = None
    zone: str = ""
    """Of a new one."""

    def reaches(self, labels: Labels) -> bool:
        """Whether another pod of the claim may use it on a node with these labels."""
        if self.volume:
            return self.selector is None or selects_labels(self.selector, labels)
        return not self.zone or labels.get(ZONE) == self.zone


@dataclass(frozen=True, slots=True)
class Choice:
    """A claim that is bound once its pod has a node: to a volume that is there, or to one that is made."""

    volumes: tuple[tuple[str, NodeSelector | None], ...] = ()
    """Those that would do, the best first, with what each asks of the node."""
    topologies: tuple[TopologyTerm, ...] | None = None
    """Where one can be made.  Empty: anywhere.  None: none is made."""
    claim: str = ""
    """Its name, where other pods use it too."""

    def can_be_made(self, labels: Labels) -> bool:
        if self.topologies is None:
            return False
        return not self.topologies or any(_term_holds(term, labels) for term in self.topologies)

    def found(self, labels: Labels, taken: Mapping[str, int]) -> Bound | None:
        """What it would get on a node with these labels."""
        for name, selector in self.volumes:
            if not taken.get(name) and (selector is None or selects_labels(selector, labels)):
                return Bound(name, selector)
        return Bound(zone=labels.get(ZONE, "")) if self.can_be_made(labels) else None


@dataclass(frozen=True, slots=True)
class VolumeNeeds:
    """All that the volumes of one pod ask for."""

    nowhere: str = ""
    """Why no node would do, ours or another."""
    selectors: tuple[NodeSelector, ...] = ()
    """Of the volumes that its claims are bound to: the node must match each."""
    zones: tuple[tuple[str, frozenset[str]], ...] = ()
    """Labels of these volumes about zones and regions, with the values that will do."""
    selected_node: str = ""
    """The scheduler has chosen this one already: a volume is being made for it."""
    choices: tuple[Choice, ...] = ()
    own: tuple[tuple[str, int], ...] = ()
    """By driver: how many volumes are attached for this pod alone."""
    shared: tuple[tuple[str, str], ...] = ()
    """Driver and volume, of those that other pods use too: attached once to a node."""
    alone: tuple[str, ...] = ()
    """Claims that one pod may use at a time (ReadWriteOncePod)."""
    doubts: tuple[VolumeDoubt, ...] = ()

    @property
    def is_counted(self) -> bool:
        """Whether pods that are placed change where the next one may go."""
        return bool(self.own or self.shared or self.alone or self.is_chosen)

    @property
    def is_chosen(self) -> bool:
        """Whether it matters to others which volumes its claims get."""
        return any(each.volumes or each.claim for each in self.choices)

    def misfit(self, name: str, labels: Labels) -> str:
        """Why a node with this name and these labels would never do."""
        if self.nowhere:
            return self.nowhere
        if self.selected_node and self.selected_node != name:
            return f"a volume is being made for it elsewhere: {self.selected_node}"
        if not all(selects_labels(selector, labels) for selector in self.selectors):
            return "its volume is tied to other nodes"
        if not self._is_in_zone(labels):
            return "its volume is in another zone"
        if any(choice.found(labels, {}) is None for choice in self.choices):
            return "no volume for it is there or can be made"
        return ""

    def _is_in_zone(self, labels: Labels) -> bool:
        """A node that has no label of a zone at all takes every volume."""
        if not self.zones or not any(label in labels for label in ZONE_LABELS):
            return True
        return all(
            labels.get(label, labels.get(BETA_LABELS.get(label, ""), "")) in values
            for label, values in self.zones
        )


NO_NEEDS = VolumeNeeds()


def _term_holds(term: TopologyTerm, labels: Labels) -> bool:
    """A term that says nothing matches no node."""
    wanted = term.match_label_expressions
    return bool(wanted) and all(labels.get(each.key) in each.values for each in wanted)
