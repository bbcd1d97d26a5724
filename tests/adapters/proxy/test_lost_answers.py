"""A lost answer never turns our own write into a lost race, nor another's into ours.

The shipped adapter talks to a real server through a proxy that spoils chosen calls.  What
was written is read on another way, past the proxy.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import ConnectionClosedError

from holdfast.adapters.aws import client as aws_client
from holdfast.adapters.aws.dynamodb import client as shipped_client
from holdfast.adapters.aws.dynamodb import items as shipped_items
from holdfast.adapters.aws.dynamodb.caps import DynamoCapStore
from holdfast.kernel import Conflict, Done, Event, Unknown, Versioned, Write, advance
from holdfast.leases.cap import CODEC, Cap, View
from holdfast.leases.starting import WORKFLOW
from holdfast.testing.proxy import HALF_ANSWER, PASS, RESET_AFTER, RESET_BEFORE, Fate, black_hole, latency
from tests.adapters.proxy.counting import until
from tests.adapters.proxy.network import (
    COMMIT,
    IMPATIENT_S,
    LOOK_UP,
    SUBJECT,
    VIEW,
    Network,
    drawn,
    forget_tokens,
    ports,
)
from tests.proof import prove
from tests.variants import broken

OURS = Write(Cap(VIEW), (Event("capAgreed", 1.0, about="us"),))
THEIRS = Write(Cap(View(60, 3)), (Event("capAgreed", 1.0, about="them"),))

ANSWER_LOST = (RESET_AFTER, HALF_ANSWER)
REQUEST_LOST = (RESET_BEFORE, black_hole(delivered=False))


@pytest.fixture
def network(dynamodb_endpoint: str) -> Iterator[Network]:
    with Network(dynamodb_endpoint) as made:
        yield made


def lose_commit(store: DynamoCapStore) -> tuple[Versioned[Cap], str]:
    """Commit where the answer is lost; what the store had found, and the commit id."""
    found, commit_id = store.read(SUBJECT), drawn()
    with pytest.raises(Unknown):
        store.commit(SUBJECT, found, OURS, commit_id)
    return found, commit_id


# The answer is lost: it is written, and it is ours.


@pytest.mark.parametrize("fate", ANSWER_LOST, ids=repr)
def test_a_commit_whose_answer_was_lost_is_unknown_and_proves_to_be_ours(
    network: Network, fate: Fate
) -> None:
    store = network.store_for(fate)
    network.spoil(COMMIT, fate)
    _, commit_id = lose_commit(store)
    assert store.commit_id_at(SUBJECT, 1) == commit_id
    assert store.read(SUBJECT) == Versioned(OURS.value, 1, commit_id)
    assert network.written() == [(1, commit_id)]
    assert network.calls.count(COMMIT) == 1, "the client did not try again behind our back"


@pytest.mark.parametrize("fate", [RESET_AFTER, HALF_ANSWER], ids=repr)
def test_a_step_whose_answer_was_lost_is_done_and_written_once(network: Network, fate: Fate) -> None:
    ids: list[str] = []
    worker = ports(network.store_for(fate), ids)
    network.spoil(COMMIT, fate)
    assert isinstance(advance(worker, WORKFLOW), Write)
    assert network.written() == [(1, ids[0])]
    assert advance(worker, WORKFLOW) == Done()
    assert network.written() == [(1, ids[0])]


def test_a_step_whose_answer_was_lost_is_done_though_others_wrote_on_top_of_it(network: Network) -> None:
    ids: list[str] = []
    worker = ports(network.store(network.client), ids)
    theirs: list[str] = []

    def another_goes_on() -> Fate:
        theirs.append(network.put(THEIRS))
        return PASS

    network.spoil(COMMIT, RESET_AFTER)
    network.spoil(LOOK_UP, PASS, another_goes_on)  # the read; then the look for our commit id
    assert isinstance(advance(worker, WORKFLOW), Write)
    assert network.written() == [(1, ids[0]), (2, theirs[0])]


def test_a_step_that_cannot_be_looked_up_stays_unknown_until_the_next_turn_reads_it(
    network: Network,
) -> None:
    ids: list[str] = []
    worker = ports(network.store(network.client), ids)
    network.spoil(COMMIT, RESET_AFTER)
    network.spoil(LOOK_UP, PASS, RESET_BEFORE)
    with pytest.raises(Unknown):
        advance(worker, WORKFLOW)
    assert advance(worker, WORKFLOW) == Done()
    assert network.written() == [(1, ids[0])]


# The request is lost: the version is free, until a commit arrives.


@pytest.mark.parametrize("fate", REQUEST_LOST, ids=repr)
def test_a_commit_that_never_arrived_is_unknown_and_not_written(network: Network, fate: Fate) -> None:
    store = network.store_for(fate)
    network.spoil(COMMIT, fate)
    found, commit_id = lose_commit(store)
    assert store.commit_id_at(SUBJECT, 1) is None
    assert network.written() == []
    assert store.commit(SUBJECT, found, OURS, commit_id).version == 1
    assert network.written() == [(1, commit_id)]


@pytest.mark.parametrize("fate", REQUEST_LOST, ids=repr)
def test_a_step_that_never_arrived_is_written_once_by_the_next_turn(network: Network, fate: Fate) -> None:
    ids: list[str] = []
    worker = ports(network.store_for(fate), ids)
    network.spoil(COMMIT, fate)
    with pytest.raises(Unknown):
        advance(worker, WORKFLOW)
    assert network.written() == []
    assert isinstance(advance(worker, WORKFLOW), Write)
    assert network.written() == [(1, ids[1])]
    assert advance(worker, WORKFLOW) == Done()


# Another's write is never ours.


def overtaken(network: Network, then: Fate, theirs: list[str]) -> Callable[[], Fate]:
    """Another's commit lands while ours is on its way; then ours meets this fate."""

    def happen() -> Fate:
        theirs.append(network.put(THEIRS))
        return then

    return happen


