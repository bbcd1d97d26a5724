"""The parts' own tests are left out where, and only where, nothing has changed since they passed here."""

from pathlib import Path

import pytest

from tools import check_parts
from tools.check_skips import skips


class Suite:
    """In place of the real ones, which take minutes."""

    def __init__(self) -> None:
        self.runs, self.code = 0, 0

    def __call__(self) -> int:
        self.runs += 1
        return self.code


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "clone"
    for name in (
        "tools/parts/requirements/moto.txt",
        "tests/real/parts/ec2/test_it.py",
        "tests/real/traces.py",
    ):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("as it was")
    fingerprint = check_parts.fingerprint
    monkeypatch.setattr(check_parts, "ROOT", root)
    monkeypatch.setattr(check_parts, "fingerprint", lambda: fingerprint(root))
    monkeypatch.setenv("HOLDFAST_PARTS", str(tmp_path / "cache"))
    return root


@pytest.fixture
def suite(monkeypatch: pytest.MonkeyPatch) -> Suite:
    instead = Suite()
    monkeypatch.setattr(check_parts, "run_tests", instead)
    return instead


def test_on_a_new_machine_they_run_and_then_no_more(
    clone: Path, suite: Suite, capsys: pytest.CaptureFixture[str]
) -> None:
    assert [check_parts.main([]), check_parts.main([])] == [0, 0]

    assert suite.runs == 1
    said = f"tests/real/parts is unchanged since {check_parts.fingerprint()}, passed before on this machine"
    assert capsys.readouterr().out.startswith(said)
    (skip,) = skips(clone / check_parts.REPORT)
    assert skip.is_allowed, skip.reason


@pytest.mark.parametrize(
    "changed",
    ["tools/parts/requirements/moto.txt", "tests/real/parts/ec2/test_it.py", "tests/real/traces.py"],
)
def test_after_a_change_they_run_again(clone: Path, suite: Suite, changed: str) -> None:
    check_parts.main([])
    (clone / changed).write_text("as it is now")
    check_parts.main([])

    assert suite.runs == 2


@pytest.mark.usefixtures("clone")
def test_what_failed_is_not_remembered(suite: Suite) -> None:
    suite.code = 1

    assert [check_parts.main([]), check_parts.main([])] == [1, 1]
    assert suite.runs == 2


def test_what_was_changed_while_they_ran_is_not_remembered(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run() -> int:
        (clone / "tests/real/traces.py").write_text("as it is now")
        return 0

    monkeypatch.setattr(check_parts, "run_tests", run)
    assert check_parts.main([]) == 0
    assert not check_parts.has_passed(check_parts.fingerprint())


@pytest.mark.usefixtures("clone")
def test_they_can_be_made_to_run(suite: Suite) -> None:
    for _ in range(2):
        check_parts.main(["--always"])

    assert suite.runs == 2


def test_another_word_is_answered_with_the_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert check_parts.main(["--sometimes"]) == 2
    assert "usage" in capsys.readouterr().err
