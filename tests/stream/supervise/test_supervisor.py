"""Started with its number, signalled with its group, ended with its grace; its code is kept."""

import signal
import socket
import time
from pathlib import Path

import pytest

from tests.stream.supervise.running import status, supervised, until
from tools.parts.ports import free_port

SAYS_AND_SLEEPS = 'echo "$1 $HOLDFAST_MAX_LEASES $$" >> "$FOLDER/said"; sleep 600 & wait'


def shell(script: str) -> list[str]:
    return ["sh", "-c", script, "worker"]


def test_the_number_is_filled_in_wherever_it_is_asked_for_and_stands_in_the_environment(
    tmp_path: Path,
) -> None:
    script = 'echo "$1 $2 $HOLDFAST_MAX_LEASES" > "$FOLDER/said"'
    with supervised(tmp_path, *shell(script), "{max_leases}", "--max={max_leases}/{max_leases}") as run:
        assert run.ends() == 0
    assert (tmp_path / "said").read_text() == "7 --max=7/7 7\n"
    assert run.starts() == [7]


def test_nothing_is_started_before_the_cap_is_known(tmp_path: Path) -> None:
    with supervised(tmp_path, *shell('echo "$HOLDFAST_MAX_LEASES" > "$FOLDER/said"'), first=None) as run:
        run.order(first=None)
        assert run.starts() == []
        run.order(first=12)
        assert run.ends() == 0
    assert (tmp_path / "said").read_text() == "12\n"


@pytest.mark.parametrize(
    ("script", "code"), [("exit 0", 0), ("exit 3", 3), ("kill -KILL $$", 137), ("kill -SEGV $$", 139)]
)
def test_the_exit_code_is_the_commands(tmp_path: Path, script: str, code: int) -> None:
    with supervised(tmp_path, *shell(script)) as run:
        assert run.ends() == code


@pytest.mark.parametrize("which", [signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT])
def test_a_signal_is_passed_on_and_ends_nothing_by_itself(tmp_path: Path, which: signal.Signals) -> None:
    name = which.name.removeprefix("SIG")
    script = f"""
    trap 'echo {name} > "$FOLDER/heard"; exit 9' {name}
    touch "$FOLDER/up"; echo up > "$FOLDER/up"
    while :; do sleep 0.05; done
    """
    with supervised(tmp_path, *shell(script)) as run:
        run.wait_for("up")
        run.send(which)
        assert run.ends() == 9
    assert (tmp_path / "heard").read_text() == f"{name}\n"


def test_a_supervisor_that_was_stopped_for_a_while_goes_on(tmp_path: Path) -> None:
    with supervised(tmp_path, *shell('echo up > "$FOLDER/up"; exec sleep 600')) as run:
        run.wait_for("up")
        for _ in range(3):
            run.send(signal.SIGSTOP)
            time.sleep(0.3)  # longer than it waits for a signal
            run.send(signal.SIGCONT)
            time.sleep(0.1)
        assert run.process.poll() is None
        run.send(signal.SIGTERM)
        assert run.ends() == 143


