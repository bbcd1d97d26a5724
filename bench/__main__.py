"""`python -m bench`: run every benchmark, print the ratios, and fail if a target is missed."""

import json
import platform
import sqlite3
import sys
from collections.abc import Iterator
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import bench
from bench import Row

REPORT = Path("build") / "bench.json"


def modules() -> list[str]:
    names = (found.name for found in iter_modules(bench.__path__))
    return [f"bench.{name}" for name in names if not name.startswith("_")]


def table(rows: list[Row]) -> Iterator[str]:
    wide, beside = max(len(row.what) for row in rows), max(len(row.beside) for row in rows)
    yield f"{'':{wide}}  {'ours':>10}  {'beside':>{beside + 11}}  ratio  at most"
    for row in rows:
        figures = f"{row.ours_per_s:>8,.0f}/s  {row.beside:>{beside}} {row.beside_per_s:>8,.0f}/s"
        demand = f"{row.ratio_max:.2f}" if row.ratio_max is not None else "-"
        verdict = "  MISSED" if row.missed else ""
        yield f"{row.what:{wide}}  {figures}  {row.ratio:5.2f}  {demand:>7}{verdict}"


def main() -> int:
    rows: list[Row] = [row for name in modules() for row in import_module(name).run()]
    for line in table(rows):
        print(line)
    REPORT.parent.mkdir(exist_ok=True)
    machine = {"python": platform.python_version(), "sqlite": sqlite3.sqlite_version}
    report = {**machine, "rows": [{**asdict(row), "missed": row.missed} for row in rows]}
    REPORT.write_text(json.dumps(report, indent=2) + "\n")
    return 1 if any(row.missed for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
