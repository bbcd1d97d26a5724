"""A shell: reading the record.  One that was restored to an earlier point first goes on behind its log."""

from holdfast.autoscaler import identity
from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.ports import ClusterStore
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.sweep.joined import recalled
from holdfast.kernel import NewId, Versioned


def read_on(store: ClusterStore, now_s: float, new_id: NewId) -> tuple[Versioned[Cluster], str]:
    """The record, and what an operator must hear about it; empty if it was not restored.

    Raises what the store raises.  A second call finds a record that has gone on, and writes nothing.
    """
    found = store.read(SUBJECT)
    if found.restored_from is None:
        return found, ""
    stored, last = found.restored_from, found.version
    joined = recalled(found.value, store.events(SUBJECT, stored), stored, last)
    write = identity.restored(found.value, stored, last, now_s, joined)
    gone_on = store.commit(SUBJECT, found, write, new_id())
    return gone_on, f"the record was restored: {write.events[0].reason}"
