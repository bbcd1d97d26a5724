"""The judge of a campaign is judged: each kind of damage is seen, and an honest history passes."""

from collections.abc import Callable
from itertools import repeat
from typing import Any

import pytest

from holdfast.cloud.kubernetes import CORDON_OWNERS, JOINING_TAINT
from holdfast.kernel import Event, Logged
from tools.endure import account
from tools.endure.books import Books, Machine
from tools.endure.budget import BudgetWatch

FLOOR = 2


def event(kind: str, about: str = "", at_s: float = 100, **more: Any) -> Logged:
    return Logged("cluster", 1, 0, "c", Event(kind, at_s, about=about, **more))


def honest() -> Books:
    """Four were launched, one left at 100 s, one was taken back."""
    zones = {"i-a": "a", "i-b": "b", "i-c": "a", "i-d": "b"}
    machines = {name: Machine(name, zone, running_s=10) for name, zone in zones.items()}
    machines["i-c"].ended_s, machines["i-c"].ended_by_us = 101, True
    machines["i-d"].ended_s, machines["i-d"].warned_s = 190, 150
    logged = [
        event("recordScaleUpInstances", "1-x", 5, reason="spot/m5.large/a: i-a i-c"),
        event("recordScaleUpInstances", "1-x", 5, reason="spot/m5.large/b: i-b i-d"),
        event("terminating", "i-c", 100, numbers={"left": 3, "needed": FLOOR}),
        event("interrupted", "i-d", 151),
    ]
    return Books(machines, logged)


def node(instance_id: str, **spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": instance_id}, "spec": {"providerID": f"aws:///a/{instance_id}", **spec}}


def problems(books: Books, nodes: list[dict[str, Any]] | None = None) -> list[str]:
    there = [node("i-a"), node("i-b")] if nodes is None else nodes
    return [
        *account.launches_are_recorded(books),
        *account.ends_are_condemned(books),
        *account.floors_are_kept(books, FLOOR),
        *account.warnings_are_heard(books),
        *account.log_is_whole(books.logged, 1),
        *account.others_are_let_be(books, []),
        *account.nodes_are_at_rest(there, books),
        *account.zones_are_balanced(books, ("a", "b")),
        *account.none_is_surplus(books, FLOOR),
    ]


def test_an_honest_history_passes() -> None:
    assert problems(honest()) == []


def launched_without_an_action(books: Books) -> None:
    books.machines["i-e"] = Machine("i-e", "a", running_s=10, ended_s=20, warned_s=15)


def only_imagined(books: Books) -> None:
    del books.machines["i-b"]


def ended_without_a_sentence(books: Books) -> None:
    books.machines["i-b"].ended_s, books.machines["i-b"].ended_by_us = 120, True


def ended_before_the_sentence(books: Books) -> None:
    books.machines["i-c"].ended_s = 99


def condemned_and_alive(books: Books) -> None:
    books.machines["i-c"] = Machine("i-c", "a", running_s=10)


def ended_by_itself(books: Books) -> None:
    books.machines["i-b"].ended_s = 120


def below_the_floor(books: Books) -> None:
    books.logged.append(event("terminating", "i-a", 99))
    books.logged.append(event("terminating", "i-b", 99))


def last_of_its_zone(books: Books) -> None:
    books.machines["i-a"].zone = "b"


def never_recorded(books: Books) -> None:
    books.logged.pop()


def a_hole_in_the_log(books: Books) -> None:
    books.logged[:] = [Logged("cluster", 2, 0, "c", one.event) for one in books.logged]


def one_too_many(books: Books) -> None:
    books.machines["i-e"] = Machine("i-e", "a", running_s=10)


def an_empty_zone(books: Books) -> None:
    """None was reclaimed in it: it has no excuse."""
    books.machines["i-a"].zone = "b"


def a_stranger_ended(books: Books) -> None:
    books.foreign_ends.append("i-theirs")


@pytest.mark.parametrize(
    ("damage", "seen"),
    [
        (launched_without_an_action, "no event tells of it"),
        (only_imagined, "i-b is recorded as launched, and never was"),
        (ended_without_a_sentence, "i-b was ended, and had not been condemned"),
        (ended_before_the_sentence, "i-c was ended, and had not been condemned"),
        (condemned_and_alive, "i-c was condemned, and lives on"),
        (ended_by_itself, "i-b ended, and no event says why"),
        (below_the_floor, "i-c was condemned with 1 others left of 2 needed"),
        (last_of_its_zone, "i-c was condemned as the last one in a"),
        (never_recorded, "i-d was to be taken back, and no event tells of it"),
        (a_hole_in_the_log, "misses [1]"),
        (one_too_many, "3 machines live where 2 carry everything"),
        (an_empty_zone, "zones are not balanced: {'a': 0, 'b': 2}"),
        (a_stranger_ended, "i-theirs belongs to another cluster"),
    ],
)
def test_damage_is_seen(damage: Callable[[Books], None], seen: str) -> None:
    books = honest()
    damage(books)
    assert any(seen in problem for problem in problems(books)), problems(books)


@pytest.mark.parametrize(
    ("nodes", "seen"),
    [
        ([node("i-a")], "i-b lives and is no node"),
        ([node("i-a"), node("i-b"), node("i-c")], "stands for i-c, which is gone"),
        ([node("i-a"), node("i-b", unschedulable=True)], "i-b was left cordoned"),
        ([node("i-a"), node("i-b", taints=[{"key": JOINING_TAINT}])], "i-b was never admitted"),
    ],
)
def test_what_is_left_in_the_cluster_is_seen(nodes: list[dict[str, Any]], seen: str) -> None:
    assert any(seen in problem for problem in problems(honest(), nodes)), problems(honest(), nodes)


def test_marks_on_nodes_are_seen_whichever_cluster_they_belong_to() -> None:
    marked = node("i-b")
    marked["metadata"]["annotations"] = {CORDON_OWNERS: "1-x"}
    assert problems(honest(), [node("i-a"), marked]) == ["node i-b was left with owners of a cordon"]
    assert [*account.others_are_let_be(honest(), [marked])] == [
        "node i-b belongs to another cluster, and was cordoned"
    ]


def test_a_broken_budget_counts_from_the_first_look_at_which_it_was_whole() -> None:
    watch = BudgetWatch()
    looks: list[tuple[bool | None, bool, bool]] = [
        (False, True, False),  # broken by the change of the load
        (None, True, False),
        (True, True, False),
        (False, True, True),
        (False, False, False),  # the cloud takes a machine back
        (False, True, False),
        (True, True, False),
        (False, True, True),
    ]
    for kept, counts, broken in looks:
        assert watch.is_broken(repeat(kept).__next__, counts=counts) == broken
    assert watch.seen == 4
