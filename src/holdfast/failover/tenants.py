"""Clients and their tokens: who may speak to a server, for what, and until when.

A token is drawn by the server, shown once, and stored only as a digest.  Its kind says what it speaks for:
the server (ADMIN), one client (OPERATOR), one instance of one agent (AGENT), or the right to enrol one
instance once (ENROLMENT).  Several tokens of a kind may be valid at once, so one is replaced without a gap.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class TokenKind(StrEnum):
    ADMIN = "admin"
    OPERATOR = "operator"
    AGENT = "agent"
    ENROLMENT = "enrolment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    token_id: str
    """For people: it names the token and opens nothing."""
    kind: TokenKind
    digest: str
    """SHA-256 of the secret, in hex.  The secret has 256 bits of its own: it needs no salt."""
    client_id: str = ""
    agent_id: str = ""
    instance_id: str = ""
    """Of an AGENT token.  Of an ENROLMENT: the only instance that may use it; empty: any."""
    created_s: float = 0.0
    expires_s: float = 0.0

    def valid(self, now_s: float) -> bool:
        return now_s < self.expires_s


def digest(secret: str) -> str:
    """All that is stored of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    client_id: str
    name: str = ""
    launches_per_hour_max: int = 20
    requests_per_second_max: int = 200
    created_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredInstance:
    """A row of `instances`, those that are gone among them."""

    client_id: str
    agent_id: str
    instance_id: str
    status: str
    is_primary: bool
    version: int = 0
    instance_type: str = ""
    region: str = ""
    az: str = ""
    demoted_at_s: float | None = None
    terminated_at_s: float | None = None


class Tenants(Protocol):
    """What a server asks the database about clients; every method is one short transaction."""

    def clients(self) -> Sequence[Client]:
        """All of them, by id.  Repeatable."""
        ...

    def client(self, client_id: str) -> Client | None:
        """Repeatable."""
        ...

    def add_client(self, client: Client, token: Token) -> bool:
        """Store a client with its first operator token; False if there is one of that id.  Twice is False."""
        ...

    def token(self, digest: str) -> Token | None:
        """Repeatable.  A token that was ended or used up is None."""
        ...

    def tokens(self, client_id: str) -> Sequence[Token]:
        """All that were not ended, of every kind.  Repeatable."""
        ...

    def add_token(self, token: Token) -> None:
        """Twice is once: the id is the key."""
        ...

    def end_token(self, client_id: str, token_id: str) -> bool:
        """From then on it opens nothing.  False if the client has none of that id.  Twice is False."""
        ...

    def use_enrolment(self, digest: str, issued: Token) -> Token | None:
        """Exchange a one-time enrolment for an agent's token, in one transaction; None if it was used up.

        The enrolment is kept with the instance that used it: the same instance may use it again until it
        has used its own token once, so that a lost answer locks no agent out; not when that token was ended
        afterwards.  `issued` replaces the token that was issued before.
        """
        ...

    def agents(self, client_id: str) -> Sequence[str]:
        """The ids of a client's groups.  Repeatable."""
        ...

    def instances(self, client_id: str, agent_id: str) -> Sequence[StoredInstance]:
        """All rows of a group, those that are gone too, newest first.  Repeatable."""
        ...

    def instance(self, client_id: str, instance_id: str) -> StoredInstance | None:
        """Repeatable."""
        ...

    def agent_of_replica(self, client_id: str, replica_id: str) -> str | None:
        """Whose launch intent or instance this is.  Repeatable."""
        ...
