"""Whom a server lets in under which name: the rows that are there decide, not the caller."""

import pytest

from holdfast.failover.api.operations import ENROL, GONE, INSTANCE, REGISTER
from tests.server.running import Answer, Running
from tests.server.tenancy import Tenant, tenant


@pytest.fixture(scope="module")
def owner(server: Running) -> Tenant:
    return tenant(server, "doors", "db", "web")


def register(server: Running, token: str, instance_id: str, agent_id: str, session: str = "s-1") -> Answer:
    body = {"agent_id": agent_id, "instance_id": instance_id, "session": session, "boot_id": "b-1"}
    return server.call(REGISTER, token, body)


def test_an_instance_of_a_sibling_group_is_no_instance_of_this_one(server: Running, owner: Tenant) -> None:
    enrolment = server.call(ENROL, owner.token, {}, agent_id="db").data["token"]
    answer = register(server, enrolment, owner.instances["web"].instance_id, "db")
    assert (answer.http_status, answer.code) == (404, "NOT_FOUND")
    assert "belongs to another agent" in str(answer.error)
    assert register(server, enrolment, "doors-db-2", "db").http_status == 200, "and it is not used up"


def test_what_an_operator_called_gone_is_not_enabled_again(server: Running, owner: Tenant) -> None:
    mine = owner.instances["web"]
    gone = server.call(GONE, owner.token, {"why": "sold"}, instance_id=mine.instance_id)
    assert gone.http_status == 200, gone
    assert register(server, mine.token, mine.instance_id, "web").data == {"config": {"enabled": False}}
    enrolment = server.call(ENROL, owner.token, {}, agent_id="web").data["token"]
    again = register(server, enrolment, mine.instance_id, "web", "s-2")
    assert again.data == {"config": {"enabled": False}}, "a name is used once"
    row = server.call(INSTANCE, owner.token, instance_id=mine.instance_id).data
    assert row["instance_status"] == "terminated"