@pytest.mark.parametrize(("which", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_the_whole_group_hears_the_end(tmp_path: Path, which: signal.Signals, code: int) -> None:
    script = """
    sh -c 'trap "echo grandchild > $FOLDER/heard; exit" TERM INT; echo up > "$FOLDER/up"
           while :; do sleep 0.05; done' &
    echo $! > /dev/null
    exec sleep 600
    """
    with supervised(tmp_path, *shell(script)) as run:
        run.wait_for("up")
        run.send(which)
        assert run.ends() == code
    assert run.left_behind() == []


def test_what_does_not_end_within_its_grace_is_killed_with_all_it_has_started(tmp_path: Path) -> None:
    script = """
    trap '' TERM
    sh -c 'trap "" TERM; while :; do sleep 1; done' &
    setsid sh -c 'trap "" TERM; echo up > "$FOLDER/up"; while :; do sleep 1; done' &
    while :; do sleep 1; done
    """
    with supervised(tmp_path, *shell(script), grace_s=0.5) as run:
        run.wait_for("up")
        assert len(run.left_behind()) >= 4, "the search finds what is alive, or it proves nothing"
        run.send(signal.SIGTERM)
        assert run.ends() == 137
        assert run.left_behind() == []
        assert "did not end within 0.5 s" in run.process.communicate()[1]


def test_what_a_command_that_ends_has_left_behind_is_ended_too(tmp_path: Path) -> None:
    with supervised(tmp_path, *shell("setsid sleep 600 & sleep 600 & exit 4")) as run:
        assert run.ends() == 4
        assert run.left_behind() == []


def test_a_command_ends_with_a_supervisor_that_was_killed(tmp_path: Path) -> None:
    with supervised(tmp_path, *shell('echo up > "$FOLDER/up"; exec sleep 600')) as run:
        run.wait_for("up")
        run.send(signal.SIGKILL)
        assert run.ends() == -signal.SIGKILL
        until(lambda: run.left_behind() == [], "nothing is left")


def test_orphans_that_end_are_waited_for(tmp_path: Path) -> None:
    """A process that is never waited for stays in the table as a zombie, with us as its parent."""
    script = """
    for n in 1 2 3; do sh -c 'setsid sleep 0.1 & :'; done
    echo up > "$FOLDER/up"; sleep 600
    """
    with supervised(tmp_path, *shell(script)) as run:
        run.wait_for("up")
        children = Path(f"/proc/{run.process.pid}/task/{run.process.pid}/children")
        until(lambda: len(children.read_text().split()) == 1, "only the command is left")


def test_by_order_it_is_started_anew_with_the_new_number_and_for_no_other_reason(tmp_path: Path) -> None:
    with supervised(tmp_path, *shell(SAYS_AND_SLEEPS), "{max_leases}") as run:
        run.wait_for("said")
        run.order(first=99, next=12)
        until(lambda: len((tmp_path / "said").read_text().splitlines()) == 2, "it was started anew")
        run.order(first=3)
        run.send(signal.SIGTERM)
        assert run.ends() == 143
    first, second = ((tmp_path / "said").read_text()).splitlines()
    assert first.split()[:2] == ["7", "7"]
    assert second.split()[:2] == ["12", "12"]
    assert first.split()[2] != second.split()[2]
    assert run.starts() == [7, 12]


def test_told_to_end_in_the_middle_of_a_restart_it_ends(tmp_path: Path) -> None:
    script = """
    trap 'echo term > "$FOLDER/heard"' TERM
    echo up > "$FOLDER/up"
    while [ ! -f "$FOLDER/go" ]; do sleep 0.05; done
    exit 0
    """
    with supervised(tmp_path, *shell(script)) as run:
        run.wait_for("up")
        run.order(first=7, next=12)
        run.wait_for("heard")
        run.send(signal.SIGTERM)
        (tmp_path / "go").touch()
        assert run.ends() == 0
    assert run.starts() == [7]


def test_a_worker_that_must_end_ends_its_command_and_says_why(tmp_path: Path) -> None:
    with supervised(tmp_path, *shell(SAYS_AND_SLEEPS)) as run:
        run.wait_for("said")
        run.order(problem="another process has joined under this id")
        assert run.ends() == 1
        assert run.left_behind() == []
        assert "another process has joined under this id" in run.process.communicate()[1]


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("/nosuch/program", "there is no such program"),
        ("nosuchprogram", "there is no such program"),
        ("{folder}/data", "it is not executable"),
        ("{folder}", "it is not executable"),
    ],
)
def test_a_command_that_cannot_be_started_is_named_with_the_fix(
    tmp_path: Path, command: str, why: str
) -> None:
    (tmp_path / "data").write_text("no program")
    named = command.format(folder=tmp_path)
    with supervised(tmp_path, named) as run:
        assert run.ends() == 1
        said = run.process.communicate()[1]
    assert f"command {named!r}: {why}" in said
    assert "Traceback" not in said


def test_told_to_end_before_the_cap_is_known_it_starts_nothing(tmp_path: Path) -> None:
    port = free_port()
    with supervised(tmp_path, "sleep", "600", first=None, port=port) as run:
        until(lambda: status(f"http://127.0.0.1:{port}/health") == 200, "it is up")
        run.send(signal.SIGTERM)
        assert run.ends() == 143
    assert run.starts() == []


def test_health_from_the_start_ready_with_the_command_and_neither_after_the_end_was_told(
    tmp_path: Path,
) -> None:
    script = 'trap "" TERM; echo up > "$FOLDER/up"; while [ ! -f "$FOLDER/go" ]; do sleep 0.05; done'
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with supervised(tmp_path, *shell(script), port=port, first=None) as run:
        until(lambda: status(f"{url}/health") == 200, "it is healthy from the start")
        assert status(f"{url}/ready") == 503
        assert status(f"{url}/metrics") == 200
        assert status(f"{url}/nosuch") == 404
        run.order(first=7)
        run.wait_for("up")
        until(lambda: status(f"{url}/ready") == 200, "it is ready")
        run.send(signal.SIGTERM)
        until(lambda: status(f"{url}/ready") == 503, "it is not ready any more")
        assert status(f"{url}/health") == 503
        (tmp_path / "go").touch()
        assert run.ends() == 0


def test_a_port_that_is_taken_is_named_with_the_fix(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with supervised(tmp_path, "true", port=port) as run:
            assert run.ends() == 1
            assert f"health_port {port}" in run.process.communicate()[1]
