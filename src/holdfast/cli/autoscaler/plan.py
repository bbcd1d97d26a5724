"""`holdfast autoscaler plan`."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from holdfast.cli.autoscaler.session import owner, session
from holdfast.cli.session import busy, options, say, say_json

if TYPE_CHECKING:
    from holdfast.autoscaler.report.machines import Bill


@click.command(name="plan")
@options
def command(config: Path | None, as_json: bool) -> None:
    """Say what would be done now, and why.  Nothing is touched, and nothing is written.

    It shows the next step; what comes after that depends on what this one brings.  Of machines that would
    be asked for it shows the price, and what the next best that hold the same pods would have cost.

    \b
    Example:
      holdfast autoscaler plan
    """
    from holdfast.autoscaler.codec import SUBJECT
    from holdfast.autoscaler.report.by_choice import consolidation, rotation_of
    from holdfast.autoscaler.report.preview import preview
    from holdfast.autoscaler.report.status import problems

    with session(config, as_json) as ours:
        with busy("looking around"):
            autoscaler = ours.autoscaler()
            cluster = autoscaler.store.read(SUBJECT).value
            snapshot = autoscaler.snapshot(owner("plan"), cluster)
        previewed = preview(cluster, snapshot, autoscaler.settings, autoscaler.clock.now_s())
        decision, to_mend = previewed.decision.word, problems(cluster, snapshot)
        now_s, by_choice = autoscaler.clock.now_s(), dict[str, str]()
        for name, says in (("consolidation", consolidation), ("rotation", rotation_of)):
            by_choice[name] = says(cluster, snapshot, autoscaler.settings, now_s)
        if as_json:
            say_json(
                {
                    "decision": decision,
                    "why": previewed.decision.why,
                    "steps": list(previewed.steps),
                    **previewed.bill.as_json(),
                    "unsatisfiable": list(snapshot.unsatisfiable),
                    "troubles": list(snapshot.troubles),
                    "problems": list(to_mend),
                    **by_choice,
                }
            )
            return
        say(decision, bold=True, nl=False)
        say(f": {previewed.decision.why}")
        for step in previewed.steps or ("nothing to do",):
            say(f"  {step}")
        _say_bill(previewed.bill)
        for name, said in by_choice.items():
            if not said.startswith("off"):
                say(f"{name}: {said}")
        for trouble in (*snapshot.troubles, *to_mend, *snapshot.unsatisfiable):
            say(f"  ! {trouble}", fg="yellow")
        say("Nothing was touched.")


def _say_bill(bill: "Bill") -> None:
    for machine in bill.machines:
        say(f"  {machine}")
    if bill.machines:
        other = "nothing else would hold the same pods"
        if any(machine.next_best for machine in bill.machines):
            other = f"the next best would have cost ${bill.next_best_usd:.4f}"
        say(f"  ${bill.usd:.4f} an hour together; {other}")
