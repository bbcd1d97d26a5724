"""Which cluster this is: when that is learned, and what a person's word for another changes."""

from dataclasses import replace

from holdfast.autoscaler import identity
from holdfast.autoscaler.record import Cluster, Missing
from holdfast.autoscaler.workflow import workflow
from holdfast.kernel import Done, Write
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, booting, snapshot, worker

OURS = Cluster(cluster_uid="ours", joined_since_s=1, joined=("i-1",))
TROUBLE = ("4 of 30 machines have no node at once",)


def test_the_first_look_that_makes_sense_says_which_cluster_it_is_and_who_has_joined() -> None:
    seen = snapshot(worker("i-1"), booting("i-2"), cluster_uid="ours")

    known = identity.know(Cluster(), seen, NOW_S)

    assert known is not None
    assert (known.value.cluster_uid, known.value.joined) == ("ours", ("i-1",))
    assert known.value.joined_since_s == int(NOW_S)
    assert identity.know(known.value, seen, NOW_S) is None, "once"


def test_a_look_that_makes_no_sense_teaches_nothing() -> None:
    assert identity.know(Cluster(), snapshot(cluster_uid="ours", troubles=TROUBLE), NOW_S) is None
    assert identity.know(Cluster(), snapshot(cluster_uid=""), NOW_S) is None


def test_another_cluster_is_not_observed_either() -> None:
    """What it would do there is no preview of anything."""
    step = workflow(replace(SETTINGS, observe=True)).step
    another = snapshot(worker("i-1"), cluster_uid="another", pending=3)

    told = step(OURS, another, NOW_S)
    assert isinstance(told, Write)
    assert [event.kind for event in told.events] == ["clusterRefused"]
    assert isinstance(step(told.value, another, NOW_S), Done)


def test_what_had_no_node_in_the_old_cluster_counts_anew_in_the_one_that_is_accepted() -> None:
    lost = replace(OURS, refused_uid="rebuilt", nodeless=(Missing("i-1", 1),))

    accepted = identity.accept(lost, "rebuilt", NOW_S)

    assert accepted is not None
    assert (accepted.value.cluster_uid, accepted.value.refused_uid) == ("rebuilt", "")
    assert accepted.value.nodeless == ()
    assert accepted.value.joined == ("i-1",)
