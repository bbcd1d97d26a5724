"""Fail a run whose tests were skipped, or expected to fail, for a reason that is not allowed.

    python -m pytest --junit-xml=build/tests.xml
    python -m tools.check_skips build/tests.xml

Skipping is the quiet way to lose a test.  There are two honest reasons: an outside system that
is not installed here, with the command that installs it; and the parts' own tests, where nothing
that bears on them has changed since they passed on this machine.  The latter is looked into.
"""

import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.check_parts import is_left_out_rightly

ALLOWED = (re.compile(r"^[\w.-]+ \S+ is not installed: run `make parts( ONLY=[\w.,-]+)?`"),)
"""What the whole reason of a skip must begin with."""


@dataclass(frozen=True)
class Skip:
    test: str
    reason: str
    is_expected_failure: bool = False

    @property
    def is_allowed(self) -> bool:
        if self.is_expected_failure:
            return False
        return any(allowed.match(self.reason) for allowed in ALLOWED) or is_left_out_rightly(self.reason)


class Unreadable(Exception):
    """The report proves nothing; the message says why."""


def skips(report: Path) -> Iterator[Skip]:
    """Every skip in a JUnit report.  Raises Unreadable for one that is missing, broken or empty."""
    try:
        root = ET.parse(report).getroot()
    except OSError as error:
        raise Unreadable(f"{report}: {error.strerror}: run pytest with --junit-xml={report} first") from error
    except ET.ParseError as error:
        raise Unreadable(f"{report}: not a JUnit report: {error}") from error
    cases = list(root.iter("testcase"))
    if not cases:
        raise Unreadable(f"{report}: no test ran: that is not a pass")
    for case in cases:
        for skipped in case.iter("skipped"):
            test = f"{case.get('classname', '')}.{case.get('name', '')}".lstrip(".")
            reason = skipped.get("message", "").removeprefix("Skipped: ")
            yield Skip(test, reason, skipped.get("type") == "pytest.xfail")


def main(arguments: Sequence[str]) -> int:
    if not arguments:
        print("usage: python -m tools.check_skips REPORT.xml …", file=sys.stderr)
        return 2
    try:
        found = [skip for report in arguments for skip in skips(Path(report))]
    except Unreadable as error:
        print(error, file=sys.stderr)
        return 2
    refused = [skip for skip in found if not skip.is_allowed]
    for skip in refused:
        kind = "expected to fail" if skip.is_expected_failure else "skipped"
        print(f"{skip.test}: {kind}: {skip.reason or 'no reason given'}", file=sys.stderr)
    if refused:
        print(
            f"{len(refused)} of {len(found)} skips have no allowed reason: mend these tests", file=sys.stderr
        )
        return 1
    print(f"tests skipped: {len(found)}, each for a reason that is allowed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
