"""Of all that is due at once, capacity is asked for first: threads are few, and it takes longest to come."""

from holdfast.autoscaler.ports import Drain, LaunchInstances
from holdfast.autoscaler.record import Cluster
from tests.autoscaler.unit.interruption.test_interruption import FULL, TWO, notice, run
from tests.autoscaler.unit.snapshots import snapshot


def test_no_replacement_waits_behind_a_drain() -> None:
    seen = snapshot(*TWO, notices=(notice("i-1"), notice("i-2")), fits_without=FULL)
    _, _, effects = run(Cluster(), seen)
    launches = [n for n, effect in enumerate(effects) if isinstance(effect, LaunchInstances)]
    drains = [n for n, effect in enumerate(effects) if isinstance(effect, Drain)]
    assert launches
    assert drains
    assert max(launches) < min(drains)
