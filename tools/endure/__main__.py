"""`python -m tools.endure`: rounds until the time is over; the exit code is 1 if anything is wrong."""

import argparse
import sys
import time
import traceback
from random import Random

from tools.endure.campaign import Campaign
from tools.endure.ground import start_ground
from tools.endure.load import Late
from tools.endure.phase import Phase
from tools.endure.shells import LambdaShell, LoopShell, Shell, TogetherShell
from tools.parts.part import Absent

SHELLS: dict[str, type[LoopShell | LambdaShell | TogetherShell]] = {
    "loop": LoopShell,
    "lambda": LambdaShell,
    "together": TogetherShell,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="make endure", description=__doc__)
    parser.add_argument("--hours", type=float, default=1.0, help="how long, of all shells together")
    parser.add_argument("--rounds", type=int, default=0, help="end after so many of each shell, if sooner")
    parser.add_argument("--shell", choices=[*SHELLS, "all"], default="all")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="draws the kills")
    asked = parser.parse_args()
    chosen = list(SHELLS) if asked.shell == "all" else [asked.shell]
    print(f"seed {asked.seed}, {asked.hours:g} h of {' and '.join(chosen)}", flush=True)
    try:
        done = [endure(name, asked.seed, asked.hours / len(chosen), asked.rounds) for name in chosen]
    except Absent as error:
        print(error, file=sys.stderr)
        return 1
    for line in table(done):
        print(line)
    return 1 if any(campaign.problems for campaign in done) else 0


def endure(name: str, seed: int, hours: float, rounds: int) -> Campaign:
    """One shell on ground of its own, for so long."""
    until_s = time.monotonic() + 3_600 * hours
    with start_ground() as ground:
        shell: Shell = SHELLS[name](ground)
        campaign = Campaign(
            ground,
            shell,
            Random(seed),
            tell=lambda line: print(f"{time.strftime('%X')} {name}: {line}", flush=True),
        )
        try:
            campaign.begin()
            while time.monotonic() < until_s and not (rounds and campaign.rounds >= rounds):
                campaign.round()
        except Late as late:
            campaign.problems.append(str(late))
        except Exception:
            campaign.problems.append(f"the campaign itself broke:\n{traceback.format_exc()}\n{shell.log()}")
        finally:
            campaign.stop()
        return campaign
    raise AssertionError("nothing above swallows an exception")


def table(done: list[Campaign]) -> list[str]:
    """Kills by phase and shell, and what was found wrong."""
    names = [campaign.shell.name for campaign in done]
    lines = ["", "kills in phase".ljust(28) + "".join(f"{name:>10}" for name in names)]
    for phase in Phase:
        lines.append(phase.ljust(28) + "".join(f"{campaign.kills[phase]:>10,}" for campaign in done))
    figures = {
        "all": [campaign.kills.total() for campaign in done],
        "of processes at work": [campaign.hunt.at_work for campaign in done],
        "rounds": [campaign.rounds for campaign in done],
        "machines launched": [campaign.launched for campaign in done],
        "machines taken back": [campaign.warned for campaign in done],
        "problems": [len(campaign.problems) for campaign in done],
    }
    for what, numbers in figures.items():
        lines.append(what.ljust(28) + "".join(f"{number:>10,}" for number in numbers))
    lines += ["", *(f"{c.shell.name}: {problem}" for c in done for problem in c.problems)]
    return lines if any(c.problems for c in done) else [*lines, "every machine and node is accounted for"]


if __name__ == "__main__":
    sys.exit(main())
