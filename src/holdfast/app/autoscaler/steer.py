"""Writing into the record by hand: read, change, commit; again if another process was faster."""

from collections.abc import Callable
from dataclasses import replace

from holdfast.adapters.clock import SystemClock, new_id
from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.ports import ClusterStore
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.restored import read_on
from holdfast.kernel import Busy, Conflict, Done, DriverPorts, Unknown, Workflow, Write, advance

TRIES_MAX = 8

Change = Callable[[Cluster, float], Write[Cluster] | None]


def change(store: ClusterStore, wanted: Change) -> bool:
    """Whether something had to be written.  Raises Busy or Unknown if that could not be found out.

    A lost answer is looked up by the driver; trying again after it makes the same change once more.
    """
    clock = SystemClock()

    def step(cluster: Cluster, seen: None, now_s: float) -> Write[Cluster] | Done:
        return wanted(cluster, now_s) or Done()

    workflow: Workflow[Cluster, None, object] = Workflow(step, lambda *_: None)
    on_record: DriverPorts[Cluster, None, object] = DriverPorts.on(
        store,
        SUBJECT,
        look=lambda: None,
        perform=lambda effect: None,
        clock=clock,
        new_id=new_id,
        random=lambda: 0.5,
    )
    ports = replace(on_record, read=lambda: read_on(store, clock.now_s(), new_id)[0])
    for tries_left in reversed(range(TRIES_MAX)):
        try:
            return isinstance(advance(ports, workflow), Write)
        except (Conflict, Busy, Unknown):
            if not tries_left:
                raise
            clock.sleep(0.2)
    raise Busy("the record could not be written")
