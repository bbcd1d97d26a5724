"""Who is calling: the token in a request, looked up once in a few seconds."""

import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.failover.api.codes import Code, Refusal
from holdfast.failover.api.operations import Caller, Operation
from holdfast.failover.tenants import Client, Tenants, Token, TokenKind, digest

REMEMBERED_S: Final = 5.0
"""How long another server's ended token may still open this one."""
REMEMBERED_MAX: Final = 20_000
PREFIXES: Final = {
    TokenKind.ADMIN: "hfa",
    TokenKind.OPERATOR: "hfo",
    TokenKind.AGENT: "hfi",
    TokenKind.ENROLMENT: "hfe",
}
ALLOWED: Final[Mapping[Caller, frozenset[TokenKind]]] = {
    Caller.ENROLMENT: frozenset({TokenKind.ENROLMENT, TokenKind.AGENT}),
    Caller.AGENT: frozenset({TokenKind.AGENT}),
    Caller.OPERATOR: frozenset({TokenKind.OPERATOR}),
    Caller.ADMIN: frozenset({TokenKind.ADMIN}),
}
UNKNOWN_TOKEN: Final = "the token is missing, unknown, expired or used up: send `Authorization: Bearer TOKEN`"


def draw(kind: TokenKind) -> str:
    """A new secret.  Its first letters say what it is for, so that a leaked one is recognised."""
    return f"{PREFIXES[kind]}_{secrets.token_urlsafe(32)}"


def issue(
    kind: TokenKind,
    *,
    now_s: float,
    expires_in_s: float,
    client_id: str = "",
    agent_id: str = "",
    instance_id: str = "",
) -> tuple[str, Token]:
    """A secret, to be shown once, and what is stored of it."""
    secret = draw(kind)
    token = Token(
        token_id=secrets.token_hex(8),
        kind=kind,
        digest=digest(secret),
        client_id=client_id,
        agent_id=agent_id,
        instance_id=instance_id,
        created_s=now_s,
        expires_s=now_s + expires_in_s,
    )
    return secret, token


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller of one request."""

    token: Token
    client: Client | None = None
    """None for the administrator."""

    @property
    def client_id(self) -> str:
        return self.token.client_id

    def speaks_for(self, agent_id: str, instance_id: str) -> bool:
        """Whether an agent's ids in path and body are its own."""
        return self.token.agent_id == agent_id and self.token.instance_id == instance_id


class Tokens:
    """Looks tokens up in the database, and remembers what it found for a few seconds."""

    def __init__(
        self,
        tenants: Tenants,
        now_s: Callable[[], float],
        monotonic_s: Callable[[], float],
        *,
        saw: Callable[[Token], None] = lambda token: None,
        refused: Callable[[str], None] = lambda digest: None,
        enrolled: Callable[[str], bool] = lambda digest: False,
    ) -> None:
        """`saw` is told of each token that was found, `refused` of the digest of each that was not.

        `enrolled` says whether the database was last seen to hold an agent's token with this digest.
        """
        self._tenants, self._now_s, self._monotonic_s = tenants, now_s, monotonic_s
        self._saw, self._refused, self._enrolled = saw, refused, enrolled
        self._known: dict[str, tuple[Principal, float]] = {}
        self._clients: dict[str, tuple[Client | None, float]] = {}
        self._lock = threading.Lock()

    def remembered(self, header: str) -> Principal | None:
        """Without asking the database; None if it must be asked."""
        found = self._known.get(digest(_secret(header)))
        if found is None or self._monotonic_s() >= found[1]:
            return None
        return found[0] if found[0].token.valid(self._now_s()) else None

    def expected(self, header: str) -> bool:
        """Whether this token was found to be good before, however long ago: its caller is no stranger."""
        key = digest(_secret(header))
        return key in self._known or self._enrolled(key)

    def find(self, header: str) -> Principal:
        """Raises Refusal(UNAUTHENTICATED) for a token that opens nothing."""
        secret = _secret(header)
        token = self._tenants.token(digest(secret))
        if token is None:
            self._refused(digest(secret))
        else:
            self._saw(token)
        if token is None or not token.valid(self._now_s()):
            with self._lock:
                self._known.pop(digest(secret), None)
            raise Refusal(Code.UNAUTHENTICATED, UNKNOWN_TOKEN)
        principal = Principal(token, self._client(token.client_id) if token.client_id else None)
        if token.kind is not TokenKind.ENROLMENT:  # an enrolment is asked for each time: it is used up
            self._remember(token.digest, principal)
        return principal

    def forget(self, token_id: str) -> None:
        """This server asks again at once; the others within a few seconds."""
        with self._lock:
            self._known = {
                key: held for key, held in self._known.items() if held[0].token.token_id != token_id
            }

    def _client(self, client_id: str) -> Client | None:
        """Asked once in a few seconds for all its tokens: a client has many agents."""
        found, until_s = self._clients.get(client_id, (None, 0.0))
        if found is None or self._monotonic_s() >= until_s:
            found = self._tenants.client(client_id)
            with self._lock:
                self._clients[client_id] = (found, self._monotonic_s() + REMEMBERED_S)
        return found

    def _remember(self, key: str, principal: Principal) -> None:
        with self._lock:
            if len(self._known) >= REMEMBERED_MAX:
                self._known.clear()
            self._known[key] = (principal, self._monotonic_s() + REMEMBERED_S)


def allow(operation: Operation, principal: Principal) -> None:
    """Raises Refusal(FORBIDDEN) for a token of another kind."""
    if principal.token.kind not in ALLOWED[operation.caller]:
        raise Refusal(
            Code.FORBIDDEN,
            f"{operation.name} is for {operation.caller.value}; this token is of kind {principal.token.kind}",
        )


def _secret(header: str) -> str:
    scheme, _, secret = header.partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise Refusal(Code.UNAUTHENTICATED, UNKNOWN_TOKEN)
    return secret.strip()
