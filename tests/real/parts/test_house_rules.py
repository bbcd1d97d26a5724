"""What every part may be trusted with: it leaves nothing behind, and it says what is wrong."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.real.parts.sham_parts import Impossible, Sham
from tests.real.presence import present
from tests.real.traces import HANG_S, processes_naming, wait_until
from tools.parts.__main__ import install
from tools.parts.catalog import all_parts
from tools.parts.catalog.ministack import PART as MINISTACK
from tools.parts.part import Absent
from tools.parts.running import DidNotStart, Running, answers_http

ROOT = Path(__file__).parents[3]


@dataclass
class Run:
    """Another process that has started MiniStack for itself."""

    process: subprocess.Popen[str]
    folder: Path
    endpoint: str

    @property
    def answers(self) -> bool:
        return answers_http(f"{self.endpoint}/_ministack/health")

    def die(self, by: signal.Signals) -> None:
        """As at a terminal, where Ctrl-C reaches the whole group."""
        os.killpg(self.process.pid, by)
        self.process.wait(HANG_S)

    def assert_gone(self) -> None:
        wait_until(lambda: not processes_naming(self.folder.name), f"no process of {self.folder}")
        wait_until(lambda: not self.folder.exists(), f"no folder {self.folder}")
        assert not self.answers


def begin(module: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", module],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )


@pytest.fixture
def runs() -> Iterator[list[Run]]:
    """Two runs side by side."""
    present(MINISTACK)
    processes = [begin("tests.real.parts.starts_ministack") for _ in range(2)]
    try:
        yield [_told(process) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def _told(process: subprocess.Popen[str]) -> Run:
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    return Run(process, Path(told["folder"]), told["endpoint"])


def test_a_stopped_part_leaves_no_process_no_folder_and_no_listener() -> None:
    started = present(MINISTACK).start()
    folder = started.running.folder
    assert processes_naming(folder.name), (
        "the search for traces must find a living part, or it proves nothing"
    )
    started.stop()
    assert processes_naming(folder.name) == []
    assert not folder.exists()
    assert not answers_http(started.endpoint)


def test_stopping_twice_is_stopping_once() -> None:
    started = present(MINISTACK).start()
    started.stop()
    started.stop()


@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM], ids=lambda by: by.name)
def test_a_run_that_dies_takes_its_parts_along_and_leaves_its_neighbour_alone(
    runs: list[Run], by: signal.Signals
) -> None:
    interrupted, neighbour = runs
    assert interrupted.folder != neighbour.folder
    interrupted.die(by)
    interrupted.assert_gone()
    assert neighbour.folder.exists()
    assert neighbour.answers
    neighbour.die(by)
    neighbour.assert_gone()


ORPHANING = """
import os, pathlib, time
if os.fork() == 0:
    os.setsid()
    pathlib.Path("born").touch()
time.sleep(600)
"""


def test_a_grandchild_with_a_session_of_its_own_is_ended_too() -> None:
    with Running("orphan") as running:
        running.start("parent", [sys.executable, "-c", ORPHANING])
        wait_until((running.folder / "born").exists, "the grandchild is there")
        running.kill("parent")
        assert len(processes_naming(running.folder.name)) == 2, "the keeper and the grandchild"
    assert processes_naming(running.folder.name) == []


def test_a_part_hears_the_kind_request_to_end_and_need_not_be_killed() -> None:
    with Running("kind") as running:
        running.start("sleeper", ["sleep", "600"])
        assert running.end("sleeper") == -signal.SIGTERM


def test_a_program_that_is_not_there_is_named_and_the_folder_goes_all_the_same() -> None:
    with (
        Running("misspelt") as running,
        pytest.raises(DidNotStart, match="misspelt: server cannot be started"),
    ):
        running.start("server", ["/nosuch/program"])
    assert not running.folder.exists()


def test_an_unknown_part_is_answered_with_those_there_are() -> None:
    argv = [sys.executable, "-m", "tools.parts", "install", "nosuch"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 2
    assert "no such part: nosuch" in done.stderr
    assert done.stderr.strip().endswith(", ".join(all_parts()))


@pytest.mark.parametrize(
    ("promised", "outcome"),
    [("", pytest.skip.Exception), ("1", pytest.fail.Exception)],
    ids=["skips", "fails"],
)
def test_an_absent_part_skips_its_tests_or_fails_them_where_real_systems_are_promised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, promised: str, outcome: type[BaseException]
) -> None:
    monkeypatch.setenv("HOLDFAST_PARTS", str(tmp_path))
    monkeypatch.setenv("HOLDFAST_REAL", promised)
    with pytest.raises(outcome, match="sham 1 is not installed: run `make parts ONLY=sham`"):
        present(Sham())


def test_an_install_that_was_killed_is_begun_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_PARTS", str(tmp_path))
    part = Sham()
    killed = begin("tests.real.parts.sham_parts")
    wait_until((part.home / "half").exists, "the install is half done")
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    with pytest.raises(Absent, match="make parts ONLY=sham"):
        part.require()

    (tmp_path / "go").touch()
    assert part.install(print), "it had to be begun again"
    part.require()
    assert (tmp_path / "beginnings").read_text() == "[]\n[]\n", "both began on an empty folder"


def test_two_installs_side_by_side_build_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLDFAST_PARTS", str(tmp_path))
    both = [begin("tests.real.parts.sham_parts") for _ in range(2)]
    wait_until((Sham().home / "half").exists, "one of them has begun")
    (tmp_path / "go").touch()
    assert [process.wait(HANG_S) for process in both] == [0, 0]
    for process in both:
        process.communicate()
    assert (tmp_path / "beginnings").read_text() == "[]\n"


def test_what_cannot_be_installed_is_named_with_reason_and_fix_and_does_not_stop_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOLDFAST_PARTS", str(tmp_path))
    (tmp_path / "go").touch()
    assert install([Impossible(), Sham()]) == 1
    said = capsys.readouterr().out
    assert "impossible 9: cannot be installed: it needs a sextant and there is none: buy a sextant" in said
    assert "sham 1: installed in" in said
    assert Sham().installed
    assert not Impossible().installed


LEAVES = """
from tests.real.conftest import nothing_is_left_running
from tools.parts.keeper import STOP_GRACE_S
from tools.parts.part import Absent
from tools.parts.running import Running

kept = []

def test_that_starts_something():
    kept.append(Running("forgotten"))
    kept[0].start("sleeper", ["sleep", "600"])
    {then}
"""


@pytest.mark.parametrize(("then", "code"), [("kept[0].stop()", 0), ("pass", 1)], ids=["stopped", "forgotten"])
def test_a_real_run_fails_if_and_only_if_it_leaves_a_process(tmp_path: Path, then: str, code: int) -> None:
    test = tmp_path / "test_inner.py"
    test.write_text(LEAVES.format(then=then))
    argv = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path)]
    env = {**os.environ, "HOLDFAST_REAL": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([*argv, str(test)], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == code, done.stdout
    assert ("this run left processes behind" in done.stdout) == bool(code)
    assert ("sleep 600" in done.stdout) == bool(code)
