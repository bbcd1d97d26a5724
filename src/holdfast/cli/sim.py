"""`holdfast sim`: one seed, replayed bit for bit."""

import json

import click

from holdfast.sim.living import HEALING_H, live, live_badly


@click.command(name="sim")
@click.option(
    "--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Which history to live."
)
@click.option(
    "--hours",
    type=click.FloatRange(min=0, min_open=True),
    default=24.0,
    show_default=True,
    help=f"Virtual hours of faults; {HEALING_H:g} hours of healing follow.",
)
@click.option("--bad-days", is_flag=True, help="Only the fleet, on its bad days.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def command(seed: int, hours: float, bad_days: bool, as_json: bool) -> None:
    """Live through one seed of the simulated world, and judge it.

    The same seed gives the same history, bit for bit: the digest tells.  Exit code 1 if
    an invariant broke, or something had not healed at the end.
    """
    lived = live_badly(seed, hours) if bad_days else live(seed, hours)
    struck: dict[str, int] = {}
    for (_, fate), count in sorted(lived.suffered.items()):
        struck[fate] = struck.get(fate, 0) + count
    figures = {
        "seed": seed,
        "hours": hours,
        "digest": f"{lived.digest:08x}",
        "actions": lived.actions,
        "faults": struck,
        "accidents": lived.accidents,
        "unhealed": lived.unhealed,
    }
    if as_json:
        click.echo(json.dumps(figures, indent=2))
    else:
        click.echo(f"seed {seed}, {hours:g} virtual hours, digest {figures['digest']}")
        for name, count in lived.actions.items():
            click.echo(f"  {name:22} {count:6} {'action' if count == 1 else 'actions'}")
        for fate, count in struck.items():
            click.echo(f"  {fate:22} {count:6} {'fault' if count == 1 else 'faults'}")
        click.echo(lived.complaint() or "nothing broke, and everything healed")
    if lived.complaint():
        raise SystemExit(1)
