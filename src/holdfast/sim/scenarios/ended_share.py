"""S-A9: hardly any machine that serves is ended within an hour, but for a scale-down or a replaced hint.

Whatever a listing shows, and whichever cluster answers: what it is judged by is the truth.
"""

from collections import deque
from typing import Final

from holdfast.cloud.kubernetes import takes_pods
from holdfast.sim.ec2.machine import Machine
from holdfast.sim.kubernetes.cluster import SimKubernetes
from holdfast.sim.kubernetes.pods import SimNode

HOUR_S: Final = 3_600.0
DECIDED: Final = ("scale-down", "replaced")
"""Why a machine that serves may be ended, however many leave so."""
ENDED_MAX: Final = 1
ENDED_SHARE: Final = 0.1
"""So many, or this share of those that serve, may be ended within an hour for any other reason."""


def _takes_pods(node: SimNode) -> bool:
    return takes_pods(node.value())


class EndedShare:
    def __init__(self, cluster: SimKubernetes) -> None:
        self._cluster = cluster
        self._at_s: deque[float] = deque()

    def condemned(self, machine: Machine, why: str, now_s: float) -> str:
        """What is wrong with ending one more; empty if nothing."""
        node = self._cluster.by_name.get(machine.address)
        if why in DECIDED or node is None or node.machine is not machine or not _takes_pods(node):
            return ""
        self._at_s.append(now_s)
        while self._at_s[0] <= now_s - HOUR_S:
            self._at_s.popleft()
        serving = sum(
            each.machine is not None and _takes_pods(each) for each in self._cluster.by_name.values()
        )
        if len(self._at_s) <= max(ENDED_MAX, ENDED_SHARE * serving):
            return ""
        return f"S-A9: {len(self._at_s)} of {serving} machines that serve are ended within an hour ({why})"