@pytest.mark.parametrize("fate", [*REQUEST_LOST, RESET_AFTER, HALF_ANSWER], ids=repr)
def test_anothers_commit_is_not_ours_though_our_answer_was_lost(network: Network, fate: Fate) -> None:
    """Lost on the way there, or on the way back after the server had refused it."""
    theirs: list[str] = []
    store = network.store_for(fate)
    network.spoil(COMMIT, overtaken(network, fate, theirs))
    found, commit_id = lose_commit(store)
    until(lambda: bool(theirs), "the other one has committed")
    assert store.commit_id_at(SUBJECT, 1) == theirs[0]
    with pytest.raises(Conflict):
        store.commit(SUBJECT, found, OURS, commit_id)
    assert network.written() == [(1, theirs[0])]
    assert network.direct.read(SUBJECT).value == THEIRS.value


@pytest.mark.parametrize("fate", [RESET_BEFORE, RESET_AFTER], ids=repr)
def test_a_step_that_another_overtook_is_a_lost_race(network: Network, fate: Fate) -> None:
    ids: list[str] = []
    theirs: list[str] = []
    worker = ports(network.store(network.client), ids)
    network.spoil(COMMIT, overtaken(network, fate, theirs))
    with pytest.raises(Conflict):
        advance(worker, WORKFLOW)
    assert network.written() == [(1, theirs[0])]
    assert isinstance(advance(worker, WORKFLOW), Write), "read again, decided again"
    assert network.written() == [(1, theirs[0]), (2, ids[1])]


# The same commit id again.


@pytest.mark.parametrize("ten_minutes_later", [False, True])
@pytest.mark.parametrize("others_since", [0, 2])
@pytest.mark.parametrize("fate", [RESET_AFTER, HALF_ANSWER, RESET_BEFORE], ids=repr)
def test_a_repeated_commit_is_done_once(
    network: Network, fate: Fate, others_since: int, ten_minutes_later: bool
) -> None:
    if ten_minutes_later:
        forget_tokens(network.client)
    store = network.store(network.client)
    network.spoil(COMMIT, fate)
    found, commit_id = lose_commit(store)
    if not fate.delivered:
        store.commit(SUBJECT, found, OURS, commit_id)
    for _ in range(others_since):
        network.put(THEIRS)
    for _ in range(2):
        assert store.commit(SUBJECT, found, OURS, commit_id) == Versioned(OURS.value, 1, commit_id)
    assert [written for written in network.written() if written[1] == commit_id] == [(1, commit_id)]
    assert len(network.written()) == 1 + others_since


# The request is late.


