"""A test is skipped in known places only, for a known reason only, and is never expected to fail."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tidy.repository import ROOT, assert_none, nodes, python, refused
from tools.check_parts import LEFT_OUT, fingerprint, remember
from tools.check_skips import ALLOWED, Skip, Unreadable, main, skips
from tools.parts.catalog import all_parts
from tools.parts.part import Absent

SKIPPING = {"skip", "skipif", "skipIf", "skipUnless", "skipTest", "SkipTest", "importorskip", "xfail"}
RUNNERS = ("pytest.", "unittest.", "self.skipTest")
EXPECTED = {
    "tests/real/presence.py": "an absent part, with the command that installs it",
    "tests/real/boot_site.py": "an absent part, with the command that installs it",
}


def skipping(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every use of a word that skips; `pytest.skip.Exception` is the name of an outcome."""
    outcomes = {id(n.value) for n in nodes(tree) if isinstance(n, ast.Attribute) and n.attr == "Exception"}
    for node in nodes(tree):
        words: set[str] = set()
        if isinstance(node, ast.Attribute) and id(node) not in outcomes:
            words = {node.attr} if ast.unparse(node).startswith(RUNNERS) else set()
        elif isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith(RUNNERS):
            words = {alias.name for alias in node.names}
        if isinstance(node, ast.Attribute | ast.ImportFrom):
            for word in sorted(words & SKIPPING):
                yield node.lineno, f"{word}: only `present(part)` skips, where a part is absent"


def test_tests_are_skipped_in_known_places_only() -> None:
    assert_none(refused(skipping, (s for s in python("tests") if s.name not in EXPECTED)))


def test_the_known_places_still_skip() -> None:
    known = [source for source in python("tests") if source.name in EXPECTED]
    assert {source.name for source in known} == {*EXPECTED}
    assert_none(
        f"{source.name} skips nothing any more" for source in known if not refused(skipping, [source])
    )


@pytest.mark.parametrize(
    ("code", "lines"),
    [
        ("pytest.skip('later')", [1]),
        ("@pytest.mark.skipif(True, reason='slow')\ndef test_it(): ...", [1]),
        ("marks = [\n    pytest.mark.xfail]", [2]),
        ("from pytest import skip\nskip('later')", [1]),
        ("self.skipTest('later')", [1]),
        ("boto3 = pytest.importorskip('boto3')", [1]),
        ("with pytest.raises(pytest.skip.Exception): ...\nskipped = 1", []),
    ],
)
def test_every_way_to_skip_is_seen(code: str, lines: list[int]) -> None:
    assert [line for line, _ in skipping(ast.parse(code))] == lines


def test_what_an_absent_part_says_is_the_allowed_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOLDFAST_PARTS", str(tmp_path))
    absent_parts = [part for part in all_parts().values() if not part.installed]
    assert absent_parts, "with an empty cache there must be some"
    for part in absent_parts:
        with pytest.raises(Absent) as absent:
            part.require()
        assert Skip("test", str(absent.value)).is_allowed, f"{absent.value}\nmatches none of {ALLOWED}"


@pytest.mark.parametrize(
    "reason",
    ["", "flaky", "kwok is slow", "unconditional skip", "see: kwok 1 is not installed: run `make parts`"],
)
def test_no_other_reason_is_allowed(reason: str) -> None:
    assert not Skip("test", reason).is_allowed


def test_the_tests_of_the_parts_may_be_left_out_once_this_very_state_has_passed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOLDFAST_PARTS", str(tmp_path))
    said, of_another = LEFT_OUT % fingerprint(), LEFT_OUT % ("0" * len(fingerprint()))
    assert not Skip("test", said).is_allowed, "nothing has passed yet"
    remember(fingerprint())
    remember("0" * len(fingerprint()))
    assert Skip("test", said).is_allowed
    assert not Skip("test", of_another).is_allowed, "that is another state"
    assert not Skip("test", f"{said}, or so").is_allowed


def test_an_expected_failure_is_never_allowed() -> None:
    said = "kwok 1 is not installed: run `make parts ONLY=kwok`"
    assert Skip("test", said).is_allowed
    assert not Skip("test", said, is_expected_failure=True).is_allowed


TESTS = """
import pytest

@pytest.fixture
def part():
    pytest.skip("kwok 1 is not installed: run `make parts ONLY=kwok`")

def test_fine(): pass
def test_absent(part): pass

@pytest.mark.skip
def test_lazy(): pass

@pytest.mark.xfail(reason="kwok 1 is not installed: run `make parts ONLY=kwok`", strict=True)
def test_broken(): assert False
"""


def test_what_pytest_reports_is_understood(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "test_inner.py").write_text(TESTS)
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junit-xml=report.xml"]
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    subprocess.run([*argv, "--rootdir", "."], cwd=tmp_path, env=env, check=True, capture_output=True)

    found = {skip.test: skip.is_allowed for skip in skips(tmp_path / "report.xml")}
    assert found == {
        "test_inner.test_absent": True,
        "test_inner.test_lazy": False,
        "test_inner.test_broken": False,
    }
    assert main([str(tmp_path / "report.xml")]) == 1
    said = capsys.readouterr().err
    assert "test_inner.test_lazy: skipped: unconditional skip" in said
    assert "test_inner.test_broken: expected to fail: kwok 1 is not installed" in said
    assert "test_absent" not in said
    assert "2 of 3 skips" in said


ABSENT = "<skipped type='pytest.skip' message='kwok 1 is not installed: run `make parts ONLY=kwok`'/>"


@pytest.mark.parametrize(("inside", "n"), [("", 0), (ABSENT, 1)], ids=["none", "absent"])
def test_a_run_passes_that_skipped_nothing_or_what_needs_an_absent_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], inside: str, n: int
) -> None:
    report = tmp_path / "report.xml"
    report.write_text(f"<testsuites><testcase classname='a' name='test_b'>{inside}</testcase></testsuites>")
    assert main([str(report)]) == 0
    assert capsys.readouterr().out == f"tests skipped: {n}, each for a reason that is allowed\n"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "run pytest with --junit-xml"),
        ("<testsuites>", "not a JUnit"),
        ("<testsuites/>", "no test ran"),
    ],
    ids=["missing", "broken", "empty"],
)
def test_a_report_that_proves_nothing_is_not_a_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | None, why: str
) -> None:
    report = tmp_path / "report.xml"
    if content is not None:
        report.write_text(content)
    with pytest.raises(Unreadable, match=why):
        list(skips(report))
    assert main([str(report)]) == 2
    assert why in capsys.readouterr().err


def test_the_check_can_be_run_as_it_says() -> None:
    argv = [sys.executable, "-m", "tools.check_skips"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr.split(":")[0]) == (2, "usage")
