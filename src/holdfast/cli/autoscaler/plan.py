"""`holdfast autoscaler plan`."""

from pathlib import Path

import click

from holdfast.cli.autoscaler.session import busy, me, options, say_json, session


@click.command(name="plan")
@options
def command(config: Path | None, as_json: bool) -> None:
    """Say what would be done now, and why.  Nothing is touched, and nothing is written.

    It shows the next step; what comes after that depends on what this one brings.

    \b
    Example:
      holdfast autoscaler plan
    """
    from holdfast.autoscaler.codec import SUBJECT
    from holdfast.autoscaler.report.foresee import foresee

    with session(config, as_json) as ours:
        with busy("looking around"):
            autoscaler = ours.autoscaler()
            cluster = autoscaler.store.read(SUBJECT).value
            sight = autoscaler.sight(me("plan"))
        foreseen = foresee(cluster, sight, autoscaler.settings, autoscaler.clock.now_s())
        decision = foreseen.decision.word
        if as_json:
            say_json(
                {
                    "decision": decision,
                    "why": foreseen.decision.why,
                    "steps": list(foreseen.steps),
                    "hopeless": list(sight.hopeless),
                    "troubles": list(sight.troubles),
                }
            )
            return
        click.secho(decision, bold=True, nl=False)
        click.echo(f": {foreseen.decision.why}")
        for step in foreseen.steps or ("nothing to do",):
            click.echo(f"  {step}")
        for trouble in (*sight.troubles, *sight.hopeless):
            click.secho(f"  ! {trouble}", fg="yellow")
        click.echo("Nothing was touched.")