def test_a_commit_that_arrives_late_is_found_and_not_written_again(network: Network) -> None:
    ids: list[str] = []
    late = latency(IMPATIENT_S + 0.5)
    worker = ports(network.store_for(late), ids)
    network.spoil(COMMIT, late)
    with pytest.raises(Unknown, match="Read timeout"):
        advance(worker, WORKFLOW)
    until(lambda: bool(network.written()), "the late commit")
    assert advance(worker, WORKFLOW) == Done()
    assert network.written() == [(1, ids[0])]


def test_a_commit_that_arrives_after_anothers_is_refused(network: Network) -> None:
    late: list[Any] = []

    def stay_on_the_way(request: Any, **_: Any) -> None:
        late.append(request)
        raise ConnectionClosedError(endpoint_url=request.url)

    store, client = network.store(network.client), network.client
    client.meta.events.register(f"before-send.dynamodb.{COMMIT}", stay_on_the_way)
    _, commit_id = lose_commit(store)
    assert store.commit_id_at(SUBJECT, 1) is None
    theirs = network.put(THEIRS)

    answer = client._endpoint.http_session.send(late[0])

    assert answer.status_code == 400
    assert b"ConditionalCheckFailed" in answer.content
    assert network.written() == [(1, theirs)]
    assert store.commit_id_at(SUBJECT, 1) == theirs != commit_id


def test_a_repeated_commit_whose_look_up_is_throttled_is_unknown(network: Network) -> None:
    """Busy would mean that it was certainly not written; its first try was."""
    forget_tokens(network.client)
    store = network.store(network.client)
    network.spoil(COMMIT, RESET_AFTER)
    found, commit_id = lose_commit(store)
    body = b'{"__type": "com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}'

    class Raw:
        def stream(self) -> Iterator[bytes]:
            yield body

    def throttle(request: Any, **_: Any) -> AWSResponse:
        return AWSResponse(request.url, 400, HTTPHeaders(), Raw())

    network.client.meta.events.register(f"before-send.dynamodb.{LOOK_UP}", throttle)
    with pytest.raises(Unknown):
        store.commit(SUBJECT, found, OURS, commit_id)


# The walls: without them, a lost answer is a lost race.

ONE_ATTEMPT = 'retries={"total_max_attempts": 1, "mode": "standard"},'
LOOKS_FOR_ITS_OWN = "if winner != commit_id:"


def commit_once(network: Network, *, retries: bool, looks: bool, remembered: bool) -> str:
    """What a store says of a commit whose first answer is lost; each wall may be taken out."""
    make: Any = shipped_client.make_client
    if retries:
        make = partial(broken(aws_client.__name__, {ONE_ATTEMPT: ""}).make_client, "dynamodb")
    items = shipped_items if looks else broken(shipped_items.__name__, {LOOKS_FOR_ITS_OWN: "if True:"})
    client = network.client_of(make)
    if not remembered:
        forget_tokens(client)
    table = f"{network.stream}_meta"
    store = items.DynamoItems(client, CODEC, table=table, key="worker_id", events_table=f"{table}_events")
    found, commit_id = store.read(SUBJECT), drawn()
    network.spoil(COMMIT, RESET_AFTER)
    try:
        store.commit(SUBJECT, found, OURS, commit_id)
        said = "done"
    except (Conflict, Unknown) as error:
        said = type(error).__name__
    client.close()
    assert network.written() == [(1, commit_id)], "it is ours, whatever was said"
    assert network.calls.count(COMMIT) == (2 if retries else 1)
    return said


@pytest.mark.parametrize("remembered", [True, False])
def test_the_shipped_store_says_unknown_and_tries_once(network: Network, remembered: bool) -> None:
    assert commit_once(network, retries=False, looks=True, remembered=remembered) == "Unknown"


def test_a_client_that_retries_by_itself_takes_our_write_for_a_lost_race(network: Network) -> None:
    """S13: botocore's default retries, without a look at whose the version is."""
    assert commit_once(network, retries=True, looks=False, remembered=False) == "Conflict"
    prove(
        "variant", "S13: a client that retries makes our own write a lost race", caught_by="the fault proxy"
    )


@pytest.mark.parametrize(
    ("looks", "remembered"), [(True, True), (True, False), (False, True)], ids=["both", "look-up", "token"]
)
def test_either_wall_behind_it_would_have_held(network: Network, looks: bool, remembered: bool) -> None:
    """The server's memory of tokens for ten minutes, our own look-up for ever."""
    assert commit_once(network, retries=True, looks=looks, remembered=remembered) == "done"
