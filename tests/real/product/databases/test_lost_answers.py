"""A network that loses answers, between the store and its database: each loss is what it is called.

Histories of clients behind it are linearizable: a commit whose answer was lost is Unknown, and a second try
under the same id says what became of it.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from random import Random

import pytest

from holdfast.adapters.sql import connection
from holdfast.adapters.sql.database import SqlDatabase
from holdfast.adapters.sql.groups import SqlGroupStore
from holdfast.adapters.sql.mysql import dialect as mysql
from holdfast.adapters.sql.opening import dialect_for
from holdfast.adapters.sql.postgresql import dialect as postgresql
from holdfast.adapters.sql.url import parse
from holdfast.failover.group import Group
from holdfast.failover.ports import Beat, Report, Term
from holdfast.kernel import Busy, Event, Unknown, Write
from holdfast.testing.proxy import (
    HALF_ANSWER,
    PASS,
    RESET_AFTER,
    RESET_BEFORE,
    Fate,
    black_hole,
    latency,
)
from holdfast.testing.tcp_proxy import TcpFaultProxy
from tests.adapters.contract.trials import draw
from tests.adapters.linear.clients import record
from tests.proof import prove
from tests.real.product.databases.servers import Server

CLIENTS, OPERATIONS, ENOUGH = 4, 400, 4_000
IMPATIENT_S = 0.5


class Network:
    """Between a store and its server; everything passes until a test says otherwise."""

    def __init__(self, server: Server, url: str) -> None:
        self.fate: Fate = PASS
        self.on, self.within = "COMMIT", len("COMMIT")
        self.direct = SqlGroupStore(SqlDatabase(server.dialect(url)))
        to = parse(url)
        self.proxy = TcpFaultProxy(to.host, to.port, fate=self._choose)
        self.url = replace(to, port=self.proxy.port)
        self.store = self.open()

    def open(self) -> SqlGroupStore:
        return SqlGroupStore(SqlDatabase(dialect_for(self.url)))

    def _choose(self, n: int, sent: str) -> Fate:
        return self.fate if self.on in sent.removesuffix("\0")[-self.within :] else PASS

    def close(self) -> None:
        for store in (self.direct, self.store):
            store.database.close()
        self.proxy.close()


@pytest.fixture
def network(server: Server, url: str) -> Iterator[Network]:
    made = Network(server, url)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("fate", "landed"),
    [(RESET_AFTER, True), (HALF_ANSWER, True), (RESET_BEFORE, False)],
    ids=["answer lost", "half an answer", "never heard"],
)
def test_a_commit_without_an_answer_is_unknown_and_its_repeat_tells(
    network: Network, fate: Fate, landed: bool
) -> None:
    subject, commit_id = f"{draw()[:8]}/agent", draw()
    found = network.store.read(subject)
    write = Write(replace(found.value, epoch=7), (Event("changed", 1.0),))
    network.fate = fate
    with pytest.raises(Unknown):
        network.store.commit(subject, found, write, commit_id)
    network.fate = PASS

    assert (network.direct.read(subject).version == 1) is landed
    assert network.store.commit(subject, found, write, commit_id).version == 1
    assert [logged.commit_id for logged in network.direct.events(subject)] == [commit_id]


def test_what_is_lost_before_the_commit_is_busy_and_leaves_nothing(network: Network) -> None:
    subject = f"{draw()[:8]}/agent"
    found = network.store.read(subject)
    network.fate, network.on, network.within = RESET_AFTER, "system_events", 10_000
    with pytest.raises(Busy):
        network.store.commit(subject, found, Write(found.value, (Event("changed", 1.0),)), draw())
    network.fate = PASS

    assert network.direct.read(subject).version == 0
    assert network.store.read(subject).version == 0, "the next call has a session of its own"


def test_a_renewal_whose_commit_was_lost_grants_nothing(network: Network) -> None:
    """Busy or Unknown: never a grant that may not stand."""
    network.fate = RESET_AFTER
    with pytest.raises(Unknown):
        network.store.renew([Beat("c", "a", "i-1", "s", 1, Report())], Term(10))


def test_a_silent_server_is_given_up(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (connection, mysql, postgresql):
        monkeypatch.setattr(module, "ANSWER_LIMIT_S", IMPATIENT_S)
    subject, impatient = f"{draw()[:8]}/agent", network.open()
    found = impatient.read(subject)
    network.fate = black_hole(delivered=True)
    with pytest.raises(Unknown):
        impatient.commit(subject, found, Write(found.value, (Event("changed", 1.0),)), draw())
    impatient.database.close()
    assert network.direct.read(subject).version == 1


def faulty(random: Random, sent: str) -> Fate:
    commits = sent.removesuffix("\0").endswith("COMMIT")
    fates = {
        PASS: 60 if commits else 990,
        RESET_AFTER: 22 if commits else 2,
        HALF_ANSWER: 6 if commits else 2,
        RESET_BEFORE: 8 if commits else 2,
        latency(random.uniform(0, 0.01)): 4,
    }
    return random.choices(list(fates), weights=list(fates.values()))[0]


def test_histories_with_lost_answers_are_linearizable(server: Server, url: str) -> None:
    random, to = Random(31), parse(url)
    figures: Counter[str] = Counter()
    with ExitStack() as opened:
        direct = SqlGroupStore(opened.enter_context(closing(SqlDatabase(server.dialect(url)))))
        proxy = TcpFaultProxy(to.host, to.port)
        opened.enter_context(proxy)
        stores = [
            SqlGroupStore(
                opened.enter_context(closing(SqlDatabase(dialect_for(replace(to, port=proxy.port)))))
            )
            for _ in range(CLIENTS)
        ]
        proxy._choose = lambda n, sent: faulty(random, sent)
        while figures["operations"] < OPERATIONS or (short(figures) and figures["operations"] < ENOUGH):
            client_id = f"linear-{draw()[:8]}"

            def group(number: int, client_id: str = client_id) -> Group:
                return Group(client_id=client_id, agent_id="agent", epoch=number)

            recording = record(
                stores, direct, f"{client_id}/agent", group, seed=figures["operations"], operations=200
            )
            recording.check()
            figures.update(recording.figures())
    prove("linear", f"{server.name} groups, faulty network", **figures)
    assert not short(figures), figures


def short(figures: Counter[str]) -> list[str]:
    """What a history must hold to say something; on a slow machine it takes more operations."""
    least = {"done": 32, "conflict": 20, "lost": 8, "recovered": 4}
    return [name for name, count in least.items() if figures[name] < count]
