"""Rows of values as a table that stands in the statement itself.

JSON_TABLE reads a row from its beginning for each of its columns, and the driver escapes what it is given
character by character, in Python: together they took longer than the updates of a whole batch.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Value = str | int


@dataclass(frozen=True, slots=True)
class Rows:
    """`(SELECT … UNION ALL VALUES …)`, written out: the driver puts it into a statement as it is."""

    sql: str


def literals(rows: Sequence[Mapping[str, Value]]) -> Mapping[str, Sequence[str]]:
    """Each column as it stands in a statement: written once, however many tables are made of it."""
    return {name: [literal(row[name]) for row in rows] for name in rows[0]}


def rows_of(names: Sequence[str], columns: Mapping[str, Sequence[str]]) -> Rows:
    """In the order of the columns' values.  The first row names them; it is all NULL, which equals nothing.

    MySQL wants the word ROW, which MariaDB does not know, and skips as a comment of MySQL's 8.0.19.
    """
    head = ", ".join(f"NULL AS {name}" for name in names)
    rows = map(", ".join, zip(*(columns[name] for name in names), strict=True))
    body = ", ".join([f"/*!80019 ROW*/ ({row})" for row in rows])
    return Rows(f"(SELECT {head} UNION ALL VALUES {body})")


def literal(value: Value) -> str:
    """Between quotes only these two have a meaning: `sql_mode` and the character set are set by us."""
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "''")
        return f"'{escaped}'"
    return str(int(value))


def written(rows: Rows, _: Any = None) -> str:
    """An encoder of the driver."""
    return rows.sql
