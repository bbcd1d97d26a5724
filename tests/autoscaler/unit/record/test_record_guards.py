"""What no record may say, and what each part of it counts."""

from dataclasses import replace

import pytest

from holdfast.autoscaler.record import Cluster, LaunchStatus, ScaleDown, ScaleUp, Status, Target
from tests.autoscaler.unit.scale_up.test_action import row, scaling_up


def test_a_plan_has_a_name_and_each_target_once() -> None:
    for action_id, targets in (
        ("", (Target("i-1"),)),
        ("1-a", ()),
        ("1-a", (Target("i-1"), Target("i-1", Status.SKIPPED))),
    ):
        with pytest.raises(ValueError, match="needs an id and distinct targets"):
            ScaleDown(action_id, 1, targets)
    with pytest.raises(ValueError, match="needs an action id"):
        ScaleUp("", 1, 1)


def test_no_record_holds_a_scale_up_and_a_scale_down_at_once() -> None:
    with pytest.raises(ValueError, match="scale"):
        Cluster(scale_up=ScaleUp("1-a", 1, 1), scale_down=ScaleDown("1-b", 1, (Target("i-1"),)))


def test_only_an_open_target_ends_as_progress_of_its_plan() -> None:
    for status in (Status.PLANNED, Status.DRAINED, Status.CONDEMNED):
        down = ScaleDown("1-a", 1, (Target("i-1", status),))
        assert down.without("i-1").having(Status.GONE) == ("i-1",)
    for down in (
        ScaleDown("1-a", 1, (Target("i-1", Status.SKIPPED),)),
        ScaleDown("1-a", 1, (Target("i-2"),)),
    ):
        assert down.without("i-1") == down


def test_a_request_owes_what_it_may_still_bring_and_never_less_than_nothing() -> None:
    assert row(count=3).owed == 3
    assert row(1, "i-8", count=3).owed == 2
    assert row(1, "i-8", "i-9", count=1).owed == 0
    assert row(count=3, status=LaunchStatus.ABANDONED).owed == 0


def test_on_its_way_is_what_is_owed_and_what_has_not_joined() -> None:
    up = scaling_up(row(1, "i-7", "i-8", "i-9"), row(2, count=2), joined=("i-7",), lost=("i-8",)).scale_up

    assert up is not None
    assert (up.joining, up.owed, up.on_its_way) == (("i-9",), 2, 3)


def test_an_action_that_begins_in_the_second_in_which_another_ended_has_an_id_of_its_own() -> None:
    ids, cluster = list[str](), Cluster()
    for _ in range(12):
        ids.append(cluster.next_action_id("req-1", 100.4))
        cluster = replace(cluster, last_action_id=ids[-1])

    assert ids[:3] == ["100-req-1", "100-req-1.2", "100-req-1.3"]
    assert len(set(ids)) == 12
    assert cluster.next_action_id("req-1", 101.0) == "101-req-1"
    assert cluster.next_action_id("req-12", 100.4) == "100-req-12"
