"""Rows that stand in a statement of MariaDB: nothing that an agent says gets out of its quotes."""

import pytest

from holdfast.adapters.sql.mysql.rows import literal, literals, rows_of, written


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("", "''"),
        ("i-1", "'i-1'"),
        ("it's", "'it''s'"),
        ("\\", r"'\\'"),
        ("\\' OR 1 -- ", r"'\\'' OR 1 -- '"),
        ("%(x)s {} \n\0 «😀»", "'%(x)s {} \n\0 «😀»'"),
        (2**40, "1099511627776"),
        (-1, "-1"),
        (True, "1"),
        (False, "0"),
    ],
)
def test_a_value_stays_within_its_quotes(value: str | int, text: str) -> None:
    assert literal(value) == text


def test_rows_are_named_by_one_that_equals_nothing_and_keep_their_order() -> None:
    columns = literals([{"id": "b", "more": "", "epoch": 1}, {"id": "a", "more": "x", "epoch": 2}])
    rows = rows_of(("id", "epoch"), columns)
    assert written(rows) == (
        "(SELECT NULL AS id, NULL AS epoch UNION ALL VALUES /*!80019 ROW*/ ('b', 1), /*!80019 ROW*/ ('a', 2))"
    )
