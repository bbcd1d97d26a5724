"""Machines that were launched for an intent: which of them are let in by their enrolment."""

from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from holdfast.app.failover.wiring import ENROLMENT_S
from holdfast.failover.api import wire
from holdfast.failover.api.operations import REGISTER
from holdfast.failover.group import Group, Replica, ReplicaStatus
from holdfast.failover.tenants import Token, TokenKind, digest
from holdfast.kernel import Event, Write
from holdfast.server.calls import Call
from holdfast.server.desk import agents
from holdfast.server.tokens import Principal
from tests.proof import prove
from tests.server.running import Running
from tests.server.tenancy import Tenant, tenant
from tests.variants import broken


@pytest.fixture(scope="module")
def shop(server: Running) -> Tenant:
    return tenant(server, "launches")


def intended(server: Running, shop: Tenant, name: str, status: ReplicaStatus | None) -> Token:
    """A group with a launch that has come so far, or was forgotten; the enrolment of its machine."""
    store, subject = server.server.context.store, f"{shop.client_id}/{name}"
    intent = Replica(
        replica_id=f"r-{name}", token=f"t-{name}", pool="m5.large.a", emergency=True,
        status=ReplicaStatus.LAUNCHING,
    )  # fmt: skip
    group = Group(client_id=shop.client_id, agent_id=name, created_s=1.0, replicas=(intent,))
    found = store.commit(subject, store.read(subject), Write(group, (Event("changed", 1.0),)), f"c-1-{name}")
    if status is not ReplicaStatus.LAUNCHING:
        left = () if status is None else (replace(intent, status=status, ended_s=2.0),)
        write = Write(replace(group, replicas=left), (Event("changed", 2.0),))
        store.commit(subject, found, write, f"c-2-{name}")
    now_s = server.server.time.now_s()
    token = Token(
        token_id=intent.replica_id, kind=TokenKind.ENROLMENT, digest=digest(f"secret-{name}"),
        client_id=shop.client_id, agent_id=name, created_s=now_s, expires_s=now_s + ENROLMENT_S,
    )  # fmt: skip
    server.server.stores.tenants.add_token(token)
    return token


def registered(server: Running, token: Token, module: ModuleType | Any = agents) -> Any:
    body = wire.Register(
        agent_id=token.agent_id, instance_id=f"i-{token.agent_id}", session="s-1", boot_id="b-1"
    )
    return module.register(server.server.context, Call(REGISTER, Principal(token), body=body))


def test_a_machine_that_is_waited_for_is_the_one_of_its_intent(server: Running, shop: Tenant) -> None:
    """It may say so before EC2 has answered who it is."""
    token = intended(server, shop, "waits", ReplicaStatus.LAUNCHING)
    assert registered(server, token)["config"]["enabled"] is True
    group = server.server.context.store.read(f"{shop.client_id}/waits").value
    (member,), (replica,) = group.members, group.replicas
    assert (member.replica_id, member.emergency) == ("r-waits", True)
    assert (replica.instance_id, replica.status) == ("i-waits", ReplicaStatus.SYNCING)


@pytest.mark.parametrize("status", [ReplicaStatus.FAILED, None], ids=["given-up", "forgotten"])
def test_h1_a_late_first_launch_is_not_let_in_by_its_enrolment(
    server: Running, shop: Tenant, status: ReplicaStatus | None
) -> None:
    careless = broken("holdfast.server.desk.agents", {"(enrols and not launched)": "enrols"})
    late = intended(server, shop, f"late-{status}".lower(), status)
    assert registered(server, late) == {"config": {"enabled": False}}
    if status is None:  # of one that was given up, the intent itself says so
        assert registered(server, late, careless)["config"]["enabled"] is True
        prove("variant", "H1: a late first launch enrols", caught_by="a launch that was forgotten")
