"""A change of a group: lost races, lost answers, repeats, dry runs and restored databases, one by one."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.failover.api import operations as ops
from holdfast.failover.api import wire
from holdfast.failover.api.codes import Code, Refusal
from holdfast.failover.group import Group
from holdfast.failover.ports import StoredRequest
from holdfast.failover.tenants import TokenKind
from holdfast.kernel import Busy, Conflict, Event, Unknown, Versioned, Write
from holdfast.server.calls import Call
from holdfast.server.desk.change import TRIES_MAX, Asked, change, digest, note
from holdfast.server.groups import Groups
from holdfast.server.tokens import Principal, issue

GROUP = Group(client_id="shop", agent_id="db", epoch=4, created_s=1.0)
TOKEN = issue(TokenKind.OPERATOR, now_s=1.0, expires_in_s=60.0, client_id="shop")[1]


class Database:
    """A group of version 3, and what becomes of each commit, in order: an error, or nothing."""

    def __init__(self, *fates: Exception) -> None:
        self.fates, self.tried, self.version = list(fates), 0, 3
        self.winner: str | None = None
        self.requests: dict[str, StoredRequest] = {}
        self.told: list[str] = []

    def context(self, behind: str = "") -> Any:
        return SimpleNamespace(
            store=self, situation=lambda group: group, behind=lambda: behind, new_id=lambda: "mine",
            figures=SimpleNamespace(count=lambda *said: None), now_s=lambda: 1.0,
            changed=lambda subject, done: self.told.append(subject),
        )  # fmt: skip

    def read(self, subject: str) -> Versioned[Group]:
        return Versioned(GROUP, self.version, "before")

    def commit(self, *what: Any) -> Versioned[Group]:
        self.tried += 1
        if self.fates:
            raise self.fates.pop(0)
        return Versioned(GROUP, self.version + 1, "mine")

    def commit_id_at(self, subject: str, version: int) -> str | None:
        assert version == self.version + 1
        return self.winner

    def request(self, client_id: str, request_id: str) -> StoredRequest | None:
        return self.requests.get(request_id)


def call(**changes: Any) -> Call:
    made = Call(ops.RESUME, Principal(TOKEN), {"agent_id": "db"}, body=wire.Resume(), raw=b"{}")
    return replace(made, **changes)


def asks(situation: Any, found: Versioned[Group]) -> Asked:
    return Asked(Write(GROUP, (Event("changed", 1.0),)), lambda after: {"version": after.version})


def answered(database: Database, asked: Call | None = None, behind: str = "") -> object:
    return change(database.context(behind), asked or call(), "db", asks)


def test_a_change_is_committed_told_and_answered() -> None:
    database = Database()
    assert answered(database) == {"version": 4}
    assert (database.tried, database.told) == (1, ["shop/db"])


def test_a_lost_race_is_run_again_and_not_for_ever() -> None:
    database = Database(Conflict("another was faster"))
    assert answered(database) == {"version": 4}
    assert database.tried == 2
    with pytest.raises(Refusal) as caught:
        answered(Database(*(Conflict("x") for _ in range(TRIES_MAX))))
    assert caught.value.code is Code.VERSION_CONFLICT


def test_a_lost_answer_is_looked_up_and_never_guessed() -> None:
    database = Database(Unknown("no answer"))
    with pytest.raises(Unknown):
        answered(database)
    assert (database.tried, database.told) == (1, []), "it may still arrive"
    database = Database(Unknown("no answer"))
    database.winner = "mine"
    assert answered(database) == {"version": 4}
    assert (database.tried, database.told) == (1, ["shop/db"])
    database = Database(Unknown("no answer"))
    database.winner = "another's"
    assert answered(database) == {"version": 4}
    assert database.tried == 2, "it had lost the race"


def test_a_database_from_the_past_is_not_changed() -> None:
    database = Database()
    with pytest.raises(Refusal) as caught:
        answered(database, behind="restored")
    assert caught.value.code is Code.RECOVERING
    assert database.tried == 0


def test_a_dry_run_ends_before_the_commit_and_gets_the_same_refusals() -> None:
    database, dry = Database(), call(body=wire.Resume(dry_run=True))
    assert answered(database, dry) == {"version": 4}
    assert (database.tried, database.told) == (0, [])
    with pytest.raises(Refusal):
        answered(database, dry, behind="restored")


def test_a_group_that_is_not_there_is_changed_only_where_it_may_be_new() -> None:
    database = Database()
    database.version = 0
    with pytest.raises(Refusal) as caught:
        answered(database)
    assert caught.value.code is Code.NOT_FOUND
    assert change(database.context(), call(), "db", asks, may_be_new=True) == {"version": 1}


def stored(asked: Call) -> Database:
    database = Database()
    database.requests["r-1"] = StoredRequest("shop", "r-1", digest(asked), json.dumps({"version": 2}))
    return database


def test_a_repeated_request_gets_its_answer_and_changes_nothing() -> None:
    again = call(request_id="r-1")
    database = stored(again)
    assert answered(database, again) == {"version": 2}
    assert database.tried == 0


OTHER = issue(TokenKind.OPERATOR, now_s=1.0, expires_in_s=60.0, client_id="shop")[1]


@pytest.mark.parametrize(
    "other",
    [
        {"raw": b"{ }"},
        {"path": {"agent_id": "db2"}},
        {"operation": ops.PAUSE},
        {"principal": Principal(OTHER)},
    ],
)
def test_another_request_under_the_same_id_is_refused(other: dict[str, Any]) -> None:
    database = stored(call(request_id="r-1"))
    with pytest.raises(Refusal) as caught:
        answered(database, call(request_id="r-1", **other))
    assert caught.value.code is Code.REQUEST_ID_REUSED
    assert database.tried == 0


def test_what_was_heard_and_cannot_be_noted_comes_again() -> None:
    database = Database(*(Conflict("x") for _ in range(TRIES_MAX)))
    with pytest.raises(Busy):
        note(database.context(), "shop/db", asks)
    assert note(Database().context(), "shop/db", asks)
    nothing = Asked(None, lambda after: {})
    assert not note(Database().context(), "shop/db", lambda situation, found: nothing)


def test_a_goal_never_follows_from_an_older_group_than_the_heartbeat_has_seen() -> None:
    groups = Groups(Database())  # type: ignore[arg-type]
    assert groups.kept("shop/db", 0) is None
    groups.read("shop/db")
    assert groups.kept("shop/db", 3) is not None
    assert groups.kept("shop/db", 4) is None
    groups.forget("shop/db")
    assert groups.kept("shop/db", 0) is None
