"""Which node leaves: the oldest out of the fullest zone, never the last of a zone."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from holdfast.autoscaler.scale_down.leavers import leavers
from holdfast.autoscaler.scale_up.launch_slots import launch_slots
from holdfast.autoscaler.snapshot import Worker
from holdfast.cloud import Market
from tests.autoscaler.unit.snapshots import worker

WORKERS = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 50)), min_size=1, max_size=12).map(
    lambda rows: [worker(f"i-{n}", zone, launched_s=age) for n, (zone, age) in enumerate(rows)]
)


def ids(workers: list[Worker]) -> set[str]:
    return {one.instance_id for one in workers}


def test_the_oldest_leaves_the_fullest_zone() -> None:
    workers = [
        worker("i-1", "a", launched_s=1),
        worker("i-2", "b", launched_s=3),
        worker("i-3", "b", launched_s=2),
    ]

    (leaver,) = leavers(workers, may_leave=ids(workers).__contains__, count=1)

    assert leaver.instance_id == "i-3", "zone b is fuller, though the oldest node of all is in zone a"


def test_the_last_node_of_a_zone_stays() -> None:
    workers = [worker("i-1", "a", launched_s=1), worker("i-2", "b", launched_s=2)]

    assert not leavers(workers, may_leave=ids(workers).__contains__, count=2)


def test_a_single_zone_may_be_emptied_down_to_what_is_asked() -> None:
    workers = [worker("i-1", "a", launched_s=1), worker("i-2", "a", launched_s=2)]

    assert [one.instance_id for one in leavers(workers, may_leave=ids(workers).__contains__, count=1)] == [
        "i-1"
    ]


@given(WORKERS, st.integers(1, 12), st.sets(st.integers(0, 11)))
def test_no_choice_empties_a_zone_or_takes_a_node_that_may_not_leave(
    workers: list[Worker], count: int, kept: set[int]
) -> None:
    may_leave = {f"i-{n}" for n in range(len(workers)) if n not in kept}
    chosen = leavers(workers, may_leave=may_leave.__contains__, count=count)
    left = [one for one in workers if one not in chosen]

    assert len(chosen) <= count
    assert ids(list(chosen)) <= may_leave
    zones = {one.instance.zone for one in workers}
    if len(zones) > 1:
        assert {one.instance.zone for one in left} == zones


def test_the_subnets_of_one_zone_fill_evenly() -> None:
    chosen = launch_slots(
        4,
        types_at=lambda zone, market: ("m5.large",),
        markets=(Market.SPOT,),
        subnets=(("a", "s-1"), ("a", "s-2")),
        in_zone=Counter(),
        refused=lambda offering: "",
    )

    assert [slot.subnet_id for slot in chosen] == ["s-1", "s-2", "s-1", "s-2"]
