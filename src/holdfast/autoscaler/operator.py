"""What an operator writes into the record by hand."""

from dataclasses import replace

from holdfast.autoscaler.events import AutoscalerEvent
from holdfast.autoscaler.record import Cluster
from holdfast.kernel import Event, Write


def pause(cluster: Cluster, until_s: float, why: str, now_s: float) -> Write[Cluster]:
    """Begin nothing new until then.  What is open is finished, and interrupted nodes are still replaced."""
    paused = replace(cluster, paused_until_s=int(until_s), paused_why=why)
    return Write(
        paused, (Event(AutoscalerEvent.PAUSED, now_s, reason=why, numbers={"untilEpoch": int(until_s)}),)
    )


def resume(cluster: Cluster, now_s: float) -> Write[Cluster] | None:
    """None if it is not paused."""
    if not cluster.paused_until_s:
        return None
    return Write(replace(cluster, paused_until_s=0, paused_why=""), (Event(AutoscalerEvent.RESUMED, now_s),))


def is_paused(cluster: Cluster, now_s: float) -> bool:
    return now_s < cluster.paused_until_s


def mode(cluster: Cluster, *, observe: bool, now_s: float) -> str:
    """`active`, `paused` or `observe`."""
    return "observe" if observe else "paused" if is_paused(cluster, now_s) else "active"
