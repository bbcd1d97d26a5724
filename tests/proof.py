"""Figures that stand behind the invariants: each test adds its own, the run prints them together."""

import json
import os
import shutil
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.invariants import INVARIANTS, VARIANTS_REQUIRED, Invariant

BUILD = Path(__file__).parent.parent / "build"
IN_VAIN = "economy: "
YEAR_H = 8_760
Rows = list[dict[str, Any]]


def folder() -> Path:
    """One for each run, so that runs side by side do not mix their figures."""
    return BUILD / "proof.d" / os.environ.get("HOLDFAST_PROOF", "alone")


def prove(kind: str, subject: str, **figures: Any) -> None:
    """Note a figure of this run: `prove("crash", "scale-down", schedules=5734)`."""
    folder().mkdir(parents=True, exist_ok=True)
    row = {"kind": kind, "subject": subject, **figures}
    part = folder() / f"{os.getpid()}-{uuid.uuid4().hex[:8]}.tmp"
    part.write_text(json.dumps(row))
    part.rename(part.with_suffix(".json"))


def forget() -> None:
    shutil.rmtree(folder(), ignore_errors=True)


def collect() -> dict[str, Any]:
    """All figures of the run, added up."""
    rows: Rows = [json.loads(path.read_text()) for path in sorted(folder().glob("*.json"))]
    of = {
        kind: [row for row in rows if row["kind"] == kind] for kind in sorted({row["kind"] for row in rows})
    }
    fleet = of.pop("fleet", [])
    of["fleet"] = [row for row in fleet if row["subject"] == "scaling"]

    def total(kind: str, figure: str) -> dict[str, int]:
        added: Counter[str] = Counter()
        for row in of.get(kind, []):
            added[row["subject"]] += row[figure]
        return dict(sorted(added.items()))

    actions: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    for row in of.get("sim", []):
        actions.update(row["actions"])
        faults.update(row["suffered"])
    hours = sum(row["hours"] for row in of.get("sim", []))
    return {
        "crash_schedules": total("crash", "schedules"),
        "states_explored": total("explore", "states"),
        "explored": of.get("explore", []),
        "virtual_hours": hours,
        "hours_lived": {**total("sim", "hours"), **total("fleet", "hours"), **total("alone", "hours")},
        "actions_per_virtual_day": {name: round(24 * n / hours, 1) for name, n in sorted(actions.items())}
        if hours
        else {},
        "faults_by_phase": dict(sorted(faults.items())),
        "launches_in_vain": {
            row["subject"].removeprefix(IN_VAIN): {"asked": row["asked"], "launched": row["launches"]}
            for row in fleet
            if row["subject"].startswith(IN_VAIN)
        },
        "promises_kept": total("contract", "promises"),
        "operations_linearizable": total("linear", "operations"),
        "operations_with_lost_answers": total("linear", "lost"),
        "kills_survived": total("kill9", "kills"),
        "kills_inside_a_commit": total("kill9", "inside_a_commit"),
        "kills_by_phase": {row["subject"]: row["phases"] for row in of.get("kill9", []) if "phases" in row},
        "notices_survived": total("notices", "notices"),
        "variants_caught": {row["subject"]: row["caught_by"] for row in of.get("variant", [])},
    }


def keep(figures: dict[str, Any], *, afresh: bool) -> None:
    """Write them to `build/proof.json`.  A run of some tests adds to what the whole run has left there."""
    file = BUILD / "proof.json"
    kept: dict[str, Any] = {} if afresh or not file.exists() else json.loads(file.read_text())
    for name, found in figures.items():
        kept[name] = _beside(kept[name], found) if name in kept else found
    file.write_text(json.dumps(kept, indent=2) + "\n")


def _beside(kept: Any, found: Any) -> Any:
    """Two runs may have had tests in common, so counts are not added up: the greater one is true of both."""
    if isinstance(kept, dict) and isinstance(found, dict):
        return {**kept, **{name: _beside(kept[name], n) if name in kept else n for name, n in found.items()}}
    if isinstance(kept, list) and isinstance(found, list):
        return kept + [row for row in found if row not in kept]
    if isinstance(kept, int) and isinstance(found, int):
        return max(kept, found)
    return found


