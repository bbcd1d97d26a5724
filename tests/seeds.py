"""Seeds that change with every commit: over time many more are lived than any one run has time for.

The base is drawn from the commit that is checked out, so that a clone of it lives the same histories;
HOLDFAST_SEED_BASE names another one.  Where there is no git it is fixed.
"""

import hashlib
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent
BASE = "HOLDFAST_SEED_BASE"
WITHOUT_GIT = 1_000
BEHIND = 1_000
"""Seeds below this are the fixed ones."""
WIDTH = 10**9


def base() -> int:
    """The one that the environment names; else that of the commit."""
    told = os.environ.get(BASE, "")
    if told:
        assert told.isdecimal(), f"{BASE} is {told!r}: a whole number is wanted"
        return int(told)
    return _of_commit(_head())


def of_this_commit(count: int) -> list[int]:
    first = base()
    return list(range(first, first + count))


def told() -> str:
    """The base, and how to live the same again."""
    return f"from {base()}; {BASE}={base()} brings the same again"


def _of_commit(commit: str) -> int:
    if not commit:
        return WITHOUT_GIT
    return BEHIND + int(hashlib.sha256(commit.encode()).hexdigest(), 16) % WIDTH


def _head() -> str:
    """The commit's id; empty where there is no git, or no commit."""
    argv = ["git", "-C", str(ROOT), "rev-parse", "--verify", "--quiet", "HEAD"]
    try:
        said = subprocess.run(argv, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return said.stdout.strip() if said.returncode == 0 else ""
