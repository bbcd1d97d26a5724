"""The memory of what took pods: what is noted, for how long it is kept, and when a lost node counts."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler import sweep
from holdfast.autoscaler.record import (
    Cluster,
    Condemned,
    Interrupted,
    Missing,
    Recent,
    Swept,
    Tombstone,
)
from holdfast.autoscaler.snapshot import Ghost, Worker
from holdfast.autoscaler.sweep import joined
from holdfast.cloud import NoticeKind, State
from holdfast.kernel.write import EVENTS_MAX
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, booting, snapshot, worker

AT_S = int(NOW_S)
LONG_AGO_S = AT_S - 86_400
LATER_S = AT_S - SETTINGS.sweep_after_s - 1
KNOWN = Cluster(joined_since_s=LONG_AGO_S, joined=("i-1",))
TROUBLE = ("4 of 30 machines have no node at once",)


def bereft(instance_id: str = "i-1", **said: Any) -> Worker:
    """It runs, and has no node."""
    return booting(instance_id, **{"launched_s": LATER_S, **said})


def noted(cluster: Cluster, *workers: Worker, **said: Any) -> list[str]:
    """The machines of which it is remembered that they have no node."""
    write = joined.nodeless(cluster, snapshot(*workers, **said), SETTINGS, NOW_S)
    return [row.instance_id for row in (write.value if write else cluster).nodeless]


def kept(cluster: Cluster, *workers: Worker, **said: Any) -> tuple[str, ...]:
    return joined.without_the_gone(cluster, snapshot(*workers, **said))


def test_a_machine_that_serves_and_that_no_scale_up_told_of_is_remembered() -> None:
    workers = (
        worker("i-1"),
        worker("i-2"),
        worker("i-3", ready=False),
        worker("i-joining", joining=True),
        worker("i-foreign", action_id=""),
        worker("i-dead", state=State.TERMINATED),
        worker("i-gone"),
        bereft("i-bereft"),
    )
    cluster = replace(KNOWN, gone=(Tombstone("i-gone", AT_S),))

    write = joined.seen(cluster, snapshot(*workers), NOW_S)

    assert write is not None
    assert write.value.joined == ("i-1", "i-2", "i-3")
    assert [event.about for event in write.events] == ["i-2", "i-3"]
    assert joined.seen(write.value, snapshot(*workers), NOW_S) is None
    assert joined.seen(Cluster(), snapshot(*workers), NOW_S) is None, "which cluster it is comes first"


def test_hundreds_are_remembered_in_commits_that_fit() -> None:
    workers = [worker(f"i-{n:03}") for n in range(EVENTS_MAX + 5)]

    write = joined.seen(KNOWN, snapshot(*workers), NOW_S)

    assert write is not None
    assert len(write.events) == EVENTS_MAX


def test_what_joined_and_registers_anew_is_no_surplus() -> None:
    """Its kubelet came back with the joining taint, and is not ready yet."""
    again = worker("i-1", joining=True, ready=False, launched_s=LATER_S)

    assert sweep.claim(KNOWN, snapshot(again), SETTINGS, NOW_S) is None
    assert sweep.claim(replace(KNOWN, joined=()), snapshot(again), SETTINGS, NOW_S) is not None


def test_what_is_older_than_the_memory_may_have_joined_and_so_may_all_while_there_is_none() -> None:
    old, young = bereft(launched_s=LONG_AGO_S).instance, bereft("i-2").instance

    assert replace(KNOWN, joined=()).may_have_joined(old)
    assert not replace(KNOWN, joined=()).may_have_joined(young)
    assert Cluster().may_have_joined(young), "it remembers nothing yet"


def test_a_lost_node_is_noted_and_a_node_that_is_back_forgets_that() -> None:
    lost = replace(KNOWN, nodeless=(Missing("i-1", AT_S - 60),))

    assert noted(KNOWN, bereft()) == ["i-1"]
    assert noted(lost, worker("i-1")) == []
    assert noted(lost, bereft()) == ["i-1"]
    assert noted(KNOWN, bereft("i-never"), worker("i-1")) == []


@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        (KNOWN, {"namesake": "ip-10-0-1-5"}),
        (KNOWN, {"has_pods": True}),
        (KNOWN, {"action_id": ""}),
        (KNOWN, {"state": State.SHUTTING_DOWN}),
        (replace(KNOWN, condemned=(Condemned("i-1", "1-a", "scale-down", AT_S),)), {}),
        (replace(KNOWN, gone=(Tombstone("i-1", AT_S),)), {}),
        (replace(KNOWN, interrupted=(Interrupted("i-1", NoticeKind.GONE, AT_S, AT_S),)), {}),
    ],
)
def test_what_has_another_reason_to_be_without_a_node_is_not_noted(
    cluster: Cluster, said: dict[str, Any]
) -> None:
    assert noted(cluster, bereft(**said)) == []


def test_while_a_listing_cannot_be_right_nothing_is_noted_and_what_is_back_is_forgotten() -> None:
    assert noted(KNOWN, bereft(), troubles=TROUBLE) == []
    lost = replace(KNOWN, nodeless=(Missing("i-1", AT_S - 60),))
    assert noted(lost, worker("i-1"), troubles=TROUBLE) == []


@pytest.mark.parametrize("said", [{"namesake": "ip-10-0-1-5"}, {"has_pods": True}])
def test_a_machine_whose_node_may_be_there_is_no_surplus_though_it_never_joined(said: dict[str, Any]) -> None:
    never = replace(KNOWN, joined=())

    assert sweep.claim(never, snapshot(bereft(**said)), SETTINGS, NOW_S) is None
    assert sweep.claim(never, snapshot(bereft()), SETTINGS, NOW_S) is not None


def test_a_few_are_noted_at_a_time() -> None:
    names = [f"i-{n}" for n in range(SETTINGS.sweep_batch + 2)]

    assert len(noted(replace(KNOWN, joined=tuple(names)), *map(bereft, names))) == SETTINGS.sweep_batch


def test_a_machine_that_joined_is_a_surplus_when_its_node_was_gone_some_time_ago_and_still_is() -> None:
    for passed_s, swept in ((SETTINGS.absent_s - 1, False), (SETTINGS.absent_s, True)):
        lost = replace(KNOWN, nodeless=(Missing("i-1", AT_S - passed_s),))
        assert (sweep.claim(lost, snapshot(bereft()), SETTINGS, NOW_S) is not None) is swept


def test_what_joined_is_remembered_as_long_as_it_is_there() -> None:
    silent = Ghost("i-1", "n-1", "u-1", None)
    late = replace(KNOWN, recent=(Recent("i-1", "default", "a", AT_S),))

    assert kept(KNOWN, worker("i-1")) == ("i-1",)
    assert kept(KNOWN, bereft(state=State.STOPPED)) == ("i-1",)
    assert kept(KNOWN, ghosts=(silent,)) == ("i-1",), "its node is there, the machine is not listed"
    assert kept(late) == ("i-1",), "a listing lags behind"
    assert kept(KNOWN, troubles=TROUBLE) == ("i-1",), "nor can this one be right"


def test_what_is_gone_is_forgotten() -> None:
    assert kept(KNOWN) == ()
    assert kept(KNOWN, worker("i-1", state=State.TERMINATED)) == ()
    assert kept(replace(KNOWN, gone=(Tombstone("i-1", AT_S),)), worker("i-1"), troubles=TROUBLE) == ()


def test_what_is_swept_is_counted_for_an_hour_once_each() -> None:
    spent = tuple(Swept(f"i-{n}", AT_S - 3_599) for n in range(SETTINGS.sweep_per_hour))
    cluster = replace(KNOWN, swept=spent)

    assert joined.budget_left(cluster, SETTINGS, NOW_S) == 0
    assert joined.budget_left(cluster, SETTINGS, NOW_S + 1) == SETTINGS.sweep_per_hour
    assert len(joined.charged(cluster, ["i-0"], NOW_S).swept) == SETTINGS.sweep_per_hour
    surplus = bereft("i-9", action_id="1-forgotten")
    assert sweep.claim(cluster, snapshot(surplus), SETTINGS, NOW_S) is None
    taken = sweep.claim(KNOWN, snapshot(surplus), SETTINGS, NOW_S)
    assert taken is not None
    assert [one.instance_id for one in taken.value.swept] == ["i-9"]


def test_nodes_without_a_machine_are_taken_out_of_the_same_hour() -> None:
    ghost = Ghost("i-8", "n-8", "u-8", None)
    spent = tuple(Swept(f"i-{n}", AT_S) for n in range(SETTINGS.sweep_per_hour))

    assert sweep.missing(replace(KNOWN, swept=spent), snapshot(ghosts=(ghost,)), SETTINGS, NOW_S) is None
    write = sweep.missing(KNOWN, snapshot(ghosts=(ghost,)), SETTINGS, NOW_S)
    assert write is not None
    assert [one.instance_id for one in write.value.swept] == ["i-8"]
