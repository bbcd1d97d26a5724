"""`holdfast failover server`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from holdfast.cli.failover.session import session
from holdfast.cli.session import log_format, options


@click.command(name="server")
@options
@click.option("--database", help="sqlite:FILE, mysql://… or postgresql://…  [default: the setting]")
@click.option("--listen", help="ADDRESS:PORT  [default: the setting]")
@click.option("--tls-cert", help="The certificate's file; needed but for loopback.")
@click.option("--tls-key", help="The key's file.")
@click.option("--accept-weak-durability", is_flag=True, help="Start although commits may be lost in a crash.")
@log_format
def command(
    config: Path | None,
    as_json: bool,
    database: str | None,
    listen: str | None,
    tls_cert: str | None,
    tls_key: str | None,
    accept_weak_durability: bool,
    log_format: str,
) -> None:
    """Serve agents and operators, and drive the groups.  SIGTERM or Ctrl-C ends it within seconds.

    Start as many as you like on one database: none is the leader, and any may be killed at any moment.
    With --json, log lines are JSON.

    \b
    Example:
      holdfast failover server --database sqlite:failover.db
      holdfast failover server --listen 0.0.0.0:7400 --tls-cert server.pem --tls-key server.key
    """
    given: dict[str, Any] = {
        "database": database,
        "listen": listen,
        "tls_cert": tls_cert,
        "tls_key": tls_key,
        "accept_weak_durability": accept_weak_durability or None,
    }
    with session(config, as_json) as ours:
        from holdfast.adapters.logs import set_up
        from holdfast.failover.settings.load import checked

        chosen = {name: value for name, value in given.items() if value is not None}
        settings = checked(replace(ours.settings, **chosen))
        set_up("json" if as_json else log_format)
        from holdfast.server.serve import serve

        serve(settings)
