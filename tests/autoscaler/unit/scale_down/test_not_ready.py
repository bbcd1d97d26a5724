"""Which silent nodes are noted, so that their machines are replaced and ended."""

from dataclasses import replace

from holdfast.autoscaler.record import Cluster, NotReady
from holdfast.autoscaler.scale_down import not_ready
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, booting, snapshot, worker

TWO = (worker("i-1"), worker("i-2"))


def test_a_node_that_has_not_joined_yet_is_the_scale_ups_concern_or_the_sweeps() -> None:
    joining = worker("i-3", joining=True, ready=False)
    assert not_ready.note(Cluster(), snapshot(*TWO, joining), SETTINGS, NOW_S) is None
    assert not_ready.note(Cluster(), snapshot(*TWO, booting("i-3")), SETTINGS, NOW_S) is None


def test_one_that_fell_silent_as_it_registered_anew_is_noted() -> None:
    """Its node was deleted by hand.  The sweep spares what has joined, and no silent node is admitted."""
    anew = worker("i-3", joining=True, ready=False)
    noted = not_ready.note(Cluster(joined=("i-3",)), snapshot(*TWO, anew), SETTINGS, NOW_S)
    assert noted is not None
    assert noted.value.not_ready == (NotReady("i-3", int(NOW_S)),)

    again = not_ready.note(noted.value, snapshot(*TWO, replace(anew, ready=True)), SETTINGS, NOW_S)
    assert again is not None
    assert again.value.not_ready == (), "it is admitted now"
