"""A commit of an older version is refused by the version itself, whatever is left of the log."""

from typing import Any, cast

import pytest

from holdfast.adapters.sql.database import Transaction
from holdfast.adapters.sql.groups.log import may_write
from holdfast.kernel import Conflict


class Log:
    """Answers who wrote the version that follows."""

    def __init__(self, *commit_ids: str) -> None:
        self.rows_found = [(commit_id,) for commit_id in commit_ids]

    def rows(self, name: str, /, **values: Any) -> list[tuple[str]]:
        assert (name, values) == ("commit_id_at", {"id": "acme/db", "version": 4})
        return self.rows_found


def asked(log: Log, stored: int) -> bool:
    tx = cast("Transaction", log)
    return may_write(tx, "acme/db", stored=stored, expected=3, commit_id="mine")


def test_what_stands_is_written_over_and_nothing_newer_is() -> None:
    assert asked(Log(), stored=3)
    assert not asked(Log("mine"), stored=4), "this very commit stands already: its answer was lost"
    assert not asked(Log("mine"), stored=9)
    for log in (Log("theirs"), Log()):
        with pytest.raises(Conflict):
            asked(log, stored=4)


def test_a_record_that_went_back_is_not_written_over() -> None:
    with pytest.raises(Conflict):
        asked(Log(), stored=2)
