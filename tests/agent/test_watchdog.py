"""The watchdog alone: what it finds, what it kills and when, and what it needs for it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from holdfast.agent import watchdog
from holdfast.agent.page import SLOT_SIZE, SLOTS, Page
from holdfast.agent.watchdog import Protected, now_ns
from tests.agent.machine import alive, eventually

SCRIPT = str(Path(watchdog.__file__))
FAMILY = "sleep 1000 & echo $! > {folder}/child; setsid sleep 1000 & echo $! > {folder}/far; wait"

Start = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def start() -> Iterator[Start]:
    begun: list[subprocess.Popen[bytes]] = []

    def run(*argv: str) -> subprocess.Popen[bytes]:
        begun.append(subprocess.Popen(argv, stdin=subprocess.DEVNULL, start_new_session=True))
        return begun[-1]

    yield run
    for process in begun:
        process.kill()
        process.wait()


def watch(start: Start, page: Page, what: str, *more: str) -> subprocess.Popen[bytes]:
    argv = [sys.executable, "-I", "-S", SCRIPT, "--page", str(page.path), "--protect", what, *more]
    process = start(*argv)
    eventually(lambda: page.watchdog_pid == process.pid and not page.why_not_watched(what), "it counts")
    return process


def read_number(file: Path) -> int:
    return int(eventually(lambda: file.exists() and file.read_text().strip()))


def test_a_process_is_killed_at_its_deadline_with_all_its_children(start: Start, tmp_path: Path) -> None:
    family = start("sh", "-c", FAMILY.format(folder=tmp_path))
    children = [read_number(tmp_path / name) for name in ("child", "far")]
    page = Page(tmp_path / "page")
    dog = watch(start, page, f"pid:{family.pid}")
    eventually(lambda: page.targets == 3)
    deadline = now_ns() + 400_000_000
    page.arm(deadline / 1e9, 7)
    assert family.wait(60) == -9
    assert now_ns() >= deadline, "not before"
    eventually(lambda: not any(alive(child) for child in children))
    eventually(lambda: page.targets == 0)
    assert dog.poll() is None


def test_what_appears_after_the_deadline_is_killed_too_until_it_is_disarmed(
    start: Start, tmp_path: Path
) -> None:
    page, pidfile = Page(tmp_path / "page"), tmp_path / "pid"
    watch(start, page, f"pidfile:{pidfile}")
    page.arm(1e-9, 1)
    for _ in range(2):
        late = start("sleep", "1000")
        pidfile.write_text(str(late.pid))
        assert late.wait(60) == -9
    page.disarm()
    standby = start("sleep", "1000")
    pidfile.write_text(str(standby.pid))
    eventually(lambda: page.targets == 1)
    time.sleep(0.3)
    assert standby.poll() is None, "a standby may run"


def test_a_later_deadline_lets_it_live(start: Start, tmp_path: Path) -> None:
    page, service = Page(tmp_path / "page"), start("sleep", "1000")
    watch(start, page, f"pid:{service.pid}")
    for _ in range(5):
        page.arm(now_ns() / 1e9 + 1.5, 1)
        time.sleep(0.1)
    assert service.poll() is None


def test_a_hook_that_could_still_start_a_service_is_killed_as_well(start: Start, tmp_path: Path) -> None:
    page, hook = Page(tmp_path / "page"), start("sleep", "1000")
    watch(start, page, f"pidfile:{tmp_path}/none")
    page.hook_runs(hook.pid)
    page.arm(1e-9, 1)
    assert hook.wait(60) == -9


def test_commands_are_found_by_their_text_and_the_agent_is_not_one_of_them(
    start: Start, tmp_path: Path
) -> None:
    text = f"--marker={tmp_path.name}"
    service = start("sh", "-c", "sleep 1000; :", text)
    agent = start("sh", "-c", "sleep 1000; :", "--protect", f"command:{text}")
    protected = Protected(f"command:{text}")
    eventually(lambda: protected.find() == 2, "the shell and its sleep")
    assert service.pid in protected.fds
    assert agent.pid not in protected.fds
    protected.kill()
    assert service.wait(60) == -9
    assert agent.poll() is None


def test_a_shell_whose_child_is_killed_first_starts_no_other(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f"while :; do sleep 1000; echo again >> {tmp_path}/started; done"
    shell = start("sh", "-c", script)
    protected = Protected(f"pid:{shell.pid}")
    eventually(lambda: protected.find() == 2, "the shell and its sleep")
    child = next(pid for pid in protected.fds if pid != shell.pid)
    protected.fds = {pid: protected.fds[pid] for pid in (child, shell.pid)}
    send = signal.pidfd_send_signal

    def slowly(fd: int, number: int) -> None:
        send(fd, number)
        time.sleep(0.1)

    monkeypatch.setattr(signal, "pidfd_send_signal", slowly)
    assert protected.kill() == 2
    assert shell.wait(60) == -9
    assert not (tmp_path / "started").exists()


def test_a_control_group_is_killed_whole(start: Start, tmp_path: Path) -> None:
    """As a folder that looks like one: the processes of cgroup.procs, below it too."""
    service, inner = start("sleep", "1000"), start("sleep", "1000")
    group = tmp_path / "group"
    (group / "below").mkdir(parents=True)
    (group / "cgroup.procs").write_text(f"{service.pid}\n")
    (group / "below" / "cgroup.procs").write_text(f"{inner.pid}\n")
    protected = Protected(f"cgroup:{group}")
    assert protected.find() == 2
    protected.kill()
    assert (service.wait(60), inner.wait(60)) == (-9, -9)
    assert (group / "cgroup.kill").read_text() == "1"


def test_a_pid_that_was_given_to_another_process_is_left_alone(start: Start) -> None:
    service = start("sleep", "1000")
    protected = Protected(f"pid:{service.pid}")
    assert protected.first is not None
    protected.first -= 1  # another process has this number now
    assert protected.find() == 0


def test_processes_that_cannot_be_seen_are_not_taken_for_none(tmp_path: Path) -> None:
    """A pid file that may not be read, or holds no text, or names a thread: the watchdog could not kill."""
    pidfile = tmp_path / "pid"
    protected = Protected(f"pidfile:{pidfile}")
    assert (protected.find(), protected.able()) == (0, True)
    pidfile.mkdir()
    assert (protected.find(), protected.able()) == (0, False)
    pidfile.rmdir()
    pidfile.write_bytes(b"\xff\xfe")
    assert (protected.find(), protected.able()) == (0, False)
    pidfile.write_text("")
    assert (protected.find(), protected.able()) == (0, True)


def test_a_page_that_the_disk_took_only_in_part_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "write", lambda fd, data: len(data) // 2)
    with pytest.raises(OSError, match="No space left on device"):
        Page(tmp_path / "page")


def test_a_process_that_has_ended_counts_as_gone_though_its_parent_has_not_asked(start: Start) -> None:
    service = start("sleep", "1000")
    protected = Protected(f"pid:{service.pid}")
    assert protected.find() == 1
    os.kill(service.pid, 9)
    eventually(lambda: protected.find() == 0)


@pytest.mark.parametrize("what", ["", "pid", "pid:", "pid:seven", "process:7", "unit:"])
def test_what_cannot_be_protected_is_refused(what: str) -> None:
    with pytest.raises(ValueError, match=r"pid:N, pidfile:FILE|after pid: comes a number"):
        Protected(what)


def test_the_newest_watchdog_takes_over(start: Start, tmp_path: Path) -> None:
    page = Page(tmp_path / "page")
    first = watch(start, page, "command:none-such")
    second = watch(start, page, "command:none-such")
    assert first.wait(60) == 0
    assert second.poll() is None


def test_one_without_agent_and_without_deadline_ends_with_its_page(start: Start, tmp_path: Path) -> None:
    page = Page(tmp_path / "page")
    dog = watch(start, page, "command:none-such")
    page.path.unlink()
    assert dog.wait(60) == 0


def test_a_page_of_another_boot_arms_nothing(start: Start, tmp_path: Path) -> None:
    page, service = Page(tmp_path / "page"), start("sleep", "1000")
    page.words[watchdog.BOOT] -= 1
    page.arm(1e-9, 1)
    watch(start, page, f"pid:{service.pid}")
    time.sleep(0.3)
    assert service.poll() is None
    assert Page(page.path).armed_s == 0.0, "an agent of this boot starts anew"


def test_what_is_kept_survives_a_write_that_was_cut_short(tmp_path: Path) -> None:
    page = Page(tmp_path / "page")
    assert page.kept() is None
    for n in range(5):
        page.keep({"n": n})
        assert page.kept() == {"n": n}
    newest = max(SLOTS, key=lambda slot: page._read(slot)[0])
    page.bytes[newest + 30] ^= 0xFF
    assert page.kept() == {"n": 3}
    with pytest.raises(ValueError, match="do not fit"):
        page.keep({"text": "x" * SLOT_SIZE})


def test_a_watchdog_that_cannot_be_relied_on_is_named(tmp_path: Path) -> None:
    page = Page(tmp_path / "page")
    words, what = page.words, "pid:1"
    assert page.why_not_watched(what) == "no watchdog counts"
    words[watchdog.WATCHDOG] = now_ns()
    assert "protects something else" in page.why_not_watched(what)
    words[watchdog.PROTECT] = watchdog.number_of(what)
    assert "cannot find out" in page.why_not_watched(what)
    words[watchdog.FOUND] = now_ns()
    assert "may not kill" in page.why_not_watched(what)
    words[watchdog.ABLE] = 1
    assert page.why_not_watched(what) == ""
    words[watchdog.WATCHDOG] = now_ns() - 1_200_000_000
    assert page.why_not_watched(what) == "no watchdog counts"


def test_it_is_told_how_to_be_started(capsys: pytest.CaptureFixture[str]) -> None:
    assert watchdog.main([]) == 2
    assert "usage:" in capsys.readouterr().err
    assert watchdog.main(["--page", "/nowhere/page", "--protect", "pid:1"]) == 2
    assert "No such file" in capsys.readouterr().err
