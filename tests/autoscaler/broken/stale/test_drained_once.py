"""A node was noted as drained by a list of pods that was wrong: it is not ended with pods on it."""

from typing import Any

import pytest

from holdfast.autoscaler import interruption
from holdfast.autoscaler.ports import Drain
from holdfast.autoscaler.record import READY, UNNEEDED, Cluster, Interrupted, ScaleDown, Status, Target
from holdfast.autoscaler.scale_down import action as scale_down
from holdfast.autoscaler.settings import Settings
from holdfast.cloud import NoticeKind
from holdfast.kernel import Do, Write
from tests.autoscaler.unit.snapshots import snapshot, worker
from tests.proof import prove
from tests.variants import broken

NOW_S = 100_000.0
THEN_S = int(NOW_S) - 600
SETTINGS = Settings(min_workers=1, max_workers=6, keep_last_of_zone=False)
THREE = (worker("i-1"), worker("i-2"), worker("i-3"))
EMPTIED = snapshot(*THREE)
FILLED = snapshot(*THREE, is_occupied=lambda instance_id: instance_id == "i-1")


def what_was_hinted_at_is_drained_anew(module: Any) -> None:
    """Another cluster answered for a moment, and listed no pod.  A spot hint, and a replacement by choice."""
    for kind, replacement in ((NoticeKind.REBALANCE, UNNEEDED), (NoticeKind.REPLACE, READY)):
        row = Interrupted("i-1", kind, THEN_S, int(NOW_S) + 600, replacement, drained=True)
        noted = Cluster(interrupted=(row,))
        assert module.end(noted, FILLED, SETTINGS, NOW_S) is None
        assert module.effects(noted, FILLED, NOW_S) == (Drain("i-1", row.action_id),)
        ended = module.end(noted, EMPTIED, SETTINGS, NOW_S)
        assert ended is not None
        assert ended.value.is_condemned("i-1")
        assert module.effects(noted, EMPTIED, NOW_S) == ()


def what_scales_down_is_drained_anew(module: Any) -> None:
    targets = (Target("i-1", Status.DRAINED), Target("i-2", Status.DRAINED))
    action = ScaleDown("1-a", int(NOW_S) - 60, targets)
    noted = Cluster(scale_down=action)
    first = module.proceed(noted, action, FILLED, SETTINGS, NOW_S)
    assert isinstance(first, Write)
    left = first.value.scale_down
    assert [one.instance_id for one in first.value.condemned] == ["i-2"]
    again = module.proceed(first.value, left, FILLED, SETTINGS, NOW_S)
    assert isinstance(again, Do)
    assert Drain("i-1", "1-a") in again.effects
    last = module.proceed(first.value, left, EMPTIED, SETTINGS, NOW_S)
    assert isinstance(last, Write)
    assert last.value.is_condemned("i-1")


CLAIMS = {
    what_was_hinted_at_is_drained_anew: interruption,
    what_scales_down_is_drained_anew: scale_down,
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_shipped_one_ends_nothing_with_pods_on_it(claim: Any) -> None:
    assert claim(CLAIMS[claim]) is None


VARIANTS = {
    "S-A4: what a hint drained is ended though pods are listed on it": (
        "holdfast.autoscaler.interruption",
        {"fate(as_seen(affected, snapshot), ": "fate(affected, "},
        what_was_hinted_at_is_drained_anew,
    ),
    "S-A4: what a scale-down drained is ended though pods are listed on it": (
        "holdfast.autoscaler.scale_down.action",
        {"for instance_id in drained if snapshot.is_occupied(instance_id)]": "for instance_id in ()]"},
        what_scales_down_is_drained_anew,
    ),
}


@pytest.mark.parametrize("title", VARIANTS)
def test_a_drain_that_is_believed_for_ever(title: str) -> None:
    module, changes, claim = VARIANTS[title]
    with pytest.raises(AssertionError):
        claim(broken(module, changes))
    prove("variant", title, caught_by="a list of pods that was wrong")
