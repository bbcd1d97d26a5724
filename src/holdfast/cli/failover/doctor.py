"""`holdfast failover doctor`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.doctor import answer, examine
from holdfast.cli.session import options

if TYPE_CHECKING:
    from holdfast.app.doctor import Check
    from holdfast.failover.settings import Settings


@click.command(name="doctor")
@options
def command(config: Path | None, as_json: bool) -> None:
    """Check settings, database, server, token and every group, and say how to mend what is wrong.

    Nothing is changed, but that the database's schema is brought up to date.  Exit code 1 if something is
    wrong, 2 if the settings are.
    """
    from holdfast.failover.settings.load import load

    answer(examine(config, load, _questions), as_json)


def _questions(settings: "Settings") -> "Iterator[Check]":
    yield from _database(settings)
    yield from _notices(settings)
    yield from _server(settings)


def _database(settings: "Settings") -> "Iterator[Check]":
    from holdfast.app.doctor.check import tried
    from holdfast.app.failover.stores import open_stores

    def reached() -> str:
        with open_stores(settings) as stores:
            clients = len(stores.tenants.clients())
            known = "1 client" if clients == 1 else f"{clients} clients"
            several = [agent for agent, count in stores.tenants.more_than_one_primary().items() if count > 1]
        assert not several, f"two primaries of {', '.join(several)}: the schema forbids it"
        return f"{stores.where}: its schema is up to date, its commits are durable; {known}"

    yield tried("database", "database", reached, "check the address, the user and its grants in `database`")


def _notices(settings: "Settings") -> "Iterator[Check]":
    from holdfast.app.doctor.check import tried
    from holdfast.app.failover.wiring import notice_queue

    if not settings.notice_queue_url:
        return
    name = settings.notice_queue_url.rpartition("/")[2]
    yield tried(
        "notices",
        f"queue {name}",
        lambda: f"about {notice_queue(settings).waiting()} messages wait",
        "grant sqs:ReceiveMessage, DeleteMessage and GetQueueAttributes on it, or mend notice_queue_url",
    )


def _server(settings: "Settings") -> "Iterator[Check]":
    from holdfast.app.doctor import Check
    from holdfast.app.doctor.check import tried
    from holdfast.cli.failover.api import Api
    from holdfast.cli.failover.session import read_token
    from holdfast.failover.api.operations import AGENTS
    from holdfast.kernel import HoldfastError

    try:
        api = Api(settings.server, read_token(settings.token_file), settings.ca_file)
        groups = api.call(AGENTS)
    except HoldfastError as error:
        yield Check("server", "server", False, str(error), "start one: `holdfast failover server`")
        return
    yield tried("server", "server", lambda: f"{settings.server} answers, and takes the token")
    for group in groups:
        trouble = "" if group["healthy"] else (group["degraded"] or {}).get("reason") or "no standby is ready"
        fix = f"`holdfast failover why {group['agent_id']}` says more" if trouble else ""
        yield Check("groups", group["agent_id"], not trouble, trouble or f"{group['primary']} serves", fix)
