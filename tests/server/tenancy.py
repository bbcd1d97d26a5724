"""Two clients with two groups each, and an instance in every group: whom a request may be about."""

from dataclasses import dataclass, field

from holdfast.failover.api.operations import ENROL, NEW_AGENT, REGISTER
from tests.server.running import Running


@dataclass
class Enrolled:
    agent_id: str
    instance_id: str
    token: str
    session: str = "s-1"


@dataclass
class Tenant:
    client_id: str
    token: str
    instances: dict[str, Enrolled] = field(default_factory=dict)
    """By agent."""


def tenant(server: Running, client_id: str, *agent_ids: str) -> Tenant:
    made = Tenant(client_id, server.client(client_id, requests_per_second_max=100_000))
    for agent_id in agent_ids:
        assert server.call(NEW_AGENT, made.token, {"agent_id": agent_id}).http_status == 200
        made.instances[agent_id] = enrolled(server, made, agent_id, f"{client_id}-{agent_id}-1")
    return made


def enrolled(server: Running, owner: Tenant, agent_id: str, instance_id: str) -> Enrolled:
    enrolment = server.call(ENROL, owner.token, {}, agent_id=agent_id).data["token"]
    body = {"agent_id": agent_id, "instance_id": instance_id, "session": "s-1", "boot_id": "b-1"}
    answer = server.call(REGISTER, enrolment, body)
    assert answer.http_status == 200, answer
    return Enrolled(agent_id, instance_id, answer.data["token"])
