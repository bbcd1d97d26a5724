"""A machine that no listing shows is not gone while its kubelet reports, nor before EC2 was asked again."""

from holdfast.autoscaler import interruption, sweep
from holdfast.autoscaler.record import READY, Cluster, Condemned, Interrupted
from holdfast.autoscaler.snapshot import Ghost
from holdfast.cloud import NoticeKind
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, snapshot, worker

AT_S = int(NOW_S)
LONG_AGO_S = AT_S - SETTINGS.absent_s - 1
REPORTS = Ghost("i-9", "n-9", "u-9", None, ready=True)
SILENT = Ghost("i-9", "n-9", "u-9", None)
CONDEMNED = Cluster(condemned=(Condemned("i-9", "1-a", "scale-down", LONG_AGO_S),))


def test_an_interrupted_machine_is_not_gone_while_its_kubelet_reports() -> None:
    noticed = Interrupted("i-9", NoticeKind.INTERRUPTION, LONG_AGO_S, LONG_AGO_S, READY)
    cluster = Cluster(interrupted=(noticed,))

    assert interruption.end(cluster, snapshot(worker("i-1"), ghosts=(REPORTS,)), SETTINGS, NOW_S) is None
    gone = interruption.end(cluster, snapshot(worker("i-1"), ghosts=(SILENT,)), SETTINGS, NOW_S)
    assert gone is not None
    assert [stone.instance_id for stone in gone.value.gone] == ["i-9"]


def test_a_condemned_machine_is_asked_to_end_as_long_as_its_kubelet_reports() -> None:
    assert sweep.lost(CONDEMNED, snapshot(worker("i-1"), ghosts=(REPORTS,)), SETTINGS, NOW_S) is None
    assert sweep.lost(CONDEMNED, snapshot(worker("i-1"), ghosts=(SILENT,)), SETTINGS, NOW_S) is not None


def test_one_that_the_cloud_refused_to_end_is_not_gone_before_it_was_asked_again() -> None:
    refused = Condemned("i-9", "1-a", "scale-down", LONG_AGO_S, refused=3, retry_s=AT_S)
    cluster, seen = Cluster(condemned=(refused,)), snapshot(worker("i-1"))

    assert sweep.lost(cluster, seen, SETTINGS, NOW_S + SETTINGS.absent_s) is None
    assert sweep.lost(cluster, seen, SETTINGS, NOW_S + SETTINGS.absent_s + 1) is not None
