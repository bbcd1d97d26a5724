"""Guards outside of a worker's turns: told numbers, stored rows, tables, pages, and the lock of a restart."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from holdfast.adapters.sql.sqlite import Database
from holdfast.kernel import Conflict, Corrupt, HoldfastError, Invalid
from holdfast.leases.cap import Cap, View
from holdfast.leases.ports import WriteRow
from holdfast.leases.rows import WorkerRow
from holdfast.testing.explore import Violation
from tests.leases.explore.test_agreeing import search
from tests.proof import prove
from tests.variants import broken


def headroom(made: Any) -> bool:
    return bool(made.told_leases(View(30, 3), lease_rows=0, headroom_workers=1) == 15)


def ended_rows(made: Any) -> bool:
    return bool(made.told_leases(View(8, 1), lease_rows=12, headroom_workers=0) == 12)


def looks_too_close(made: Any) -> bool:
    counting = made.Counting()
    for at_s, shards in ((0.0, 30), (5.0, 15), (6.0, 15)):
        counting = made.count_shards(counting, shards, at_s, apart_s=10.0)
    return bool(counting.shards == 30)


def zero_shards(made: Any) -> bool:
    try:
        return bool(made.CODEC.load({"shard_count": 0, "worker_count": 3}, table="t", key="k") is None)
    except Corrupt:
        return True


def reserved_ids(made: Any) -> bool:
    try:
        made.refuse_reserved("other-app_coordinator")
    except Invalid:
        return True
    return False


def other_streams(made: Any) -> bool:
    rows = made.Rows({}, {}, (), ("my-app", "payments"))
    try:
        made.refuse_foreign(rows, table="t", app_name="my-app", stream_name="orders")
    except Invalid:
        return True
    return False


def one_restart_at_a_time(made: Any) -> bool:
    first, second = (
        WorkerRow(key=f"worker-{n}", view=View(30, 2), max_leases_per_worker=15, incarnation=f"i{n}")
        for n in (1, 2)
    )
    taken = made.take(Cap(View(30, 2)), first, (second,), "unread", 0.0)
    return made.take(taken.value, second, (first,), "unread", 0.0) is None


def refusal(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": code}}, "call")


def lost_create_race(made: Any) -> bool:
    """Another process makes the table between our look and our call."""
    states = iter((None, "CREATING", "ACTIVE"))

    class NotThere(ClientError):
        pass

    def describe_table(**_: Any) -> Any:
        state = next(states)
        if state is None:
            raise NotThere({"Error": {"Code": "ResourceNotFoundException"}}, "DescribeTable")
        return {"Table": {"TableStatus": state, "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}]}}

    def create_table(**_: Any) -> None:
        raise refusal("ResourceInUseException")

    client = SimpleNamespace(
        describe_table=describe_table,
        create_table=create_table,
        exceptions=SimpleNamespace(ResourceNotFoundException=NotThere),
    )
    made.time = SimpleNamespace(monotonic=lambda: 0.0, sleep=lambda seconds: None)
    try:
        made.ensure_table(client, "table", "pk")
    except HoldfastError:
        return False
    return next(states, None) is None  # it has waited until the table was ACTIVE


def pages(made: Any) -> bool:
    def list_shards(**asked: Any) -> Any:
        if "NextToken" in asked and len(asked) > 1:
            raise refusal("InvalidArgumentException")
        shards: list[Any] = [{"SequenceNumberRange": {}}] * 2
        return {"Shards": shards} if "NextToken" in asked else {"Shards": shards, "NextToken": "next"}

    try:
        return bool(made.KinesisShards(SimpleNamespace(list_shards=list_shards), "orders").open_shards() == 4)
    except HoldfastError:
        return False


def rows_of_other_apps(made: Any, path: Path) -> bool:
    database = Database(str(path / "state.db"))
    ours, theirs = (made.SqliteCapStore(database, stream_name="orders", app_name=app) for app in ("a", "b"))
    row = WorkerRow(key="worker-1", view=View(30, 3), max_leases_per_worker=10)
    ours.write_row(WriteRow(row, None, news=True), 0.0)
    try:
        theirs.write_row(WriteRow(row, None, news=True), 0.0)
    except Conflict:
        pass
    finally:
        found = list(ours.rows().own)
        database.close()
    return found == ["worker-1"]


UNCONDITIONAL = "worker rows are written unconditionally"
EARLY = "S-K3: the cap falls before all have seen what it falls from"
LEASES, ADAPTERS = "holdfast.leases", "holdfast.adapters"
CASES: dict[str, tuple[str, dict[str, str], Callable[[Any], bool]]] = {
    "C3: no room for a worker that is missing": (
        f"{LEASES}.told",
        {"agreed.workers - headroom_workers": "agreed.workers"},
        headroom,
    ),
    "ended rows are not counted": (
        f"{LEASES}.told",
        {"max(agreed.shards, lease_rows)": "agreed.shards"},
        ended_rows,
    ),
    "S-K3: two looks at the same moment are enough for fewer shards": (
        f"{LEASES}.votes",
        {"    if mono_s - counting.fewer_since_s < apart_s:\n        return counting\n": ""},
        looks_too_close,
    ),
    "C13: no shards at all are a count": (
        f"{LEASES}.cap",
        {"if self.shards < 1 or self.workers < 1:": "if self.workers < 1:"},
        zero_shards,
    ),
    "C10: a worker may be called as an agreed record": (
        f"{LEASES}.cap",
        {"    if worker_id.endswith(COORDINATOR):\n": "    if False:\n"},
        reserved_ids,
    ),
    "C10: two streams of one app share an agreement": (
        f"{LEASES}.rows",
        {"found != (app_name, stream_name) and any(found):": "False:"},
        other_streams,
    ),
    "all restart at once": (
        f"{LEASES}.restart",
        {"if holds(cap, own) or (cap.restarting and cap.restarting in map(holder, living)):": "if False:"},
        one_restart_at_a_time,
    ),
    "C11: losing the race for a table kills the start": (
        f"{ADAPTERS}.aws.dynamodb.tables",
        {'!= "ResourceInUseException":': '!= "":'},
        lost_create_race,
    ),
    "C11: a table that is being made is taken as ready": (
        f"{ADAPTERS}.aws.dynamodb.tables",
        {'READY = ("ACTIVE", "UPDATING")': 'READY = ("ACTIVE", "CREATING")'},
        lost_create_race,
    ),
    "C12: the second page is asked for by name and token": (
        f"{ADAPTERS}.aws.kinesis",
        {'asked = {"NextToken": page["NextToken"]}': 'asked = {**asked, "NextToken": page["NextToken"]}'},
        pages,
    ),
}


@pytest.mark.parametrize("title", CASES)
def test_without_its_guard_it_goes_wrong(title: str) -> None:
    module, changes, goes_well = CASES[title]
    assert goes_well(broken(module, {})), "the shipped one must do well"

    assert not goes_well(broken(module, changes)), "nothing was noticed"
    prove("variant", title, caught_by=goes_well.__name__)


def test_rows_that_are_written_unconditionally_wipe_out_those_of_other_apps(tmp_path: Path) -> None:
    module = "holdfast.adapters.sql.sqlite.caps"
    for name in ("shipped", "variant"):
        (tmp_path / name).mkdir()
    assert rows_of_other_apps(broken(module, {}), tmp_path / "shipped")

    without = broken(module, {"if not self._may_write(stands, effect):": "if False:"})

    assert not rows_of_other_apps(without, tmp_path / "variant")
    prove("variant", UNCONDITIONAL, caught_by="two apps on one table")


def test_a_cap_that_falls_before_all_have_seen_the_agreement_is_found_by_the_search() -> None:
    guard = "    if not steady or any(row.agreement != cap.agreement for row in others):\n"
    variant = broken("holdfast.leases.agreement", {guard: "    if False:\n"})

    with pytest.raises(Violation, match="S-K3"):
        search(variant.WORKFLOW, (60, 30))
    prove("variant", EARLY, caught_by="the explorer")
