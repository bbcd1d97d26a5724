"""What keeps a node from leaving by choice, guard by guard."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler.decide import RemoveWorkers
from holdfast.autoscaler.disruption.consolidation import Removable, bars, removable
from holdfast.autoscaler.disruption.underused import note
from holdfast.autoscaler.record import READY, Cluster, Interrupted, Skip, Underused
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.cloud import NoticeKind
from tests.autoscaler.unit.disruption.consolidating import (
    CALM,
    CONSOLIDATING,
    LONG_AGO,
    THREE,
    concluded,
    empty,
    these,
)
from tests.autoscaler.unit.snapshots import NOW_S, snapshot, worker

AT_S = int(NOW_S)
LITTLE_USED = replace(CALM, underused=(Underused("i-2", LONG_AGO), Underused("i-3", LONG_AGO)))


def look(**said: Any) -> Snapshot:
    return snapshot(*THREE, **{"cpu": 0.3, **said})


def noticed(kind: NoticeKind, replacement: str = "") -> Cluster:
    return replace(CALM, interrupted=(Interrupted("i-1", kind, AT_S - 60, AT_S + 60, replacement),))


@pytest.mark.parametrize(
    ("cluster", "said", "settings", "why"),
    [
        (CALM, {}, CONSOLIDATING, ""),
        (CALM, {"troubles": ("nodes are missing",)}, CONSOLIDATING, "while nodes are missing"),
        (noticed(NoticeKind.INTERRUPTION), {}, CONSOLIDATING, "the cloud takes others back"),
        (noticed(NoticeKind.INTERRUPTION, READY), {}, replace(CONSOLIDATING, min_workers=1), ""),
        (noticed(NoticeKind.REPLACE), {}, CONSOLIDATING, "another node is being replaced"),
        (noticed(NoticeKind.REPLACE, READY), {}, CONSOLIDATING, "another node is being replaced"),
        (replace(CALM, last_scale_s=AT_S - 9), {}, CONSOLIDATING, "cooling down"),
        (CALM, {}, replace(CONSOLIDATING, min_workers=3), "minimum size"),
        (noticed(NoticeKind.GONE, READY), {}, replace(CONSOLIDATING, min_workers=2), "minimum size"),
    ],
    ids=[
        *("none", "trouble", "notice", "notice that is answered", "chosen", "replacement ready"),
        *("cool-down", "floor", "floor without what leaves"),
    ],
)
def test_each_rule_of_scaling_down_is_told(cluster: Cluster, said: Any, settings: Any, why: str) -> None:
    found = bars(cluster, look(**said), settings, NOW_S)

    assert why in found
    assert bool(found) == bool(why)


def test_a_node_that_stands_empty_stays_while_another_is_replaced() -> None:
    seen, noted = look(is_empty=these("i-3")), replace(CALM, underused=empty("i-3"))
    replacing = replace(noted, interrupted=noticed(NoticeKind.REPLACE, READY).interrupted)

    assert isinstance(concluded(noted, seen), RemoveWorkers)
    assert not isinstance(concluded(replacing, seen), RemoveWorkers)


def test_where_the_least_used_must_stay_the_next_one_leaves() -> None:
    used = {"used": lambda i: {"i-2": 0.4, "i-3": 0.1}.get(i, 1.0)}

    def leaves(cluster: Cluster, **said: Any) -> frozenset[str]:
        found = removable(cluster, look(**used, **said), CONSOLIDATING, NOW_S)
        assert isinstance(found, Removable)
        return found.instance_ids

    assert leaves(LITTLE_USED) == {"i-3"}
    assert leaves(LITTLE_USED, must_stay=lambda i: "a budget" if i == "i-3" else "") == {"i-2"}
    assert leaves(replace(LITTLE_USED, skipped=(Skip("i-3", "a pod", AT_S + 9),))) == {"i-2"}
    assert leaves(replace(LITTLE_USED, skipped=(Skip("i-3", "a pod", AT_S),))) == {"i-3"}, "it is over"


def test_a_node_with_a_hint_is_not_emptied_by_choice() -> None:
    hinted = replace(LITTLE_USED, interrupted=noticed(NoticeKind.REBALANCE, READY).interrupted)
    hinted = replace(hinted, underused=(Underused("i-1", LONG_AGO),))

    assert isinstance(removable(hinted, look(used=lambda i: 0.1), CONSOLIDATING, NOW_S), str)


def test_a_node_that_was_empty_and_has_a_pod_again_is_none_that_stands_empty() -> None:
    noted = replace(CALM, underused=empty("i-2", "i-3"))

    found = removable(noted, look(is_empty=these("i-2")), CONSOLIDATING, NOW_S)
    assert isinstance(found, Removable)
    assert found.instance_ids == {"i-2"}
    assert isinstance(removable(noted, look(is_empty=these()), CONSOLIDATING, NOW_S), str)


def test_only_workers_of_ours_are_noted_and_none_while_a_listing_is_in_doubt() -> None:
    machines = (worker("i-1", action_id=""), worker("i-2"))

    def noted(**said: Any) -> list[str]:
        seen = snapshot(*machines, is_empty=lambda i: True, used=lambda i: 0.0, **said)
        write = note(CALM, seen, CONSOLIDATING, NOW_S)
        return [one.instance_id for one in write.value.underused] if write is not None else []

    assert noted() == ["i-2"]
    assert noted(doubts=("the pods cannot be listed",)) == []


def test_what_is_in_use_again_begins_anew_and_what_was_noted_in_doubt_is_kept() -> None:
    before = replace(CALM, underused=empty("i-2", "i-3"))

    write = note(before, look(is_empty=these("i-3")), CONSOLIDATING, NOW_S)
    assert write is not None
    assert write.value.underused == empty("i-3")
    doubtful = look(is_empty=these("i-3"), doubts=("the pods cannot be listed",))
    assert note(before, doubtful, CONSOLIDATING, NOW_S) is None
