"""Test the parts themselves, unless nothing that bears on it has changed since they passed on this machine.

    python -m tools.check_parts             # only if something has changed
    python -m tools.check_parts --always

What has passed is remembered in the cache, beside the installed parts: one empty file for each state.
"""

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from tools.parts.part import cache_root

ROOT = Path(__file__).parent.parent
TESTS = "tests/real/parts"
REPORT = "build/parts.xml"
BEARING = ("tools/parts/**/*", f"{TESTS}/**/*", "tests/real/*.py", "requirements.txt")
"""The parts with their pins, their tests, what these stand on, and the versions of our own clients."""
LENGTH = 12
LEFT_OUT = f"{TESTS} is unchanged since %s, passed before on this machine"


def fingerprint(root: Path = ROOT) -> str:
    """Another one as soon as any of the files is another, or Python is."""
    found = hashlib.sha256(f"{sys.version_info[:2]}".encode())
    for path in sorted(_files(root)):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        found.update(f"{path.relative_to(root)} {content}\n".encode())
    return found.hexdigest()[:LENGTH]


def _files(root: Path) -> Iterator[Path]:
    for pattern in BEARING:
        yield from (p for p in root.glob(pattern) if p.is_file() and "__pycache__" not in p.parts)


def _memory(mark: str) -> Path:
    return cache_root() / "passed" / mark


def has_passed(mark: str) -> bool:
    return _memory(mark).exists()


def remember(mark: str) -> None:
    _memory(mark).parent.mkdir(parents=True, exist_ok=True)
    _memory(mark).touch()


def is_left_out_rightly(reason: str) -> bool:
    """Whether this is what is said here when the tests need not run, and it is true."""
    mark = fingerprint()
    return reason == LEFT_OUT % mark and has_passed(mark)


def run_tests() -> int:
    """An absent part is a failure here; the exit code is pytest's."""
    argv = ["-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder", TESTS]
    env = {**os.environ, "HOLDFAST_REAL": "1"}
    return subprocess.call([sys.executable, *argv, f"--junitxml={REPORT}"], cwd=ROOT, env=env)


def report_left_out(report: Path, reason: str) -> None:
    """In the words of a test run, which `tools/check_skips.py` reads."""
    report.parent.mkdir(parents=True, exist_ok=True)
    skipped = f"<skipped type='pytest.skip' message={quoteattr(reason)}/>"
    case = f"<testcase classname={quoteattr(TESTS)} name='all of them'>{skipped}</testcase>"
    report.write_text(f"<testsuites>{case}</testsuites>\n")


def main(arguments: Sequence[str]) -> int:
    if list(arguments) not in ([], ["--always"]):
        print("usage: python -m tools.check_parts [--always]", file=sys.stderr)
        return 2
    mark = fingerprint()
    if not arguments and has_passed(mark):
        reason = LEFT_OUT % mark
        print(f"{reason}; `make parts-check` runs it all the same")
        report_left_out(ROOT / REPORT, reason)
        return 0
    code = run_tests()
    if code == 0 and fingerprint() == mark:  # else a file was changed meanwhile
        remember(mark)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
