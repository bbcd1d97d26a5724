"""Whether the pods around a node let a pod go there, and the volumes of both."""

from dataclasses import dataclass

from holdfast.autoscaler.scheduling.fit import Room
from holdfast.autoscaler.scheduling.terms import SpreadRule
from holdfast.autoscaler.scheduling.topology.domains import DomainCounts, Labels, SpreadCounts
from holdfast.autoscaler.scheduling.volumes import VolumeCounts
from holdfast.autoscaler.scheduling.volumes.needs import NO_NEEDS, VolumeNeeds


@dataclass(frozen=True, slots=True)
class Asked:
    """What one kind of pods asks, with the counts that answer it; these change as pods are placed."""

    keeping_off: tuple[DomainCounts, ...]
    """Pods that keep this one off by an anti-affinity of their own."""
    apart: tuple[DomainCounts, ...]
    together: tuple[DomainCounts, ...]
    is_of_its_own: bool
    """It matches its own affinity: the first of its kind may go anywhere."""
    spread: tuple[tuple[SpreadRule, SpreadCounts, bool], ...]
    """With whether the pod itself counts."""
    volumes: VolumeCounts
    needs: VolumeNeeds = NO_NEEDS

    def refusal(self, room: Room) -> str:
        """Why this node would not do; empty if it would.  The kind stands before the colon."""
        labels = room.labels
        for counts in self.apart:
            if counts.at(labels):
                return f"pod anti-affinity: a pod that it stays apart from is in its {counts.topology_key}"
        for counts in self.keeping_off:
            if counts.at(labels):
                return f"a pod there keeps it off by anti-affinity: {counts.topology_key}"
        return self._away(labels) or self._skewed(labels) or self._unattachable(room)

    def _unattachable(self, room: Room) -> str:
        if self.needs is NO_NEEDS:
            return ""
        return self.volumes.refusal(room.name, room.labels, self.needs, is_new=room.new)

    def _away(self, labels: Labels) -> str:
        found = [counts.at(labels) for counts in self.together]
        if None in found:
            return f"no label {self.together[found.index(None)].topology_key}"
        if all(found):
            return ""
        if self.is_of_its_own and not any(counts.total for counts in self.together):
            return ""
        return f"pod affinity: no pod that it goes with is in its {self.together[0].topology_key}"

    def _skewed(self, labels: Labels) -> str:
        for rule, counts, counts_itself in self.spread:
            key = rule.term.topology_key
            domain = labels.get(key)
            if domain is None:
                return f"no label {key}"
            least = counts.least(rule.min_domains)
            if counts.pods[domain] + counts_itself - least > rule.max_skew:
                return (
                    f"topology spread: {key}={domain} has {counts.pods[domain]}, the least is {least}, "
                    f"and maxSkew is {rule.max_skew}"
                )
        return ""
