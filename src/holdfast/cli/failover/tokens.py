"""`clients tokens` and `clients end-token`: which tokens a client has, and an end to one of them."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from holdfast.cli.failover.session import Id, dry_run, session
from holdfast.cli.session import options, say, say_json
from holdfast.cli.times import clock
from holdfast.failover.tenants import Token
from holdfast.kernel import Invalid

client = click.argument("client_id", metavar="CLIENT", type=Id())


@click.command(name="tokens")
@options
@client
def list_tokens(config: Path | None, as_json: bool, client_id: str) -> None:
    """Show the tokens of CLIENT by their ids: a secret is stored nowhere."""
    with session(config, as_json, warns=False) as ours:
        from holdfast.app.failover.stores import open_stores

        with open_stores(ours.settings) as stores:
            found = _tokens(stores, client_id)
        if as_json:
            say_json([_shown(token) for token in found])
            return
        from holdfast.cli.render import columns, show

        table = columns("TOKEN", "KIND", "FOR", "MADE", "EXPIRES")
        for token in found:
            holder = "/".join(filter(None, (token.agent_id, token.instance_id)))
            made, expires = (clock(at_s)[:10] for at_s in (token.created_s, token.expires_s))
            table.add_row(token.token_id, token.kind, holder, made, expires)
        show(table)


@click.command(name="end-token")
@options
@dry_run
@client
@click.argument("token_id", metavar="TOKEN", type=Id())
def end_token(config: Path | None, as_json: bool, client_id: str, token_id: str, dry_run: bool) -> None:
    """End the token TOKEN of CLIENT, as when it has leaked.  Every server refuses it within seconds.

    Make another one first: then no operator is without.  An agent holder token was ended serves on under its
    lease, and needs a new enrolment.

    \b
    Example:
      holdfast failover clients token shop --out new.token
      holdfast failover clients tokens shop
      holdfast failover clients end-token shop 7c646910141b9038
    """
    with session(config, as_json, warns=False) as ours:
        from holdfast.app.failover.stores import open_stores

        with open_stores(ours.settings) as stores:
            found = next((each for each in _tokens(stores, client_id) if each.token_id == token_id), None)
            ended = found is not None and (dry_run or stores.tenants.end_token(client_id, token_id))
        if found is None or not ended:
            raise Invalid(
                f"TOKEN = {token_id!r}: {client_id} has none of that id; `holdfast failover clients tokens "
                f"{client_id}` lists them"
            )
        if as_json:
            say_json({**_shown(found), "ended": not dry_run, "dry_run": dry_run})
        else:
            will = "would be ended" if dry_run else "is ended: it opens nothing within seconds"
            say(f"Token {token_id} of kind {found.kind} {will}.")


def _tokens(stores: Any, client_id: str) -> list[Token]:
    if stores.tenants.client(client_id) is None:
        raise Invalid(f"CLIENT = {client_id!r}: there is none; `holdfast failover clients list` shows all")
    return list(stores.tenants.tokens(client_id))


def _shown(token: Token) -> dict[str, Any]:
    """Everything but the digest, which is of no use to a person."""
    return {name: value for name, value in asdict(token).items() if name != "digest"}
