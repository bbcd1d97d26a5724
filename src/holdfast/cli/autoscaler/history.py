"""`holdfast autoscaler history`."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.events import AutoscalerEvent
from holdfast.autoscaler.report.messages import figures, kinds_called, severity, told
from holdfast.cli.autoscaler.session import session
from holdfast.cli.session import busy, options, say, say_json
from holdfast.cli.times import gone_by
from holdfast.kernel import Logged
from holdfast.settings.near_misses import KnownNames

LIMIT = 30
LEAST = 5
"""So many are shown on the smallest of screens."""
FIRST_SPAN = 200
"""Versions, of about two events each."""


@click.command(name="history")
@options
@click.option("--since", "since_s", callback=gone_by, help="A duration back or a time: 2h, 1d, 14:30.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    help=f"At most so many, the newest.  [default: what fits a screen; {LIMIT} with --json]",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    help="Only events of this kind: its stored name, or the words printed here.  Repeatable.",
)
def command(
    config: Path | None, as_json: bool, since_s: float, limit: int | None, kinds: tuple[str, ...]
) -> None:
    """Say what happened and why, from the log that is written together with the record.

    It reads the log alone: neither the cloud nor the cluster is asked.  `lockTaken` and
    `lockReleased` are left out unless --kind names them.

    \b
    Example:
      holdfast autoscaler history --since 2h
      holdfast autoscaler history --kind terminating --kind "scale-up failed" --limit 100
    """
    most = limit or LIMIT
    called = {words: kinds_called(words) or frozenset({words}) for words in kinds}
    wanted = frozenset[str]().union(*called.values())
    with session(config, as_json, warns=False) as ours, ours.stores() as stores:
        with busy("reading the log"):
            record = stores.store.read(SUBJECT)
            every = newest(
                lambda after: stores.store.events(SUBJECT, after),
                record.version,
                lambda read: (
                    len(chosen(read, since_s, wanted)) > most or bool(read and read[0].event.at_s < since_s)
                ),
            )
        found = chosen(every, since_s, wanted)
        if kinds and not found:
            known = sorted({logged.event.kind for logged in every} - wanted)
            say(
                f"No event of that kind{_meant(kinds)}  The log has: {', '.join(known) or 'none yet'}",
                err=True,
            )
        if as_json:
            say_json([as_json_row(logged) for logged in found[-most:]])
            return
        from holdfast.cli.autoscaler.views.history import screen
        from holdfast.cli.render import fits, show

        while True:
            hidden = max(0, len(found) - most)
            drawn = screen(record.value, ours.settings, every, found[-most:], hidden=hidden)
            if limit or most <= LEAST or fits(drawn):
                break
            most = min(most, len(found)) - 1
        show(drawn)


def _meant(kinds: Sequence[str]) -> str:
    """Which kind a mistyped word may stand for."""
    names = KnownNames([kind.value for kind in AutoscalerEvent])
    near = [names.nearest(words) for words in kinds if not kinds_called(words)]
    return f"; did you mean {', '.join(filter(None, near))}?" if any(near) else "."


def newest(
    read: Callable[[int], Sequence[Logged]], version: int, enough: Callable[[Sequence[Logged]], bool]
) -> Sequence[Logged]:
    """Read back from the end of the log until it is enough: three months of it are many pages."""
    span = FIRST_SPAN
    while True:
        after = max(0, version - span)
        found = read(after)
        if not after or enough(found):
            return found
        span *= 8


def chosen(events: Sequence[Logged], since_s: float, kinds: frozenset[str]) -> list[Logged]:
    """Those that were asked for, in order."""
    return [
        logged
        for logged in events
        if logged.event.at_s >= since_s
        and (logged.event.kind in kinds if kinds else not logged.event.kind.startswith("lock"))
    ]


def as_json_row(logged: Logged) -> dict[str, Any]:
    event = logged.event
    return {
        "version": logged.version,
        "n": logged.n,
        "commit_id": logged.commit_id,
        "at_s": event.at_s,
        "kind": event.kind,
        "about": event.about,
        "reason": event.reason,
        "code": event.code,
        "severity": severity(event),
        "numbers": dict(event.numbers),
        "told": told(event),
        "figures": figures(event),
    }
