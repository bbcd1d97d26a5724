"""What every store of clients and tokens promises, as functions that fail when it does not."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass

from holdfast.failover.group import Group, Member, Replica
from holdfast.failover.ports import GroupStore
from holdfast.failover.roles import Status
from holdfast.failover.tenants import Client, Tenants, Token, TokenKind
from holdfast.kernel import Event, Write


@dataclass(frozen=True, slots=True)
class Stores:
    groups: GroupStore
    tenants: Tenants


def _draw() -> str:
    return uuid.uuid4().hex


def _token(client_id: str, kind: TokenKind = TokenKind.OPERATOR, instance_id: str = "") -> Token:
    return Token(
        token_id=_draw(), kind=kind, digest=_draw() * 2, client_id=client_id, agent_id="db",
        instance_id=instance_id, created_s=1_730_000_000.5, expires_s=1_830_000_000.5,
    )  # fmt: skip


def _client(stores: Stores) -> Client:
    client = Client(client_id=f"c-{_draw()[:8]}", name="Acme «ü»", launches_per_hour_max=3, created_s=1.5)
    assert stores.tenants.add_client(client, _token(client.client_id))
    return client


def a_client_is_made_once_with_its_first_token(stores: Stores) -> None:
    """A second one of that id changes nothing, and its token opens nothing."""
    client = _client(stores)
    again = _token(client.client_id)
    assert not stores.tenants.add_client(Client(client_id=client.client_id, name="another"), again)
    assert stores.tenants.client(client.client_id) == client
    assert client in stores.tenants.clients()
    assert stores.tenants.token(again.digest) is None
    unknown = "c-unknown"
    assert stores.tenants.client(unknown) is None


def tokens_are_found_by_their_digest_until_they_end(stores: Stores) -> None:
    """Several of a kind at once, so that one is replaced without a gap; one that ended opens nothing."""
    client, other = _client(stores), _client(stores)
    token = _token(client.client_id)
    stores.tenants.add_token(token)
    stores.tenants.add_token(token)
    assert stores.tenants.token(token.digest) == token
    assert [each for each in stores.tenants.tokens(client.client_id) if each == token] == [token]
    assert not stores.tenants.end_token(other.client_id, token.token_id), "it is another client's"
    assert stores.tenants.end_token(client.client_id, token.token_id)
    assert not stores.tenants.end_token(client.client_id, token.token_id)
    assert stores.tenants.token(token.digest) is None
    assert token not in stores.tenants.tokens(client.client_id)


def an_enrolment_is_used_once(stores: Stores) -> None:
    """By one instance, which may ask again until it has shown its own token; then it is used up."""
    client = _client(stores)
    enrolment = _token(client.client_id, TokenKind.ENROLMENT)
    stores.tenants.add_token(enrolment)
    first, lost = (_token(client.client_id, TokenKind.AGENT, "i-1") for _ in range(2))
    assert stores.tenants.use_enrolment(enrolment.digest, lost) == lost
    stranger = _token(client.client_id, TokenKind.AGENT, "i-2")
    assert stores.tenants.use_enrolment(enrolment.digest, stranger) is None
    assert stores.tenants.use_enrolment(enrolment.digest, first) == first
    assert stores.tenants.token(lost.digest) is None, "replaced"
    assert stores.tenants.token(first.digest) == first
    again = _token(client.client_id, TokenKind.AGENT, "i-1")
    assert stores.tenants.use_enrolment(enrolment.digest, again) is None, "it has used its own token"
    assert stores.tenants.use_enrolment(first.digest, again) is None, "no enrolment at all"
    assert stores.tenants.token(stranger.digest) is None
    assert stores.tenants.end_token(client.client_id, first.token_id)
    assert stores.tenants.use_enrolment(enrolment.digest, again) is None, "it was used, whatever came after"


def an_enrolment_that_was_ended_lets_none_in(stores: Stores) -> None:
    """The instance that still holds it gets no token."""
    client = _client(stores)
    enrolment = _token(client.client_id, TokenKind.ENROLMENT)
    stores.tenants.add_token(enrolment)
    assert stores.tenants.end_token(client.client_id, enrolment.token_id)
    issued = _token(client.client_id, TokenKind.AGENT, "i-1")
    assert stores.tenants.use_enrolment(enrolment.digest, issued) is None
    assert stores.tenants.token(issued.digest) is None


def an_enrolment_for_one_instance_is_no_others(stores: Stores) -> None:
    """A launched machine's enrolment names it."""
    client = _client(stores)
    enrolment = _token(client.client_id, TokenKind.ENROLMENT, "i-1")
    stores.tenants.add_token(enrolment)
    assert (
        stores.tenants.use_enrolment(enrolment.digest, _token(client.client_id, TokenKind.AGENT, "i-2"))
        is None
    )
    ours = _token(client.client_id, TokenKind.AGENT, "i-1")
    assert stores.tenants.use_enrolment(enrolment.digest, ours) == ours


def rows_of_a_group_stay_when_they_are_gone(stores: Stores) -> None:
    """Members that left the record are terminated, with the time; another client sees none of it."""
    client, other = _client(stores), _client(stores)
    subject = f"{client.client_id}/db"
    members = (
        Member(instance_id="i-1", status=Status.PRIMARY, instance_type="m6i.large", az="eu-west-1a"),
        Member(instance_id="i-2", status=Status.ZOMBIE, demoted_at_s=1_730_000_000.0),
    )
    intent = Replica(replica_id="r-1", token="t", pool="m6i.large.eu-west-1b")
    found = stores.groups.read(subject)
    for kept in (members, members[:1]):
        group = Group(client_id=client.client_id, agent_id="db", epoch=1, members=kept, replicas=(intent,))
        write = Write(group, (Event("changed", 1_730_000_100.0),))
        found = stores.groups.commit(subject, found, write, _draw())

    assert list(stores.tenants.agents(client.client_id)) == ["db"]
    first, second = stores.tenants.instances(client.client_id, "db")
    assert (first.instance_id, first.is_primary, first.az) == ("i-1", True, "eu-west-1a")
    assert (second.status, second.demoted_at_s, second.terminated_at_s) == (
        "terminated",
        1_730_000_000.0,
        1_730_000_100.0,
    )
    assert stores.tenants.instance(client.client_id, "i-2") == second
    assert stores.tenants.agent_of_replica(client.client_id, "r-1") == "db"
    assert stores.tenants.agent_of_replica(client.client_id, "i-1") == "db"
    for nothing in (
        stores.tenants.instance(other.client_id, "i-2"),
        stores.tenants.agent_of_replica(other.client_id, "r-1"),
        *stores.tenants.agents(other.client_id),
        *stores.tenants.instances(other.client_id, "db"),
    ):
        assert nothing is None


TENANT_PROMISES: tuple[Callable[[Stores], None], ...] = (
    a_client_is_made_once_with_its_first_token,
    tokens_are_found_by_their_digest_until_they_end,
    an_enrolment_is_used_once,
    an_enrolment_that_was_ended_lets_none_in,
    an_enrolment_for_one_instance_is_no_others,
    rows_of_a_group_stay_when_they_are_gone,
)
