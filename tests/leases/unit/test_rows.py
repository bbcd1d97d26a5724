"""All rows of a table: whose each is, and what is said of those that make no sense."""

from typing import Any

import pytest

from holdfast.leases.rows import Rows, read_rows

OURS = {
    "app_name": "my-app",
    "stream_name": "orders",
    "max_leases_per_worker": 10,
    "shard_count": 30,
    "worker_count": 3,
}


def read(**item: Any) -> Rows:
    """One row of ours with these changes; None: without that attribute."""
    changed = {name: value for name, value in {**OURS, **item}.items() if value is not None}
    return read_rows([("worker-1", changed)], table="orders_meta", app_name="my-app", stream_name="orders")


def test_a_row_as_the_seed_writes_it_is_ours() -> None:
    found = read(last_update_time="2025-11-19T10:00:00Z")

    assert (list(found.own), found.taken, found.problems) == (["worker-1"], {}, ())
    assert not found.own["worker-1"].beats


@pytest.mark.parametrize(
    ("item", "named"),
    [
        ({"app_name": None}, "attribute 'app_name': is missing"),
        ({"stream_name": None}, "attribute 'stream_name': is missing"),
        ({"max_leases_per_worker": None}, "max_leases_per_worker is missing"),
        ({"shard_count": "many"}, "attribute 'shard_count': is 'many'"),
        ({"shard_count": 1.5}, "attribute 'shard_count': is 1.5"),
        ({"worker_count": 0}, "not 30 and 0"),
        ({"heartbeat": -1}, "attribute 'heartbeat': is -1"),
        ({"incarnation": {"SS": ["one"]}}, "attribute 'incarnation': is {'SS': ['one']}"),
    ],
)
def test_a_row_that_makes_no_sense_is_named_with_its_fix_and_left_alone(
    item: dict[str, Any], named: str
) -> None:
    found = read(**item)

    assert (found.own, found.taken) == ({}, {"worker-1": "a row that makes no sense"})
    (problem,) = found.problems
    assert problem.startswith("orders_meta, key 'worker-1', ")
    assert named in problem
    assert problem.endswith("Nothing was changed: mend or delete it by hand")


@pytest.mark.parametrize(
    "item", [{"app_name": "other"}, {"stream_name": "payments"}, {"app_name": "other", "stream_name": None}]
)
def test_a_row_of_another_is_taken_and_no_problem_of_ours(item: dict[str, Any]) -> None:
    found = read(**item)

    assert (found.own, list(found.taken), found.problems) == ({}, ["worker-1"], ())
