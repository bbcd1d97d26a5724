"""`holdfast failover clients`: works on the database itself, so it needs no token."""

from dataclasses import asdict
from pathlib import Path

import click

from holdfast.cli.failover.session import Id, check_writable, dry_run, secret_file, session
from holdfast.cli.failover.tokens import end_token, list_tokens
from holdfast.cli.session import now_s, options, say, say_json
from holdfast.cli.times import Days
from holdfast.failover.tenants import Client, TokenKind
from holdfast.kernel import Invalid

YEAR_S = 365 * 86_400.0


@click.group(name="clients")
def command() -> None:
    """Make clients and tokens, on the database that the settings name.

    A client is a tenant: its groups, instances and tokens are invisible to every other one.
    """


@command.command(name="add")
@options
@dry_run
@click.argument("client_id", metavar="CLIENT", type=Id())
@click.option("--name", default="", help="For people.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Where to write its token.  [default: token_file]"
)
@click.option("--launches-per-hour", type=click.IntRange(0, 10_000), default=20, show_default=True)
@click.option("--requests-per-second", type=click.IntRange(0, 100_000), default=200, show_default=True)
def add(
    config: Path | None,
    as_json: bool,
    client_id: str,
    name: str,
    out: Path | None,
    launches_per_hour: int,
    requests_per_second: int,
    dry_run: bool,
) -> None:
    """Make CLIENT, and write the token of its first operator into a file that only you may read."""
    with session(config, as_json, warns=False) as ours:
        from holdfast.app.failover.stores import open_stores
        from holdfast.server.tokens import issue

        path = out or Path(ours.settings.token_file)
        client = Client(
            client_id=client_id,
            name=name,
            launches_per_hour_max=launches_per_hour,
            requests_per_second_max=requests_per_second,
            created_s=now_s(),
        )
        secret, token = issue(TokenKind.OPERATOR, now_s=now_s(), expires_in_s=YEAR_S, client_id=client_id)
        taken = Invalid(f"CLIENT = {client_id!r} is there already: choose another id")
        with open_stores(ours.settings) as stores:
            if stores.tenants.client(client_id) is not None:
                raise taken
            if dry_run:
                check_writable(path)
            else:
                with secret_file(path) as write:
                    write(secret)
                    if not stores.tenants.add_client(client, token):
                        raise taken
        if as_json:
            say_json({**asdict(client), "token_file": str(path), "dry_run": dry_run})
        elif dry_run:
            say(f"Client {client_id} would be made; its operator's token would be in {path}.")
        else:
            say(f"Client {client_id} is made; its operator's token is in {path}.")


@command.command(name="list")
@options
def list_all(config: Path | None, as_json: bool) -> None:
    """Show all clients."""
    with session(config, as_json, warns=False) as ours:
        from holdfast.app.failover.stores import open_stores

        with open_stores(ours.settings) as stores:
            found = stores.tenants.clients()
        if as_json:
            say_json([asdict(client) for client in found])
            return
        from holdfast.cli.render import columns, show

        table = columns("CLIENT", "NAME", "LAUNCHES/H", "REQUESTS/S", right=("LAUNCHES/H", "REQUESTS/S"))
        for client in found:
            table.add_row(
                client.client_id,
                client.name,
                str(client.launches_per_hour_max),
                str(client.requests_per_second_max),
            )
        show(table)


@command.command(name="token")
@options
@dry_run
@click.argument("client_id", metavar="[CLIENT]", required=False, type=Id())
@click.option("--admin", is_flag=True, help="A token of the server's administrator, who makes clients.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Where to write it.")
@click.option("--days", type=Days(0.01, 3_650), default=365.0, show_default=True, help="Valid so long.")
def token(
    config: Path | None,
    as_json: bool,
    client_id: str | None,
    admin: bool,
    out: Path,
    days: float,
    dry_run: bool,
) -> None:
    """Write a further token of CLIENT, or of the administrator.  Older ones stay valid until they expire."""
    if admin == bool(client_id):
        raise click.UsageError("name a CLIENT, or give --admin")
    with session(config, as_json, warns=False) as ours:
        from holdfast.app.failover.stores import open_stores
        from holdfast.server.tokens import issue

        kind = TokenKind.ADMIN if admin else TokenKind.OPERATOR
        with open_stores(ours.settings) as stores:
            if client_id and stores.tenants.client(client_id) is None:
                raise Invalid(
                    f"CLIENT = {client_id!r}: there is none; `holdfast failover clients add` makes it"
                )
            secret, made = issue(kind, now_s=now_s(), expires_in_s=days * 86_400, client_id=client_id or "")
            if dry_run:
                check_writable(out)
            else:
                with secret_file(out) as write:
                    write(secret)
                    stores.tenants.add_token(made)
        if as_json:
            token_id = None if dry_run else made.token_id
            told = {"token_id": token_id, "kind": kind, "file": str(out), "expires_s": made.expires_s}
            say_json({**told, "dry_run": dry_run})
        elif dry_run:
            say(f"{out} would have a token of kind {kind}, valid for {days:g} days.")
        else:
            say(f"{out} has a token of kind {kind}, valid for {days:g} days.")


command.add_command(list_tokens)
command.add_command(end_token)
