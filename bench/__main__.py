"""`python -m bench`: run every benchmark, print the ratios, and fail if a target is missed.

`--against COMMIT` compares the function with that of an older commit instead; `--only NAME` runs one.
"""

import argparse
import json
import platform
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import bench
from bench import Row

REPORT = Path("build") / "bench.json"


def modules() -> list[str]:
    found = (each.name for each in walk_packages(bench.__path__, "bench.") if not each.ispkg)
    return [name for name in found if not name.startswith(("bench._", "bench.grounds."))]


def table(rows: list[Row]) -> Iterator[str]:
    wide, beside = max(len(row.what) for row in rows), max(len(row.beside) for row in rows)
    yield f"{'':{wide}}  {'ours':>11}  {'beside':>{beside + 12}}  ratio  at most"
    for row in rows:
        ours, theirs = _figure(row.ours_per_s, row.unit), _figure(row.beside_per_s, row.unit)
        figures = f"{ours}  {row.beside:>{beside}} {theirs}"
        demand = f"{row.ratio_max:.2f}" if row.ratio_max is not None else "-"
        verdict = "  MISSED" if row.missed else ""
        yield f"{row.what:{wide}}  {figures}  {row.ratio:5.2f}  {demand:>7}{verdict}"


def _figure(value: float, unit: str) -> str:
    """Small ones with what stands behind the point, so that they say something."""
    return f"{f'{value:,.{0 if value >= 20 else 2}f}{unit}':>11}"


def measured(argv: list[str]) -> list[Row]:
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("--against", metavar="COMMIT", help="compare with the function of this commit")
    parser.add_argument("--only", metavar="NAME", choices=[name.removeprefix("bench.") for name in modules()])
    asked = parser.parse_args(argv)
    if asked.against:
        from bench.grounds import against

        return against.run(asked.against)
    names = [f"bench.{asked.only}"] if asked.only else modules()
    return [row for name in names for row in import_module(name).run()]


def main() -> int:
    rows = measured(sys.argv[1:])
    for line in table(rows):
        print(line)
    REPORT.parent.mkdir(exist_ok=True)
    machine = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    report = {**machine, "rows": [{**asdict(row), "missed": row.missed} for row in rows]}
    REPORT.write_text(json.dumps(report, indent=2) + "\n")
    return 1 if any(row.missed for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
