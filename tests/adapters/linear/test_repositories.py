"""Real histories of our repositories: some order of single calls explains every one of them.

Several clients at once read and commit, from the newest they know or from something
older; answers are lost before, after and long before the commit takes effect.
`holdfast.testing.linear` then looks for the order, and the log is held against it.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlsplit

import pytest

from holdfast.adapters.aws.dynamodb import DynamoItems
from holdfast.adapters.aws.dynamodb.client import make_client
from holdfast.adapters.sql.database import SqlDatabase
from holdfast.adapters.sql.groups import SqlGroupStore
from holdfast.adapters.sql.sqlite import Database, SqliteItems, database, dialect
from holdfast.adapters.sql.sqlite.dialect import SqliteDialect
from holdfast.app.autoscaler.stores import dynamodb_cluster_store
from holdfast.autoscaler.codec import CODEC
from holdfast.autoscaler.record import Cluster
from holdfast.failover.group import Group
from holdfast.kernel import Event, Repository, Versioned, Write
from holdfast.kernel.item import Codec
from holdfast.sim.failover.store import MemoryGroups
from holdfast.sim.gate import Gated
from holdfast.sim.memory import MemoryItems
from holdfast.testing.linear import NotLinearizable
from holdfast.testing.proxy import (
    HALF_ANSWER,
    PASS,
    RESET_AFTER,
    RESET_BEFORE,
    Fate,
    FaultProxy,
    black_hole,
    latency,
)
from tests.adapters.linear.clients import Recording, record
from tests.adapters.linear.losing import Later, Locked, LosingGate
from tests.deep import DEEP
from tests.ministack import client_for
from tests.proof import prove
from tests.variants import broken

CLIENTS = 6
OPERATIONS = {
    "memory items": 12_000,
    "memory groups": 3_000,
    "sqlite items": 9_000,
    "sqlite groups": 3_000,
    "dynamodb items": 900,
    "dynamodb items, faulty network": 1_200,
}
"""How many `make deep` checks; the figures of each run say how many were."""
LARGE_OR_SMALL = pytest.mark.parametrize("share", [0.2, pytest.param(1.0, marks=DEEP)])
"""The part of them that is checked.  Before each commit a fifth is enough."""
LOST_SHARE_MIN = 0.02
IMPATIENT_S = 0.3


def cluster(number: int) -> Cluster:
    return Cluster(worker_count=number)


def group(number: int) -> Group:
    return Group(client_id="acme", agent_id="agent-1", epoch=number)


def checked(name: str, share: float, histories: Iterator[Recording]) -> Counter[str]:
    """Check as many operations as this implementation is due, and note the figures."""
    figures: Counter[str] = Counter()
    while figures["operations"] < share * OPERATIONS[name]:
        recording = next(histories)
        recording.check()
        figures.update(recording.figures())
    prove("linear", name, **figures)
    assert figures["done"] > figures["operations"] * 0.08, figures
    assert figures["conflict"] > figures["operations"] * 0.08, figures
    assert figures["concurrent"] > figures["operations"] * 0.4, "calls one by one prove nothing"
    return figures


def lost_enough(figures: Counter[str]) -> None:
    assert figures["lost"] >= figures["operations"] * LOST_SHARE_MIN, figures
    assert figures["recovered"] >= figures["operations"] * LOST_SHARE_MIN / 2, figures


def test_the_plan_is_twenty_thousand_operations() -> None:
    assert sum(OPERATIONS.values()) >= 20_000


def histories_of(
    open_store: Callable[[int], Any], subject: str, make: Callable[[int], Any], *, operations: int = 1_500
) -> Iterator[Recording]:
    """Histories with seeded losses; `open_store(seed)` gives a new connection to the seed's storage."""
    seed = 0
    while True:
        seed += 1
        with Later() as later:
            stores: list[Repository[Any]] = [
                Gated(open_store(seed), LosingGate(Random(f"fate-{seed}-{n}"), later)) for n in range(CLIENTS)
            ]
            yield record(stores, open_store(seed), subject, make, seed=seed, operations=operations)


def in_memory(make_store: Callable[[], Any]) -> Callable[[int], Any]:
    """Every connection to a seed's storage is the same store, behind the same lock."""
    made: dict[int, Any] = {}
    return lambda seed: made.setdefault(seed, Locked(make_store()))


@LARGE_OR_SMALL
def test_histories_of_items_in_memory_are_linearizable(share: float) -> None:
    lost_enough(
        checked(
            "memory items", share, histories_of(in_memory(lambda: MemoryItems(CODEC)), "cluster", cluster)
        )
    )


