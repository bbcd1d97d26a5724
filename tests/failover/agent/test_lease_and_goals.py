"""The arithmetic of leases, and the table of goals."""

import pytest

from holdfast.failover.agent.goals import CHANGING, CONDUCT, Do, Hook
from holdfast.failover.agent.lease import Lease, Refused, timeout_s
from holdfast.failover.agent.state import LIMITS_S


def test_a_lease_counts_from_the_sending_of_its_heartbeat() -> None:
    lease = Lease().granted(1, sent_s=100.0, lease_s=10.0)
    assert lease.left_s(1, 104.0) == 6.0
    assert lease.runs(1, 109.9)
    assert not lease.runs(1, 110.0)


def test_an_answer_that_comes_late_shortens_nothing() -> None:
    lease = Lease().granted(1, 103.0, 10.0).granted(1, 100.0, 10.0)
    assert lease.until_s == 113.0


def test_a_lease_of_another_epoch_does_not_count() -> None:
    lease = Lease().granted(2, 100.0, 10.0)
    assert not lease.runs(1, 101.0)
    assert not lease.runs(3, 101.0)
    assert lease.granted(1, 200.0, 10.0) == lease
    assert lease.granted(3, 101.0, 5.0) == Lease(3, 106.0)


def test_two_lost_heartbeats_fit_into_a_lease() -> None:
    assert timeout_s(3.0, 10.0) == 3.0
    assert timeout_s(1.0, 3.0) == 1.0
    with pytest.raises(Refused, match="every 10 s"):
        timeout_s(10.0, 10.0)


def test_every_goal_has_one_row() -> None:
    assert set(CONDUCT) == set(Do)
    assert {do for do, conduct in CONDUCT.items() if conduct.serves} == {Do.PROMOTE, Do.SERVE}
    assert {conduct.hook for conduct in CONDUCT.values()} == CHANGING
    assert set(LIMITS_S) == set(Hook)
