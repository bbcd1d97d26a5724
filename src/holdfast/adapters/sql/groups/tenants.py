"""Clients, their tokens, and what belongs to them: `holdfast.failover.tenants.Tenants` in SQL."""

from collections.abc import Sequence
from typing import Any

from holdfast.adapters.sql.database import SqlDatabase, Transaction
from holdfast.adapters.sql.groups.codec import check_id
from holdfast.failover.group import subject_of
from holdfast.failover.tenants import Client, StoredInstance, Token, TokenKind


class SqlTenants:
    def __init__(self, database: SqlDatabase) -> None:
        self.database = database

    def clients(self) -> Sequence[Client]:
        return [_client(row) for row in self.database.rows("clients")]

    def client(self, client_id: str) -> Client | None:
        found = self.database.rows("client", client_id=client_id)
        return _client(found[0]) if found else None

    def add_client(self, client: Client, token: Token) -> bool:
        check_id("client_id", client.client_id)
        with self.database.transaction() as tx:
            added = tx.count(
                "add_client",
                client_id=client.client_id,
                name=client.name,
                launches_per_hour_max=client.launches_per_hour_max,
                requests_per_second_max=client.requests_per_second_max,
                created_s=client.created_s,
            )
            if added:
                _add(tx, token)
        return added == 1

    def token(self, digest: str) -> Token | None:
        """The first use of an agent's own token is noted: from then on its enrolment is used up."""
        found = self.database.rows("token", digest=digest)
        if not found:
            return None
        token, used = _token(found[0]), bool(found[0][8])
        if token.kind is TokenKind.AGENT and not used:
            self.database.run("token_is_used", token_id=token.token_id)
        return token

    def tokens(self, client_id: str) -> Sequence[Token]:
        return [_token(row) for row in self.database.rows("tokens", client_id=client_id)]

    def add_token(self, token: Token) -> None:
        with self.database.transaction() as tx:
            _add(tx, token)

    def end_token(self, client_id: str, token_id: str) -> bool:
        return self.database.run("end_token", client_id=client_id, token_id=token_id).count == 1

    def use_enrolment(self, digest: str, issued: Token) -> Token | None:
        with self.database.transaction() as tx:
            found = tx.rows("lock_token", digest=digest)
            if not found or _token(found[0]).kind is not TokenKind.ENROLMENT:
                return None
            enrolment = _token(found[0])
            if enrolment.instance_id not in ("", issued.instance_id):
                return None
            before = tx.rows("issued_for", token_id=enrolment.token_id)
            if any(used for _, used in before):
                return None
            for token_id, _ in before:
                tx.run("end_token", client_id=enrolment.client_id, token_id=token_id)
            tx.run("bind_enrolment", token_id=enrolment.token_id, instance_id=issued.instance_id)
            _add(tx, issued, enrolment=enrolment.token_id)
        return issued

    def agents(self, client_id: str) -> Sequence[str]:
        return [str(agent_id) for (agent_id,) in self.database.rows("agents_of", client_id=client_id)]

    def instances(self, client_id: str, agent_id: str) -> Sequence[StoredInstance]:
        subject = subject_of(client_id, agent_id)
        return [_instance(row) for row in self.database.rows("instances_of", client_id=client_id, id=subject)]

    def instance(self, client_id: str, instance_id: str) -> StoredInstance | None:
        found = self.database.rows("instance", client_id=client_id, instance_id=instance_id)
        return _instance(found[0]) if found else None

    def agent_of_replica(self, client_id: str, replica_id: str) -> str | None:
        found = self.database.rows("agent_of_replica", client_id=client_id, replica_id=replica_id)
        return str(found[0][0]).partition("/")[2] if found else None

    def status_counts(self) -> dict[tuple[str, str], int]:
        """How many instances each client has in each status.  Repeatable."""
        rows = self.database.rows("status_counts")
        return {(str(client_id), str(status)): int(n) for client_id, status, n in rows}

    def more_than_one_primary(self) -> dict[str, int]:
        """Groups with more than one; the schema forbids it, and the alert asks all the same.  Repeatable."""
        return {str(subject): int(n) for subject, n in self.database.rows("more_than_one_primary")}


def _add(tx: Transaction, token: Token, *, enrolment: str = "") -> None:
    tx.run(
        "add_token",
        token_id=token.token_id,
        kind=str(token.kind),
        digest=token.digest,
        client_id=token.client_id,
        agent_id=token.agent_id,
        instance_id=token.instance_id,
        created_s=token.created_s,
        expires_s=token.expires_s,
        enrolment=enrolment,
    )


def _client(row: Sequence[Any]) -> Client:
    client_id, name, launches, requests, created_s = row
    return Client(
        client_id=client_id,
        name=name,
        launches_per_hour_max=launches,
        requests_per_second_max=requests,
        created_s=float(created_s),
    )


def _token(row: Sequence[Any]) -> Token:
    token_id, kind, digest, client_id, agent_id, instance_id, created_s, expires_s, _, _ = row
    return Token(
        token_id=token_id,
        kind=TokenKind(kind),
        digest=digest,
        client_id=client_id,
        agent_id=agent_id,
        instance_id=instance_id,
        created_s=float(created_s),
        expires_s=float(expires_s),
    )


def _instance(row: Sequence[Any]) -> StoredInstance:
    client_id, subject, instance_id, status, is_primary, version, kind, region, az, demoted_s, gone_s = row
    return StoredInstance(
        client_id=client_id,
        agent_id=str(subject).partition("/")[2],
        instance_id=instance_id,
        status=status,
        is_primary=bool(is_primary),
        version=version,
        instance_type=kind,
        region=region,
        az=az,
        demoted_at_s=None if demoted_s is None else float(demoted_s),
        terminated_at_s=None if gone_s is None else float(gone_s),
    )
