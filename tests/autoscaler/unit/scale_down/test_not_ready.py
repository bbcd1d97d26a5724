"""Which silent nodes are noted, so that their machines are replaced and ended, and which machines are not."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler import interruption
from holdfast.autoscaler.record import DECLINED, READY, UNNEEDED, Cluster, Interrupted, NotReady
from holdfast.autoscaler.scale_down import not_ready
from holdfast.cloud import NoticeKind
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, booting, snapshot, worker

AT_S = int(NOW_S)
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


def noted_since(*since_s: int) -> Cluster:
    return Cluster(not_ready=tuple(NotReady(f"i-{n + 1}", at_s) for n, at_s in enumerate(since_s)))


def in_work(cluster: Cluster, *, trouble: str = "", now_s: float = NOW_S, most: int = 2) -> list[str]:
    """The machines that are taken out of the count."""
    seen = snapshot(*(worker(f"i-{n}", ready=False) for n in (1, 2, 3)), troubles=(trouble,) * bool(trouble))
    write = not_ready.fold(cluster, seen, replace(SETTINGS, max_batch_up=most), now_s)
    rows = (write.value if write else cluster).interrupted
    return [one.instance_id for one in rows if one.kind is NoticeKind.NOT_READY]


def test_a_silent_node_has_its_time_to_come_back() -> None:
    silent = snapshot(worker("i-1", ready=False), worker("i-2"))
    known = not_ready.note(Cluster(), silent, SETTINGS, NOW_S)
    assert known is not None
    assert known.value == noted_since(AT_S)
    assert not_ready.note(known.value, silent, SETTINGS, NOW_S + 60) is None

    assert in_work(known.value, now_s=NOW_S + SETTINGS.not_ready_s - 1) == []
    assert in_work(known.value, now_s=NOW_S + SETTINGS.not_ready_s) == ["i-1"]
    back = not_ready.note(known.value, snapshot(*TWO), SETTINGS, NOW_S + 60)
    assert back is not None
    assert back.value.not_ready == (), "and none of it counts when it falls silent again"


def test_no_more_are_in_work_than_one_scale_up_may_add() -> None:
    three = noted_since(1, 1, 1)
    replaced = Interrupted("i-9", NoticeKind.NOT_READY, 1, 1, READY)

    assert in_work(three) == ["i-1", "i-2"]
    assert in_work(replace(three, interrupted=(replaced,))) == ["i-9", "i-1", "i-2"], "it is done with"
    many = "3 of 4 nodes are not ready at once"
    assert in_work(replace(three, interrupted=(replaced,)), trouble=many) == ["i-9", "i-1"]
    assert in_work(replace(three, interrupted=(replace(replaced, replacement=""),))) == ["i-9", "i-1"]


def test_a_hint_that_has_fallen_silent_keeps_the_replacement_that_it_has() -> None:
    for before, after in (("1-up", "1-up"), (DECLINED, "")):
        hint = Interrupted("i-1", NoticeKind.REBALANCE, 1, 1, before)
        seen = snapshot(worker("i-1", ready=False))
        write = not_ready.fold(replace(noted_since(1), interrupted=(hint,)), seen, SETTINGS, NOW_S)
        assert write is not None
        (row,) = write.value.interrupted
        assert (row.kind, row.replacement) == (NoticeKind.NOT_READY, after)


@pytest.mark.parametrize(
    ("replacement", "said", "troubles", "fate"),
    [
        (READY, {}, (), "terminating"),
        (UNNEEDED, {}, (), "terminating"),
        ("", {}, (), ""),
        ("1-up", {}, (), ""),
        (READY, {"action_id": ""}, (), ""),
        (READY, {}, ("3 of 4 nodes are not ready at once",), ""),
        (READY, {"ready": True}, (), "noticeExpired"),
    ],
)
def test_its_machine_is_ended_when_it_is_replaced_and_kept_if_it_comes_back(
    replacement: str, said: dict[str, Any], troubles: tuple[str, ...], fate: str
) -> None:
    cluster = Cluster(interrupted=(Interrupted("i-1", NoticeKind.NOT_READY, AT_S, AT_S, replacement),))
    silent = worker("i-1", **{"ready": False, **said})

    write = interruption.end(cluster, snapshot(silent, *TWO[1:], troubles=troubles), SETTINGS, NOW_S)

    assert (write.events[0].kind if write else "") == fate
    assert interruption.effects(cluster, snapshot(silent), NOW_S) == (), "it would heed no drain"
