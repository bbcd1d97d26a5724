"""`holdfast failover migrate`."""

from dataclasses import replace
from pathlib import Path

import click

from holdfast.cli.failover.session import dry_run, session
from holdfast.cli.session import busy, options, say, say_json


@click.command(name="migrate")
@options
@dry_run
@click.option("--database", help="sqlite:FILE, mysql://… or postgresql://…  [default: the setting]")
def command(config: Path | None, as_json: bool, database: str | None, dry_run: bool) -> None:
    """Bring the database's schema up to date, and say which groups need a person.

    A server does this when it starts.  It may run twice, and on two machines at once.  Tables of the
    design that we began from are taken over with their data; a group with two primaries is degraded, and
    an operator chooses between them.

    \b
    Example:
      holdfast failover migrate --database postgresql://holdfast@db/failover
    """
    with session(config, as_json, warns=False) as ours:
        from holdfast.app.failover.stores import open_stores
        from holdfast.failover.settings.load import checked

        chosen = checked(replace(ours.settings, database=database or ours.settings.database))
        if dry_run:
            _tell_pending(chosen.database, as_json)
            return
        with busy("bringing the schema up to date"), open_stores(chosen) as stores:
            degraded = [
                {"client_id": client.client_id, "agent_id": agent_id, "reason": group.degraded.reason}
                for client in stores.tenants.clients()
                for agent_id in stores.tenants.agents(client.client_id)
                if (group := stores.groups.read(f"{client.client_id}/{agent_id}").value).degraded
            ]
            where = stores.where
        if as_json:
            say_json({"database": where, "degraded": degraded})
            return
        say(f"{where}: the schema is up to date.")
        for row in degraded:
            say(f"{row['client_id']}/{row['agent_id']} has no primary: {row['reason']}")


def _tell_pending(database: str, as_json: bool) -> None:
    from holdfast.adapters.sql.opening import pending

    where, names = pending(database)
    if as_json:
        say_json({"database": where, "pending": names, "dry_run": True})
    elif names:
        say(f"{where}: {len(names)} migrations would be applied: {', '.join(names)}")
    else:
        say(f"{where}: the schema is up to date.")
