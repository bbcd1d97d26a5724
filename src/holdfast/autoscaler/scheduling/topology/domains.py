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
class Eligible:
    """The nodes that count for some rules of spread, by their domains."""

    topology_key: str
    nodes: set[str] = field(default_factory=set)
    """By name."""
    domains: Counter[str] = field(default_factory=Counter)
    """How many of them each has."""
    spreads: "list[SpreadCounts]" = field(default_factory=list)
    """The counts over these nodes."""

    def add_node(self, name: str, labels: Labels) -> None:
        domain = labels[self.topology_key]
        self.nodes.add(name)
        self.domains[domain] += 1
        if self.domains[domain] == 1:
            for spread in self.spreads:
                spread.having[spread.pods[domain]] += 1

    def remove_node(self, name: str, labels: Labels) -> None:
        """Of a node whose pods were taken away before."""
        if name not in self.nodes:
            return
        domain = labels[self.topology_key]
        self.nodes.remove(name)
        self.domains[domain] -= 1
        if not self.domains[domain]:
            for spread in self.spreads:
                spread.having[spread.pods[domain]] -= 1


class SpreadCounts:
    """Pods over eligible nodes alone, with the least of all domains at hand."""

    __slots__ = ("eligible", "having", "pods", "topology_key")

    def __init__(self, eligible: Eligible) -> None:
        self.eligible, self.topology_key = eligible, eligible.topology_key
        self.pods: Counter[str] = Counter()
        self.having: Counter[int] = Counter({0: sum(1 for nodes in eligible.domains.values() if nodes)})
        """How many domains have so many pods."""
        eligible.spreads.append(self)

    def add(self, node: str, labels: Labels, count: int) -> None:
        if node not in self.eligible.nodes:
            return
        domain = labels[self.topology_key]
        self.having[self.pods[domain]] -= 1
        self.pods[domain] += count
        self.having[self.pods[domain]] += 1

    def least(self, min_domains: int) -> int:
        """Fewer domains than wanted count as one more that is empty."""
        if sum(self.having.values()) < min_domains:
            return 0
        return min((count for count, domains in self.having.items() if domains), default=0)
