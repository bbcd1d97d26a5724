"""Pods counted by domain: by the value that their node has for a label."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

Labels = Mapping[str, str]


@dataclass(slots=True)
class DomainCounts:
    """How many of some pods are in each domain of a topology."""

    topology_key: str
    pods: Counter[str] = field(default_factory=Counter)
    total: int = 0

    def add(self, node: str, labels: Labels, count: int) -> None:
        """`labels`: of the node.  One without the key is in no domain."""
        domain = labels.get(self.topology_key)
        if domain is not None:
            self.pods[domain] += count
            self.total += count

    def at(self, labels: Labels) -> int | None:
        """None: the node is in no domain."""
        domain = labels.get(self.topology_key)
        return None if domain is None else self.pods[domain]


@dataclass(slots=True)
class SpreadCounts:
    """The same over eligible nodes alone, with the least of all domains at hand."""

    topology_key: str
    nodes: set[str] = field(default_factory=set)
    """Eligible, by name."""
    pods: Counter[str] = field(default_factory=Counter)
    domains: Counter[str] = field(default_factory=Counter)
    """How many eligible nodes each has."""
    _having: Counter[int] = field(default_factory=Counter)
    """How many domains have so many pods."""

    def add_node(self, name: str, labels: Labels) -> None:
        domain = labels[self.topology_key]
        self.nodes.add(name)
        self.domains[domain] += 1
        if self.domains[domain] == 1:
            self._having[self.pods[domain]] += 1

    def remove_node(self, name: str, labels: Labels) -> None:
        """Of a node whose pods were taken away before."""
        if name not in self.nodes:
            return
        domain = labels[self.topology_key]
        self.nodes.remove(name)
        self.domains[domain] -= 1
        if not self.domains[domain]:
            self._having[self.pods[domain]] -= 1

    def add(self, node: str, labels: Labels, count: int) -> None:
        if node not in self.nodes:
            return
        domain = labels[self.topology_key]
        self._having[self.pods[domain]] -= 1
        self.pods[domain] += count
        self._having[self.pods[domain]] += 1

    def least(self, min_domains: int) -> int:
        """Fewer domains than wanted count as one more that is empty."""
        if sum(self._having.values()) < min_domains:
            return 0
        return min((count for count, domains in self._having.items() if domains), default=0)
