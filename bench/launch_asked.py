"""A notice to a primary without a standby: how soon the cloud is asked for one.

The server is ours on SQLite, its cloud the EC2 stand-in.  Counted is the time from sending the termination
notice until EC2 lists the machine, so until after it was asked.
"""

import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from bench import Row
from holdfast.failover.api.operations import NEW_AGENT
from tests.real.account import Account
from tests.server.agents import Fleet
from tests.server.running import SETTINGS, running
from tests.server.tenancy import tenant
from tools.parts.catalog.ec2 import PART
from tools.parts.ports import free_port

PROMISE_S: Final = 1.0
GROUPS: Final = 20
LOOK_EVERY_S: Final = 0.02
PATIENCE_S: Final = 60.0


def run() -> list[Row]:
    took_s = sorted(notices())
    median_s, longest_s = took_s[len(took_s) // 2], took_s[-1]
    return [
        Row(f"{what} of {GROUPS}", each_s, "promised", PROMISE_S, each_s / PROMISE_S, 1.0, " s")
        for what, each_s in (("notice to launch, median", median_s), ("notice to launch, longest", longest_s))
    ]


def notices() -> list[float]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="holdfast-bench-")))
        ec2 = PART.start(rates=False)
        stack.callback(ec2.stop)
        environ = {
            "AWS_ENDPOINT_URL": ec2.endpoint,
            "AWS_ACCESS_KEY_ID": "any",
            "AWS_SECRET_ACCESS_KEY": "any",
        }
        stack.enter_context(environment(environ))
        account, port = Account(ec2), free_port()
        settings = replace(
            SETTINGS,
            machines="ec2",
            region=ec2.region,
            pools=("m5.large.us-east-1b", "m5a.large.us-east-1a"),
            subnet_ids=tuple(account.subnets.values()),
            ami_id=account.image,
            agent_server_urls=(f"http://127.0.0.1:{port}",),
            enrolment_key_file=str(folder / "key"),
        )
        server = stack.enter_context(running(folder, settings, port=port))
        shop = tenant(server, "shop")
        names = [f"g-{n}" for n in range(GROUPS)]
        for name in names:
            wanted = {"agent_id": name, "settings": {"standbys": 0}}
            assert server.call(NEW_AGENT, shop.token, wanted).http_status == 200
        fleets = [stack.enter_context(Fleet(server, shop, name, 1)) for name in names]
        return [asked_after_s(fleet, account) for fleet in fleets]


def asked_after_s(fleet: Fleet, account: Account) -> float:
    primary = fleet.serving()
    before = launched(account)
    began_s = time.perf_counter()
    assert primary.notice().http_status == 200
    while launched(account) == before:
        assert time.perf_counter() - began_s < PATIENCE_S, "no launch was asked for"
        time.sleep(LOOK_EVERY_S)
    return time.perf_counter() - began_s


def launched(account: Account) -> int:
    found: Mapping[str, Any] = account.api.describe_instances()
    return sum(len(reservation["Instances"]) for reservation in found["Reservations"])


@contextmanager
def environment(names: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
