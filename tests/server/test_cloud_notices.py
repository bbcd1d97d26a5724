"""What EC2's queue says of members' machines: noted once, for the right group, and acted on at once."""

import json
import time
from collections.abc import Sequence
from typing import Any

import pytest

from holdfast.app.listening import Listener
from holdfast.cloud.notices import Notice, NoticeKind
from holdfast.failover.api import operations as ops
from holdfast.kernel import Busy
from holdfast.server.desk import cloud_notices
from tests.server.agents import Fleet, until
from tests.server.running import Running
from tests.server.tenancy import Tenant, tenant


@pytest.fixture(scope="module")
def shop(server: Running) -> Tenant:
    return tenant(server, "shop")


MACHINES = ("i-0123456789abcdef0", "i-0123456789abcdef1")


class Queue:
    """Brings again what was not deleted."""

    def __init__(self, *events: dict[str, Any]) -> None:
        self.left = [
            {
                "messageId": f"{n}",
                "receiptHandle": f"{n}",
                "eventSource": "aws:sqs",
                "body": json.dumps(event),
            }
            for n, event in enumerate(events)
        ]

    def receive(self) -> Sequence[dict[str, Any]]:
        return list(self.left)

    def delete(self, messages: Sequence[dict[str, Any]]) -> None:
        self.left = [each for each in self.left if each not in messages]


def state_change(instance_id: str, state: str) -> dict[str, Any]:
    return {
        "source": "aws.ec2",
        "detail-type": "EC2 Instance State-change Notification",
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "detail": {"instance-id": instance_id, "state": state},
    }


def heard(server: Running, *notices: Notice) -> Sequence[Notice]:
    return cloud_notices.keep(server.server.context, notices)


def test_a_machine_that_shuts_down_is_replaced_before_its_silence_is_noticed(
    server: Running, shop: Tenant
) -> None:
    assert server.call(ops.NEW_AGENT, shop.token, {"agent_id": "shut"}).http_status == 200
    with Fleet(server, shop, "shut", 2, MACHINES) as agents:
        first = agents.serving().who.instance_id
        second = next(agent for agent in agents.agents if agent.who.instance_id != first)
        queue = Queue(state_change(first, "shutting-down"), state_change("i-0f0f0f0f0f0f0f0f0", "stopped"))
        listener = Listener(queue, server.server._heard, lambda: None, server.server._stopping)
        assert listener.take() == 0.0
        assert queue.left == [], "noted, and the foreign one dropped"
        until(lambda: second.serving)
    rows = server.call(ops.HISTORY, shop.token, agent_id="shut").data
    told = [row["kind"] for row in rows]
    assert told.count("noticed") == 1
    assert "TERMINATION_NOTICE" in json.dumps(server.call(ops.WHY, shop.token, agent_id="shut").data)


def test_a_notice_is_noted_once_and_a_clock_that_is_behind_gives_no_more_time(
    server: Running, shop: Tenant
) -> None:
    assert server.call(ops.NEW_AGENT, shop.token, {"agent_id": "told"}).http_status == 200
    with Fleet(server, shop, "told", 2) as agents:
        first = agents.serving()
        standby = next(agent for agent in agents.agents if agent is not first).who.instance_id
        hint = Notice(standby, NoticeKind.REBALANCE, int(time.time()))
        assert heard(server, hint, hint) == [hint]
        late = Notice(standby, NoticeKind.INTERRUPTION, int(time.time()), int(time.time()) + 9_999)
        assert heard(server, late) == [late]
        assert heard(server, hint) == [], "nothing new"
        member = server.server.stores.groups.read("shop/told").value.member(standby)
        assert member is not None
        assert 0 < member.deadline_s - server.server.time.now_s() <= cloud_notices.LONGEST_S
    assert heard(server, Notice("i-foreign", NoticeKind.GONE, 1)) == []


def test_nothing_is_noted_after_the_server_has_begun_to_stop(server: Running) -> None:
    server.server._stopping.set()
    try:
        with pytest.raises(Busy):
            server.server._heard([Notice("i-1", NoticeKind.GONE, 1)])
    finally:
        server.server._stopping.clear()
