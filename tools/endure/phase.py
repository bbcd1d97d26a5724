"""What the record says is going on: the phases in which a process can be killed."""

from enum import StrEnum

from holdfast.autoscaler.record import Cluster, Status


class Phase(StrEnum):
    IDLE = "idle"
    INTENDED = "scale-up intended"
    """Written down, and perhaps asked for; no answer is noted yet."""
    JOINING = "scale-up joining"
    DRAINING = "scale-down DRAINING"
    TERMINATING = "scale-down TERMINATING"
    INTERRUPTED = "interrupted"
    """The cloud takes a machine back, and there is still something to do about it."""
    DYING = "terminating"
    """No action is open, and a condemned machine is not gone yet."""


HUNTED = (Phase.INTENDED, Phase.JOINING, Phase.DRAINING, Phase.TERMINATING, Phase.INTERRUPTED)
"""Those in which something is half done."""


def phase_of(cluster: Cluster) -> Phase:
    """The most urgent of them, if there are several."""
    if any(not row.drained or not row.replacement for row in cluster.interrupted):
        return Phase.INTERRUPTED
    if cluster.scale_up is not None:
        return Phase.INTENDED if cluster.scale_up.intended else Phase.JOINING
    if cluster.scale_down is not None:
        open_yet = cluster.scale_down.having(Status.PLANNED, Status.DRAINED)
        return Phase.DRAINING if open_yet else Phase.TERMINATING
    return Phase.DYING if cluster.condemned else Phase.IDLE
