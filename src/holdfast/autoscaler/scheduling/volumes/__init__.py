"""Where volumes are: attached to nodes, taken by claims, used by pods; kept up as pods are placed.

As the scheduler filters: bound claims follow their volume's node affinity and zone, claims that wait for
their pod take a volume that is there or one that can be made, a node takes so many volumes of a driver
(CSINode), and a ReadWriteOncePod claim has one pod.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from holdfast.autoscaler.scheduling.volumes.needs import Bound, Labels, VolumeNeeds
from holdfast.cloud.kubernetes import POOL_LABEL
from holdfast.cloud.volumes import CsiNode


class VolumeCounts:
    """What pods that are placed leave of volumes and attachments."""

    def __init__(self, csi_nodes: Iterable[CsiNode] = ()) -> None:
        self._limits = {each.metadata.name: each.limits for each in csi_nodes}
        self._of_pool: dict[str, dict[str, int]] = {}
        """The least that nodes of each pool take: what a new one is expected to."""
        self._own: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """By node: volumes of each driver that one pod uses."""
        self._shared: defaultdict[str, Counter[tuple[str, str]]] = defaultdict(Counter)
        """By node: how many pods use each of the others."""
        self._users: Counter[str] = Counter()
        """Of claims that one pod may use at a time."""
        self._taken: Counter[str] = Counter()
        """Volumes that pods which were placed got."""
        self._bound: dict[str, Bound] = {}
        """By claim: what pods that share it were given when the first of them was placed."""
        self._got: defaultdict[tuple[str, VolumeNeeds], list[list[tuple[str, Bound]]]] = defaultdict(list)

    def add_node(self, name: str, pool: str) -> None:
        least = self._of_pool.setdefault(pool, {})
        for driver, limit in self._limits.get(name, {}).items():
            least[driver] = min(limit, least.get(driver, limit))

    def put(self, node: str, labels: Labels, needs: VolumeNeeds, count: int) -> None:
        """So many pods more on this node; fewer, if the number is negative."""
        own, shared = self._own[node], self._shared[node]
        for driver, number in needs.own:
            own[driver] += number * count
        for each in needs.shared:
            shared[each] += count
        for claim in needs.alone:
            self._users[claim] += count
        if needs.is_chosen:
            for _ in range(abs(count)):
                self._choose(node, labels, needs, count > 0)

    def _choose(self, node: str, labels: Labels, needs: VolumeNeeds, gets: bool) -> None:
        before = self._got[node, needs]
        if gets:
            before.append(self._found(labels, needs) or [])
        elif not before:
            return
        # What an earlier pod was given is not given again, and not taken back.
        for claim, bound in before[-1] if gets else before.pop():
            self._taken[bound.volume] += 1 if gets else -1
            if claim and gets:
                self._bound[claim] = bound
            elif claim:
                self._bound.pop(claim, None)

    def _found(self, labels: Labels, needs: VolumeNeeds) -> list[tuple[str, Bound]] | None:
        """By claim: what each would get there, the smallest first.  None: not all get something."""
        taken, found = dict(self._taken), list[tuple[str, Bound]]()
        for choice in needs.choices:
            if choice.claim in self._bound:
                if not self._bound[choice.claim].reaches(labels):
                    return None
                continue
            bound = choice.found(labels, taken)
            if bound is None:
                return None
            if bound.volume:
                taken[bound.volume] = 1
            if bound.volume or choice.claim:
                found.append((choice.claim, bound))
        return found

    def refusal(self, node: str, labels: Labels, needs: VolumeNeeds, *, is_new: bool) -> str:
        """Why this node would not do now.  What stands before a colon is the kind of reason."""
        if used := next((claim for claim in needs.alone if self._users[claim]), ""):
            return f"another pod uses its claim, which only one may: {used}"
        if needs.is_chosen and self._found(labels, needs) is None:
            return "no volume for it is left or can be made"
        limits = self._of_pool.get(labels.get(POOL_LABEL, "")) if is_new else self._limits.get(node)
        return self._overfull(node, needs, limits) if limits else ""

    def _overfull(self, node: str, needs: VolumeNeeds, limits: Mapping[str, int]) -> str:
        there = Counter({driver: n for driver, n in self._own[node].items() if n > 0})
        there.update(driver for (driver, _), pods in self._shared[node].items() if pods > 0)
        more = Counter(dict(needs.own))
        more.update(driver for driver, handle in needs.shared if self._shared[node][driver, handle] <= 0)
        for driver, number in more.items():
            if driver in limits and there[driver] + number > limits[driver]:
                return f"no more volumes can be attached: {driver} has {there[driver]} of {limits[driver]}"
        return ""
