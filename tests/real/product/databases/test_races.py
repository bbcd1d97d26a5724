"""Sixteen that promote at once: one winner in each round, and the others are told of a version conflict.

Each round races a commit of the store, and the procedure where there is one.  `make races` runs 200 rounds.
"""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import psycopg
import pymysql

from holdfast.adapters.sql.connection import Dialect
from holdfast.adapters.sql.database import SqlDatabase
from holdfast.adapters.sql.groups import SqlGroupStore, SqlTenants
from holdfast.adapters.sql.sqlite.dialect import SqliteDialect
from holdfast.failover.group import Group, Member, Takeover
from holdfast.failover.roles import Status
from holdfast.kernel import Busy, Conflict, Event, Versioned, Write
from tests.adapters.contract.trials import draw, side_by_side
from tests.proof import prove
from tests.real.product.databases.servers import Server, Session

RACERS = 16
ROUNDS = int(os.environ.get("HOLDFAST_RACES", "15"))
STALE = "45001"


def revoked(client_id: str, agent_id: str) -> Group:
    """A group whose primary has lost its epoch, and sixteen that may take over."""
    old = Member(instance_id="i-old", status=Status.DEMOTING)
    ready = tuple(Member(instance_id=f"i-{n}", status=Status.REPLICA) for n in range(RACERS))
    takeover = Takeover(old="i-old", reason="a race", code="race")
    return Group(client_id=client_id, agent_id=agent_id, epoch=2, members=(old, *ready), takeover=takeover)


def promoted(group: Group, n: int) -> Group:
    assert group.takeover is not None
    members = tuple(
        replace(m, status=Status.PROMOTING) if m.instance_id == f"i-{n}" else m for m in group.members
    )
    return replace(group, members=members, takeover=replace(group.takeover, candidate=f"i-{n}"))


def race_of_commits(make: Callable[[], Dialect], rounds: int) -> Counter[str]:
    figures: Counter[str] = Counter()
    stores = [SqlGroupStore(SqlDatabase(make())) for _ in range(RACERS)]
    for number in range(rounds):
        client_id = f"race-{draw()[:12]}"
        subject = f"{client_id}/agent"
        start = stores[0].commit(
            subject,
            stores[0].read(subject),
            Write(revoked(client_id, "agent"), (Event("changed", 1.0),)),
            draw(),
        )
        answers = side_by_side([partial(insist, stores[n], subject, start, n) for n in range(RACERS)])
        found = stores[0].read(subject)
        winners = [n for n, answer in enumerate(answers) if isinstance(answer, Versioned)]
        assert len(winners) == 1, f"round {number}: {answers}"
        assert all(isinstance(each, Versioned | Conflict) for each in answers), answers
        assert (found.version, found.value.holder) == (2, f"i-{winners[0]}")
        figures.update(rounds=1, winners=1, conflicts=sum(isinstance(each, Conflict) for each in answers))
    assert SqlTenants(stores[0].database).more_than_one_primary() == {}
    for store in stores:
        store.database.close()
    return figures


def insist(store: SqlGroupStore, subject: str, found: Versioned[Group], n: int) -> Versioned[Group]:
    """Busy means that no other won because of it: try again, under the same id."""
    commit_id = draw()
    while True:
        try:
            write = Write(promoted(found.value, n), (Event("promoted", 1.0, about=f"i-{n}"),))
            return store.commit(subject, found, write, commit_id)
        except Busy:
            continue


def test_sixteen_commits_on_a_server(server: Server, url: str) -> None:
    figures = race_of_commits(lambda: server.dialect(url), ROUNDS)

    assert figures["conflicts"] == (RACERS - 1) * ROUNDS
    prove("races", f"{server.name} commits", **figures)


def test_sixteen_commits_on_sqlite(tmp_path: Path) -> None:
    figures = race_of_commits(lambda: SqliteDialect(str(tmp_path / "state.db")), ROUNDS)

    assert figures["conflicts"] == (RACERS - 1) * ROUNDS
    prove("races", "sqlite commits", **figures)


def test_sixteen_calls_of_the_procedure(server: Server, url: str) -> None:
    with ExitStack() as opened:
        store = SqlGroupStore(opened.enter_context(closing(SqlDatabase(server.dialect(url)))))
        sessions = [opened.enter_context(server.session(url)) for _ in range(RACERS)]
        for _ in range(ROUNDS):
            race_of_calls(store, sessions)

    prove("races", f"{server.name} procedure", rounds=ROUNDS)


def race_of_calls(store: SqlGroupStore, sessions: Sequence[Session]) -> None:
    client_id = f"race-{draw()[:12]}"
    subject = f"{client_id}/agent"
    ready = revoked(client_id, "agent").members[1:]
    group = Group(client_id=client_id, agent_id="agent", epoch=2, members=ready)
    store.commit(subject, store.read(subject), Write(group, (Event("changed", 1.0),)), draw())
    calls = [f"CALL promote_instance_to_primary('i-{n}', '{subject}', 1)" for n in range(RACERS)]

    answers = side_by_side([partial(_call, each, call) for each, call in zip(sessions, calls, strict=True)])

    assert Counter(answers) == {"won": 1, STALE: RACERS - 1}, answers
    found = store.read(subject)
    assert (found.version, found.value.epoch, found.value.holder) == (2, 3, f"i-{answers.index('won')}")


def _call(session: Session, statement: str) -> str:
    try:
        session.run(statement)
    except (psycopg.Error, pymysql.Error) as error:
        return str(getattr(error, "sqlstate", None) or error)
    return "won"
