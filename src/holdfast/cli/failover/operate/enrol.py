"""`holdfast failover enrol`."""

import json
from pathlib import Path
from typing import Any

import click

from holdfast.cli.failover.api import Api, Refused
from holdfast.cli.failover.session import Id, agent, check_writable, dry_run, secret_file, session
from holdfast.cli.session import options, say, say_json
from holdfast.cli.times import Hours
from holdfast.failover.api.codes import Code
from holdfast.failover.api.operations import AGENTS, ENROL, NEW_AGENT


@click.command(name="enrol")
@options
@agent
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Where to write the token.")
@dry_run
@click.option("--instance", type=Id(), help="Only this instance may use it.  [default: any one]")
@click.option("--hours", type=Hours(0.01, 720), default=1.0, show_default=True, help="Valid so long.")
def command(
    config: Path | None,
    as_json: bool,
    agent_id: str,
    out: Path,
    instance: str | None,
    hours: float,
    dry_run: bool,
) -> None:
    """Make a one-time token with which one instance joins the group AGENT, and the group if it is new.

    The file is written so that its owner alone may read it.  Bring it to the machine, and name it in
    `holdfast failover agent --enrol FILE`.

    \b
    Example:
      holdfast failover enrol db --out db-1.enrol
    """
    with session(config, as_json, warns=False) as ours:
        api = ours.api()
        if dry_run:
            _try(api, agent_id, out, as_json)
            return
        with secret_file(out) as write:
            made = _enrolment(api, agent_id, {"instance_id": instance, "expires_in_s": hours * 3_600})
            enrolment = {"agent_id": agent_id, "token": made["token"], "instance_id": made["instance_id"]}
            write(json.dumps({name: value for name, value in enrolment.items() if value}))
        if as_json:
            say_json({"agent_id": agent_id, "file": str(out), "expires_in_s": hours * 3_600})
        else:
            say(f"{out} lets one instance join {agent_id}; it is valid for {hours:g} h, and once.")


def _try(api: Api, agent_id: str, out: Path, as_json: bool) -> None:
    groups = [group["agent_id"] for group in api.call(AGENTS)]
    check_writable(out)
    if as_json:
        say_json({"agent_id": agent_id, "file": str(out), "new": agent_id not in groups, "dry_run": True})
    else:
        made = "" if agent_id in groups else f", and the group {agent_id} would be made"
        say(f"{out} would let one instance join {agent_id}{made}.")


def _enrolment(api: Api, agent_id: str, body: dict[str, object]) -> Any:
    try:
        return api.call(ENROL, body, agent_id=agent_id)
    except Refused as refused:
        if refused.code != Code.NOT_FOUND:
            raise
    api.call(NEW_AGENT, {"agent_id": agent_id})
    return api.call(ENROL, body, agent_id=agent_id)
