"""A group's life over HTTP: its first primary, losses, notices, switches, a pause."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from holdfast.failover.api import operations as ops
from holdfast.server.restored.high_water import number
from tests.server.agents import Fleet, until
from tests.server.running import Running, running
from tests.server.tenancy import Tenant, tenant


@pytest.fixture(scope="module")
def shop(server: Running) -> Tenant:
    return tenant(server, "shop")


def fleet(server: Running, shop: Tenant, agent_id: str, size: int = 3) -> Fleet:
    assert server.call(ops.NEW_AGENT, shop.token, {"agent_id": agent_id}).http_status == 200
    return Fleet(server, shop, agent_id, size)


def group(server: Running, shop: Tenant, agent_id: str) -> Any:
    return server.call(ops.AGENT, shop.token, agent_id=agent_id).data


def settled(server: Running, shop: Tenant, agent_id: str, primary: str) -> Any:
    return until(
        lambda: (found := group(server, shop, agent_id))["primary"] == primary and found["settled"] and found
    )


def test_a_silent_primary_is_replaced_and_becomes_a_zombie(server: Running, shop: Tenant) -> None:
    with fleet(server, shop, "silent") as agents:
        first = agents.serving()
        first.alive = False
        second = agents.serving()
        found = settled(server, shop, "silent", second.who.instance_id)
        statuses = {member["instance_id"]: member["status"] for member in found["members"]}
        assert statuses[first.who.instance_id] == "zombie"
        assert server.call(ops.PRIMARY, shop.token, agent_id="silent").data["id"] == second.who.instance_id
        assert first.register_again().data == {"config": {"enabled": False}}
        why = server.call(ops.WHY, shop.token, agent_id="silent").data
        assert [step["rule"] for step in why["steps"]][:1] == [350]


def test_a_termination_notice_hands_over_before_the_lease_is_out(server: Running, shop: Tenant) -> None:
    with fleet(server, shop, "noticed") as agents:
        first = agents.serving()
        assert first.notice().data["acknowledged"] is True
        found = until(
            lambda: (
                (now := group(server, shop, "noticed"))["primary"] not in (None, first.who.instance_id)
                and now
            )
        )
        assert agents.by_name(found["primary"]).serving or until(
            lambda: agents.by_name(found["primary"]).serving
        )
        kinds = [row["kind"] for row in server.call(ops.HISTORY, shop.token, agent_id="noticed").data]
        assert kinds.index("noticed") < kinds.index("fenced"), "it said itself that it has stopped"


def test_a_failed_promotion_is_a_zombie_and_the_next_one_serves(server: Running, shop: Tenant) -> None:
    with fleet(server, shop, "failing") as agents:
        first = agents.serving()
        for agent in agents.agents[1:2] if first is agents.agents[0] else agents.agents[0:1]:
            agent.fails_promotion = True
            broken = agent.who.instance_id
        first.alive = False
        second = agents.serving()
        assert second.who.instance_id not in (first.who.instance_id, broken)
        statuses = {
            member["instance_id"]: member["status"] for member in group(server, shop, "failing")["members"]
        }
        tried = [
            row["about"]
            for row in server.call(ops.HISTORY, shop.token, agent_id="failing").data
            if row["kind"] == "promotionFailed"
        ]
        assert statuses[broken] == ("zombie" if broken in tried else "running_replica")


def test_a_zombie_with_the_last_copy_is_revived_and_serves(server: Running, shop: Tenant) -> None:
    with fleet(server, shop, "mended", 2) as agents:
        first = agents.serving()
        (second,) = (agent for agent in agents.agents if agent is not first)
        second.fails_promotion = True
        zombie = second.who.instance_id

        def status() -> str:
            members = group(server, shop, "mended")["members"]
            return str(next(each["status"] for each in members if each["instance_id"] == zombie))

        until(lambda: status() == "running_replica")
        asked = server.call(ops.REVIVE, shop.token, {"why": "too early"}, instance_id=zombie)
        assert asked.data == {"instance_id": zombie, "was_zombie": False}
        assert first.notice().http_status == 200
        until(lambda: status() == "zombie")
        first.alive = second.fails_promotion = False
        asked = server.call(ops.REVIVE, shop.token, {"why": "the hook is mended"}, instance_id=zombie)
        assert asked.data == {"instance_id": zombie, "was_zombie": True}
        assert agents.serving() is second
        told = server.call(ops.HISTORY, shop.token, agent_id="mended").data
        assert any(event["kind"] == "revived" and "mended" in event["reason"] for event in told)
        refused = server.call(ops.REVIVE, shop.token, {"why": "once more"}, instance_id=zombie)
        assert refused.code == "INVALID_STATE"


def test_a_switch_goes_to_the_named_candidate(server: Running, shop: Tenant) -> None:
    with fleet(server, shop, "switched") as agents:
        first = agents.serving()
        settled(server, shop, "switched", first.who.instance_id)
        to = next(agent for agent in agents.agents if agent is not first).who.instance_id
        until(
            lambda: all(
                member["ready"]
                for member in group(server, shop, "switched")["members"]
                if member["instance_id"] != first.who.instance_id
            )
        )
        tried = server.call(ops.SWITCH, shop.token, {"to": to, "dry_run": True}, agent_id="switched")
        assert tried.data["candidate"] == to, tried
        assert group(server, shop, "switched")["switch"] is None
        assert server.call(ops.SWITCH, shop.token, {"to": to}, agent_id="switched").http_status == 200
        settled(server, shop, "switched", to)
        refused = server.call(ops.SWITCH, shop.token, {"to": to}, agent_id="switched")
        assert refused.code == "INVALID_STATE"


def test_a_paused_primary_has_one_long_lease(server: Running, shop: Tenant) -> None:
    with fleet(server, shop, "paused", size=2) as agents:
        first = agents.serving()
        settled(server, shop, "paused", first.who.instance_id)
        body = {"for_s": 30, "why": "upgrade"}
        assert server.call(ops.PAUSE, shop.token, body, agent_id="paused").http_status == 200
        until(lambda: first.beat().data["lease_s"] > 20)
        assert server.call(ops.RESUME, shop.token, {}, agent_id="paused").data == {"was_paused": True}
        assert server.call(ops.RESUME, shop.token, {}, agent_id="paused").data == {"was_paused": False}


def test_a_database_from_the_past_grants_nothing_until_it_is_recovered(tmp_path: Path) -> None:
    with running(tmp_path) as server:
        shop = tenant(server, "shop")
        with fleet(server, shop, "db") as agents:
            first = agents.serving()
            backup = tmp_path / "backup.db"
            _copy(tmp_path / "failover.db", backup)
            first.alive = False
            second = agents.serving()
            settled(server, shop, "db", second.who.instance_id)
            epoch = second.epoch
        tokens = shop, agents
    _copy(backup, tmp_path / "failover.db")
    with running(tmp_path) as server:
        shop, agents = tokens
        for agent in agents.agents:
            agent.server, agent.alive, agent.lease_until_s = server, True, 0.0
        answers = [agent.beat() for agent in agents.agents for _ in range(3)]
        assert {answer.code for answer in answers} == {"RECOVERING"}
        assert server.http.request("GET", f"{server.url}/health").status == 503
        groups = server.server.stores.groups
        groups.raise_change_number(groups.change_number() + 1_000_000)
        with agents.again():
            served = agents.serving()
            assert served.epoch > epoch, "above all that was heard of"
            assert served.who.instance_id == second.who.instance_id, "the one that served last"


def test_a_restore_that_lost_little_is_made_up_for_by_no_commit_and_fails_over_none(tmp_path: Path) -> None:
    """As when a copy of the database that was a little behind takes its place."""
    with running(tmp_path) as server:
        shop = tenant(server, "shop")
        with fleet(server, shop, "db") as agents:
            first = agents.serving()
            epoch = settled(server, shop, "db", first.who.instance_id)["epoch"]
            _copy(tmp_path / "failover.db", tmp_path / "backup.db")
            assert server.call(ops.SETTINGS, shop.token, {"standbys": 2}, agent_id="db").http_status == 200
    _copy(tmp_path / "backup.db", tmp_path / "failover.db")
    with running(tmp_path) as server:
        for agent in agents.agents:
            agent.server = server
        changed = [
            server.call(ops.SETTINGS, shop.token, {"standbys": n}, agent_id="db").code for n in range(2, 6)
        ]
        assert set(changed) == {"RECOVERING"}
        assert {agent.register_again().http_status for agent in agents.agents} == {200}, "they may report"
        assert first.beat().code == "RECOVERING"
    (tmp_path / "highwater").unlink()
    with running(tmp_path) as server:  # another machine, which has seen nothing of what was lost
        for agent in agents.agents:
            agent.server = server
        assert first.beat().code == "RECOVERING"
        groups = server.server.stores.groups
        groups.raise_change_number(number(groups.change_number()) + 1_000_000)
        with agents.again():
            assert agents.serving() is first
            found = settled(server, shop, "db", first.who.instance_id)
            assert (found["epoch"], found["settings"]["standbys"]) == (epoch, 1), "and it was not replaced"


def _copy(source: Path, target: Path) -> None:
    """As a backup does: what is committed, and nothing else."""
    for leftover in target.parent.glob(f"{target.name}-*"):
        leftover.unlink()
    target.unlink(missing_ok=True)
    with closing(sqlite3.connect(source)) as read, closing(sqlite3.connect(target)) as written:
        read.backup(written)