def missing(proof: dict[str, Any]) -> list[str]:
    """What `make deep` must show, and this run does not."""
    wants = [
        *((f"crash schedules of {w}", proof["crash_schedules"].get(w, 0), n) for w, (n, _) in WANTED.items()),
        *((f"states explored of {w}", proof["states_explored"].get(w, 0), n) for w, (_, n) in WANTED.items()),
        ("virtual hours", proof["virtual_hours"], YEAR_H),
        ("virtual hours of the agreement alone", proof["hours_lived"].get("agreement", 0), YEAR_H),
        ("operations checked for linearizability", sum(proof["operations_linearizable"].values()), 20_000),
        ("operations with lost answers", sum(proof["operations_with_lost_answers"].values()), 1),
        ("kills survived", sum(proof["kills_survived"].values()), 200),
    ]
    short = [f"{what}: {have:,} of at least {want:,}" for what, have, want in wants if have < want]
    return [*short, *not_caught(proof)]


def not_caught(proof: dict[str, Any]) -> list[str]:
    """The required broken variants that no test of this run has caught; `make test` runs all of them."""
    caught = {name.split(":")[0] for name in proof["variants_caught"]}
    return [f"broken variant {v} was not caught" for v in VARIANTS_REQUIRED if v not in caught]


WANTED = {
    "scale-down": (5_000, 20_000),
    "scale-up": (5_000, 20_000),
    "interruption": (5_000, 20_000),
    "whole": (4_000, 20_000),
    "takeover": (5_000, 20_000),
    "failed promotion": (5_000, 0),
    "switch": (5_000, 0),
    "launch": (5_000, 0),
    "departure": (5_000, 0),
    "agreement": (5_000, 20_000),
}
"""Crash schedules and states explored that `make deep` shows at least of each."""


def caught_by(invariant: Invariant, caught: Iterable[str]) -> list[str]:
    """The titles of its variants."""
    return [title for title in caught if title.startswith(invariant.variants)]


def _codes(titles: Iterable[str]) -> str:
    """What they are called before the colon; some have no such name."""
    return " ".join(sorted({title.partition(":")[0] for title in titles if ":" in title}))


def _row(invariant: Invariant, proof: dict[str, Any]) -> str:
    def added(figure: str, subjects: tuple[str, ...]) -> int:
        return sum(proof[figure].get(subject, 0) for subject in subjects)

    figures = (
        added("crash_schedules", invariant.searched),
        added("states_explored", invariant.searched),
        added("hours_lived", invariant.lived),
    )
    columns = "".join(f"{figure:>10,}" if figure else f"{'-':>10}" for figure in figures)
    titles = caught_by(invariant, proof["variants_caught"])
    shown = f"{len(titles):>4}  {_codes(titles)}" if titles else f"{'-':>4}"
    return f"{invariant.name} {invariant.sentence}".ljust(60) + columns + shown


def lines(proof: dict[str, Any]) -> Iterator[str]:
    """The closing table."""
    yield f"{'invariant':<60}{'schedules':>10}{'states':>10}{'hours':>10}  variants caught"
    yield from (_row(invariant, proof) for invariant in INVARIANTS)
    caught = list(proof["variants_caught"])
    yield ""
    promises, operations = proof["promises_kept"], proof["operations_linearizable"]
    yield f"repositories: {sum(promises.values())} promises kept by {len(promises)} implementations"
    lost = sum(proof["operations_with_lost_answers"].values())
    yield f"operations checked for linearizability: {sum(operations.values()):,}, {lost:,} with lost answers"
    inside = sum(proof["kills_inside_a_commit"].values())
    yield f"kills survived: {sum(proof['kills_survived'].values())}, {inside} of them inside a commit"
    for subject, phases in proof["kills_by_phase"].items():
        yield f"  {subject}: " + ", ".join(f"{n} in {phase}" for phase, n in phases.items())
    for subject, notices in proof["notices_survived"].items():
        yield f"notices at once, {subject}: {notices}"
    for trouble, calls in proof["launches_in_vain"].items():
        yield f"launches in vain, {trouble}: {calls['asked']} requests, {calls['launched']} answered"
    required = sum(any(title.startswith(f"{v}:") for title in caught) for v in VARIANTS_REQUIRED)
    yield f"broken variants caught: {len(caught)}; required: {required} of {len(VARIANTS_REQUIRED)}"
    rate = ", ".join(f"{name} {n}" for name, n in proof["actions_per_virtual_day"].items())
    yield f"busy virtual hours: {proof['virtual_hours']:,}; actions a virtual day: {rate}"
    yield from _faults(proof["faults_by_phase"])


def _faults(by_phase: dict[str, int]) -> Iterator[str]:
    if not by_phase:
        return
    split = {tuple(key.rsplit(": ", 1)): n for key, n in by_phase.items()}
    fates = sorted({fate for _, fate in split})
    yield ""
    yield "faults by phase".ljust(24) + "".join(f"{fate:>14}" for fate in fates)
    for phase in sorted({phase for phase, _ in split}):
        yield phase.ljust(24) + "".join(f"{split.get((phase, fate), 0):>14,}" for fate in fates)
