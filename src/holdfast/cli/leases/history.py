"""`holdfast leases history`."""

from pathlib import Path
from typing import Any

import click

from holdfast.cli.leases.session import session
from holdfast.cli.session import busy, options, say_json
from holdfast.cli.times import gone_by
from holdfast.kernel import Event, EventKind, Logged, Severity

LIMIT = 30


@click.command(name="history")
@options
@click.option("--since", "since_s", callback=gone_by, help="A duration back or a time: 2h, 1d, 14:30.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=LIMIT,
    show_default=True,
    help="At most so many, the newest.",
)
@click.option(
    "--kind", "kinds", multiple=True, help="Only events of this kind, such as shardsUnread.  Repeatable."
)
def command(config: Path | None, as_json: bool, since_s: float, limit: int, kinds: tuple[str, ...]) -> None:
    """Say how the cap changed, by whom and why, from the log that is written together with it.

    \b
    Example:
      holdfast leases history --since 2h
      holdfast leases history --kind shardsUnread --json
    """
    from holdfast.app.leases import open_store
    from holdfast.leases.cap import coordinator

    with session(config, as_json) as ours, open_store(ours.settings) as opened:
        with busy("reading the log"):
            every = opened.store.events(coordinator(ours.settings.app_name))
        found = [
            logged
            for logged in every
            if logged.event.at_s >= since_s and (not kinds or logged.event.kind in kinds)
        ]
        if kinds and not found:
            known = sorted({str(logged.event.kind) for logged in every})
            click.echo(f"No event of that kind.  The log has: {', '.join(known) or 'none yet'}", err=True)
        if as_json:
            say_json([as_json_row(logged) for logged in found[-limit:]])
            return
        from holdfast.cli.leases.views.history import screen
        from holdfast.cli.render import show

        show(screen(found[-limit:], hidden=max(0, len(found) - limit), empty=not every))


def kind_named(name: str) -> EventKind | None:
    """Its row in the table of kinds; None for one of a newer release."""
    from holdfast.leases.events import LeaseEvent

    return next((kind for kind in LeaseEvent if kind == name), None)


def kind_of(event: Event) -> EventKind | None:
    return kind_named(str(event.kind))


def as_json_row(logged: Logged) -> dict[str, Any]:
    event, kind = logged.event, kind_of(logged.event)
    return {
        "version": logged.version,
        "n": logged.n,
        "commit_id": logged.commit_id,
        "at_s": event.at_s,
        "kind": str(event.kind),
        "about": event.about,
        "reason": event.reason,
        "severity": str(kind.severity if kind else Severity.INFO),
        "numbers": dict(event.numbers),
        "told": kind.told(event.about) if kind else str(event.kind),
    }
