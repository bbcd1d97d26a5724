"""Figures that stand behind the invariants: each test adds its own, the run prints them together."""

import json
import os
import uuid
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "build" / "proof.d"


def prove(kind: str, subject: str, **figures: Any) -> None:
    """Note a figure of this run: `prove("crash", "shrink", schedules=5734)`."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    row = {"kind": kind, "subject": subject, **figures}
    part = FOLDER / f"{os.getpid()}-{uuid.uuid4().hex[:8]}.tmp"
    part.write_text(json.dumps(row))
    part.rename(part.with_suffix(".json"))


def rows() -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(FOLDER.glob("*.json"))]