@LARGE_OR_SMALL
def test_histories_of_groups_in_memory_are_linearizable(share: float) -> None:
    open_store = in_memory(lambda: MemoryGroups(lambda: 0.0))
    lost_enough(checked("memory groups", share, histories_of(open_store, "acme/agent-1", group)))


class Files:
    """One SQLite file a seed, and a connection a client."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._folder, self._monkeypatch, self._open = folder, monkeypatch, ExitStack()

    def open(self, seed: int) -> Database:
        # Every other file is opened by clients that do not wait for each other: they are told Busy.
        self._monkeypatch.setattr(database, "BUSY_TIMEOUT_S", 5.0 if seed % 2 else 0.0)
        return self._open.enter_context(closing(Database(str(self._folder / f"{seed}.db"))))

    def groups(self, seed: int) -> SqlGroupStore:
        self._monkeypatch.setattr(dialect, "LIMIT_S", 5.0 if seed % 2 else 0.0)
        opened = SqlDatabase(SqliteDialect(str(self._folder / f"{seed}.db")))
        return SqlGroupStore(self._open.enter_context(closing(opened)))

    def close(self) -> None:
        self._open.close()


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Files]:
    opened = Files(tmp_path, monkeypatch)
    yield opened
    opened.close()


@LARGE_OR_SMALL
def test_histories_of_items_in_sqlite_are_linearizable(files: Files, share: float) -> None:
    def open_store(seed: int) -> SqliteItems[Cluster]:
        return SqliteItems(files.open(seed), "trial", CODEC)

    lost_enough(checked("sqlite items", share, histories_of(open_store, "cluster", cluster)))


@LARGE_OR_SMALL
def test_histories_of_groups_in_sqlite_are_linearizable(files: Files, share: float) -> None:
    lost_enough(checked("sqlite groups", share, histories_of(files.groups, "acme/agent-1", group)))


class Tables:
    """Two DynamoDB tables, and ways to them."""

    def __init__(self, endpoint: str) -> None:
        self.direct: DynamoItems[Cluster] = dynamodb_cluster_store(
            client_for(endpoint), state_table="linear", logs_table="linear-logs", create_tables=True
        )

    def through(self, endpoint: str, *, read_timeout_s: float = 120.0) -> DynamoItems[Cluster]:
        client = make_client(endpoint_url=endpoint, region="eu-central-1", read_timeout_s=read_timeout_s)
        return DynamoItems(client, CODEC, table="linear", key="pk", events_table="linear-logs")

    def histories(self, stores: list[DynamoItems[Cluster]], name: str) -> Iterator[Recording]:
        """Each on a record of its own, that was not written yet."""
        seed = 0
        while True:
            seed += 1
            subject = f"{name}-{seed}"
            yield record(stores, self.direct, subject, cluster, seed=subject, operations=300)


@pytest.fixture
def tables(dynamodb_endpoint: str) -> Tables:
    return Tables(dynamodb_endpoint)


@LARGE_OR_SMALL
def test_histories_of_items_in_dynamodb_are_linearizable(
    tables: Tables, dynamodb_endpoint: str, share: float
) -> None:
    stores = [tables.through(dynamodb_endpoint) for _ in range(CLIENTS)]
    checked("dynamodb items", share, tables.histories(stores, "direct"))


@LARGE_OR_SMALL
def test_histories_of_items_in_dynamodb_are_linearizable_on_a_network_that_loses_answers(
    tables: Tables, dynamodb_endpoint: str, share: float
) -> None:
    with faulty_network(dynamodb_endpoint, seed=13) as proxy:
        stores = [tables.through(proxy.endpoint, read_timeout_s=IMPATIENT_S) for _ in range(CLIENTS)]
        lost_enough(checked("dynamodb items, faulty network", share, tables.histories(stores, "lossy")))


def faulty_network(endpoint: str, *, seed: int) -> FaultProxy:
    random = Random(seed)

    def fate(n: int, head: str) -> Fate:
        changes = "TransactWriteItems" in head
        fates = {
            PASS: 70 if changes else 88,
            RESET_AFTER: 9 if changes else 1,
            HALF_ANSWER: 4 if changes else 1,
            RESET_BEFORE: 4 if changes else 1,
            latency(random.uniform(0, 0.02)): 10,
            latency(IMPATIENT_S + 0.1): 1,  # it arrives when its client has given up
            black_hole(delivered=True): 1 if changes else 0,
        }
        return random.choices(list(fates), weights=list(fates.values()))[0]

    address = urlsplit(endpoint)
    assert address.hostname
    assert address.port
    return FaultProxy(address.hostname, address.port, fate=fate)


def test_the_first_read_and_the_first_commit_have_an_order(tables: Tables, dynamodb_endpoint: str) -> None:
    """Another's first commit lands between the two calls that reading nothing takes."""
    address = urlsplit(dynamodb_endpoint)
    landed: list[Versioned[Cluster]] = []

    def fate(n: int, head: str) -> Fate:
        if "DynamoDB_20120810.Query" in head and not landed:
            found = tables.direct.read("fresh")
            write = Write(cluster(1), (Event("changed", 1.0),))
            landed.append(tables.direct.commit("fresh", found, write, "1-theirs"))
        return PASS

    with FaultProxy(address.hostname or "", address.port or 0, fate=fate) as proxy:
        found = tables.through(proxy.endpoint).read("fresh")
    assert landed
    assert (found.version, found.commit_id) in [(0, ""), (1, "1-theirs")]


