"""Who leaves: the oldest out of the fullest zone, never the last of a zone."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from holdfast.autoscaler.place import Node, berths, leavers
from holdfast.cloud import Market

NODES = st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 50)), min_size=1, max_size=12).map(
    lambda rows: [Node(f"i-{n}", zone, age) for n, (zone, age) in enumerate(rows)]
)


def ids(nodes: list[Node]) -> set[str]:
    return {node.instance_id for node in nodes}


def test_the_oldest_leaves_the_fullest_zone() -> None:
    nodes = [Node("i-1", "a", 1), Node("i-2", "b", 3), Node("i-3", "b", 2)]

    (leaver,) = leavers(nodes, may_leave=ids(nodes), count=1)

    assert leaver.instance_id == "i-3", "zone b is fuller, though the oldest node of all is in zone a"


def test_the_last_node_of_a_zone_stays() -> None:
    nodes = [Node("i-1", "a", 1), Node("i-2", "b", 2)]

    assert not leavers(nodes, may_leave=ids(nodes), count=2)


def test_a_single_zone_may_be_emptied_down_to_what_is_asked() -> None:
    nodes = [Node("i-1", "a", 1), Node("i-2", "a", 2)]

    assert [node.instance_id for node in leavers(nodes, may_leave=ids(nodes), count=1)] == ["i-1"]


@given(NODES, st.integers(1, 12), st.sets(st.integers(0, 11)))
def test_no_choice_empties_a_zone_or_takes_who_may_not_leave(
    nodes: list[Node], count: int, kept: set[int]
) -> None:
    may_leave = {f"i-{n}" for n in range(len(nodes)) if n not in kept}
    chosen = leavers(nodes, may_leave=may_leave, count=count)
    left = [node for node in nodes if node not in chosen]

    assert len(chosen) <= count
    assert ids(list(chosen)) <= may_leave
    zones = {node.zone for node in nodes}
    if len(zones) > 1:
        assert {node.zone for node in left} == zones


def test_the_subnets_of_one_zone_fill_evenly() -> None:
    chosen = berths(
        4,
        instance_types=("m5.large",),
        markets=(Market.SPOT,),
        subnets=(("a", "s-1"), ("a", "s-2")),
        in_zone=Counter(),
        refused=lambda offering: "",
    )

    assert [berth.subnet_id for berth in chosen] == ["s-1", "s-2", "s-1", "s-2"]
