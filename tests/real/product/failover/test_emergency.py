"""The design's own test, over HTTP, with a machine that boots: an emergency promotion within two minutes.

A rebalance notice launches a standby on the EC2 stand-in.  Its first script starts the real agent, which
enrols with the one-time token of its launch, reads its identity from its own metadata service, follows, and
is promoted.
"""

import shlex
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.failover.api import operations as ops
from holdfast.failover.settings import Settings
from tests.real.boot_site import Site
from tests.real.presence import present
from tests.real.userdata import TOKEN
from tests.server.agents import Fleet, until
from tests.server.running import SETTINGS, Running, running
from tests.server.tenancy import Tenant, tenant
from tools.parts.boot.cluster import Join
from tools.parts.catalog.ec2 import PART
from tools.parts.ports import free_port

HOOKS = {
    "on-promote": "setsid sh -c 'sleep 1000; :' what-is-served >/dev/null 2>&1 &",
    "on-demote": "echo position=0",
    "on-follow": "exit 0",
    "health": "exit 0",
    "sync-status": "echo position=0; echo lag_s=0",
}


@dataclass
class Ground:
    server: Running
    shop: Tenant
    site: Site


def settings(site: Site, folder: Path, port: int) -> Settings:
    hooks = folder / "hooks"
    hooks.mkdir()
    for name, text in HOOKS.items():
        (hooks / name).write_text(f"#!/bin/sh\n{text}\n")
        (hooks / name).chmod(0o755)
    programs = shlex.quote(str(Path(sys.executable).parent))
    return replace(
        SETTINGS,
        listen=f"127.0.0.1:{port}",
        machines="ec2",
        region=site.account.ec2.region,
        pools=("m5.large.us-east-1b", "m5a.large.us-east-1a"),
        subnet_ids=tuple(site.account.subnets.values()),
        ami_id=site.account.image,
        agent_server_urls=(f"http://127.0.0.1:{port}",),
        enrolment_key_file=str(folder / "key"),
        agent_install=f"export PATH={programs}:$PATH",
        agent_arguments=(
            f"--hooks {shlex.quote(str(hooks))} --protect command:what-is-served --listen off "
            '--imds "$AWS_EC2_METADATA_SERVICE_ENDPOINT" --address 127.0.0.1:1'
        ),
    )


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    folder = tmp_path_factory.mktemp("failover")
    started = present(PART).start(rates=False)
    patch = pytest.MonkeyPatch()
    try:
        site = Site(started, Join("https://127.0.0.1:6443", TOKEN))
        patch.setenv("AWS_ENDPOINT_URL", started.endpoint)
        patch.setenv("AWS_ACCESS_KEY_ID", "any")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "any")
        port = free_port()
        with running(folder, settings(site, folder, port), port=port) as server:
            yield Ground(server, tenant(server, "shop"), site)
    finally:
        patch.undo()
        started.stop()


def test_emergency_promotion_under_2_minutes(ground: Ground) -> None:
    server, shop = ground.server, ground.shop
    wanted = {"agent_id": "agent-123", "settings": {"standbys": 0, "auto_terminate_enabled": True}}
    assert server.call(ops.NEW_AGENT, shop.token, wanted).http_status == 200
    with Fleet(server, shop, "agent-123", 1) as agents:
        primary = agents.serving()
        instance_id = primary.who.instance_id

        # Trigger: rebalance notice
        start_s = time.monotonic()
        body = {
            "instance_id": instance_id,
            "session": primary.who.session,
            "notice_time": "2026-01-01T00:00:00Z",
        }
        notice = server.call(ops.REBALANCE, primary.who.token, body, agent_id="agent-123")
        replica_id = notice.data["emergency_replica_id"]
        assert replica_id

        # Wait for the replica to be ready
        until(lambda: status_of(ground, replica_id) == "ready")

        # Promote the replica
        promoted = server.call(ops.PROMOTE, shop.token, {"emergency": True}, replica_id=replica_id)
        assert promoted.http_status == 200, promoted
        new = until(lambda: (now := primary_of(ground))["status"] == "running_primary" and now)
        duration_s = time.monotonic() - start_s

    assert duration_s < 120, f"emergency promotion took {duration_s:.0f} s (>120 s)"
    assert new["id"] != instance_id
    assert new["is_primary"] is True
    assert new["emergency"] is True
    assert new["pool"] in ("m5.large.us-east-1b", "m5a.large.us-east-1a")


def test_a_second_notice_launches_no_second_replica(ground: Ground) -> None:
    server, shop = ground.server, ground.shop
    wanted = {"agent_id": "twice", "settings": {"standbys": 0}}
    assert server.call(ops.NEW_AGENT, shop.token, wanted).http_status == 200
    with Fleet(server, shop, "twice", 1) as agents:
        primary = agents.serving()
        body = {"instance_id": primary.who.instance_id, "session": primary.who.session}
        ids = {
            server.call(ops.REBALANCE, primary.who.token, body, agent_id="twice").data["emergency_replica_id"]
            for _ in range(3)
        }
        assert len(ids) == 1
        launches = server.call(ops.REPLICAS, shop.token, agent_id="twice").data["launches"]
        assert len(launches) == 1


def status_of(ground: Ground, replica_id: str) -> str:
    answer = ground.server.call(ops.REPLICAS, ground.shop.token, agent_id="agent-123").data
    found: list[Any] = [each for each in answer["launches"] if each["replica_id"] == replica_id]
    return str(found[0]["status"]) if found else ""


def primary_of(ground: Ground) -> Any:
    answer = ground.server.call(ops.PRIMARY, ground.shop.token, agent_id="agent-123")
    return answer.data or {"id": None, "status": answer.code}