# The net is tested: a store that lies is caught.


class Forgetful(MemoryItems[Cluster]):
    """Acknowledges some writes and keeps nothing of them."""

    def commit(
        self, subject: str, found: Versioned[Cluster], write: Write[Cluster], commit_id: str
    ) -> Versioned[Cluster]:
        before = dict(self.items), dict(self.log.by_subject.get(subject, {}))
        done = super().commit(subject, found, write, commit_id)
        if done.version % 20 == 0:
            self.items, self.log.by_subject[subject] = before
        return done


class Dated(MemoryItems[Cluster]):
    """Answers some reads from a replica that is three versions behind."""

    def __init__(self, codec: Codec[Cluster]) -> None:
        super().__init__(codec)
        self.past: dict[int, Versioned[Cluster]] = {}
        self.reads = 0

    def read(self, subject: str) -> Versioned[Cluster]:
        found = super().read(subject)
        self.past[found.version] = found
        self.reads += 1
        return self.past.get(found.version - 3, found) if self.reads % 20 == 0 else found


class LastWins(SqliteItems[Cluster]):
    """Writes over whatever is there, and calls it the version that was asked for."""

    def commit(
        self, subject: str, found: Versioned[Cluster], write: Write[Cluster], commit_id: str
    ) -> Versioned[Cluster]:
        super().commit(subject, self.read(subject), write, commit_id)
        return Versioned(write.value, found.version + 1, commit_id)


def catch(variant: str, histories: Iterator[Recording]) -> None:
    """No order explains at least four of the first five."""
    caught = 0
    for _ in range(5):
        try:
            next(histories).check()
        except NotLinearizable:
            caught += 1
    assert caught >= 4, f"{variant}: {caught} of 5"
    prove("variant", variant, caught_by="linearizability")


def test_a_store_that_forgets_what_it_acknowledged_is_caught() -> None:
    catch(
        "a store forgets what it acknowledged",
        histories_of(in_memory(lambda: Forgetful(CODEC)), "cluster", cluster, operations=600),
    )


def test_a_store_that_reads_the_past_is_caught() -> None:
    catch(
        "a store reads the past",
        histories_of(in_memory(lambda: Dated(CODEC)), "cluster", cluster, operations=600),
    )


def test_a_store_that_ignores_the_version_is_caught(files: Files) -> None:
    def open_store(seed: int) -> LastWins:
        return LastWins(files.open(2 * seed + 1), "trial", CODEC)

    catch("a store ignores the version", histories_of(open_store, "cluster", cluster, operations=300))


def test_a_store_in_memory_that_takes_its_own_write_for_anothers_is_caught() -> None:
    blind = broken(
        "holdfast.sim.memory", {"if self.commit_id_at(subject, expected + 1) == commit_id:": "if False:"}
    )
    catch(
        "memory takes its own write for another's",
        histories_of(in_memory(lambda: blind.MemoryItems(CODEC)), "cluster", cluster, operations=600),
    )


def test_a_sqlite_store_that_takes_its_own_write_for_anothers_is_caught(
    files: Files, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = "if ours is not None and ours[0] == commit_id:"
    blind = broken("holdfast.adapters.sql.sqlite.database", {guard: "if False:"})
    monkeypatch.setattr(Database, "check_version", blind.Database.check_version)

    def open_store(seed: int) -> SqliteItems[Cluster]:
        return SqliteItems(files.open(2 * seed + 1), "trial", CODEC)

    catch(
        "SQLite takes its own write for another's",
        histories_of(open_store, "cluster", cluster, operations=300),
    )
