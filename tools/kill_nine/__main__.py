"""`python -m tools.kill_nine`: hunt, judge, say what was seen; the exit code is 1 if anything was lost."""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tools.kill_nine.hunt import Hunt
from tools.kill_nine.judge import commit_ids

WORKERS = ["w-1", "w-2", "w-3", "w-4"]


def main() -> int:
    words = argparse.ArgumentParser(prog="python -m tools.kill_nine", description=__doc__)
    words.add_argument("--kills", type=int, default=200)
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--json", action="store_true", help="the summary as JSON")
    words.add_argument("--file", type=Path, help="the database; a temporary one unless given")
    asked = words.parse_args()
    with tempfile.TemporaryDirectory(prefix="holdfast-kill-nine-") as folder:
        found = summary(str(asked.file or Path(folder) / "state.db"), asked.kills, asked.seed)
    print(json.dumps(found, indent=2) if asked.json else told(found))
    return 1 if found["problems"] else 0


def summary(path: str, kills: int, seed: int) -> dict[str, Any]:
    began_s = time.monotonic()
    hunt = Hunt(path, WORKERS, seed)
    problems = hunt.run(kills)
    landed = hunt.cut_short.intersection(commit_ids(path).values())
    return {
        "seed": seed,
        "seconds": round(time.monotonic() - began_s, 1),
        "kills": hunt.kills.total(),
        "inside_a_commit": hunt.kills["inside"],
        "landed_unacknowledged": len(landed),
        "between_commits": hunt.kills["between"],
        "while_starting": hunt.kills["starting"],
        "all_at_once": hunt.all_at_once,
        "tried": hunt.outcomes["begin"],
        "acknowledged": len(hunt.acknowledged),
        "conflicts": hunt.outcomes["Conflict"],
        "busy": hunt.outcomes["Busy"] + hunt.outcomes["busy"],
        "problems": problems,
    }


def told(found: dict[str, Any]) -> str:
    lines = [
        f"{found['kills']} kills in {found['seconds']} s (seed {found['seed']}):"
        f" {found['inside_a_commit']} inside a commit, of which {found['landed_unacknowledged']} had landed;"
        f" {found['between_commits']} between commits; {found['while_starting']} while starting;"
        f" {found['all_at_once']} times all workers at once",
        f"{found['acknowledged']} commits acknowledged of {found['tried']} tried,"
        f" {found['conflicts']} conflicts, {found['busy']} busy",
    ]
    return "\n".join([*lines, *(found["problems"] or ["nothing acknowledged was lost, nothing torn"])])


if __name__ == "__main__":
    sys.exit(main())
