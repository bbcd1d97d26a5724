"""`holdfast up` and `holdfast sim` as a person or a script uses them."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

HOLDFAST = [sys.executable, "-m", "holdfast.cli"]
DEADLINE_S = 600


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*HOLDFAST, *arguments], capture_output=True, text=True, timeout=DEADLINE_S)


def test_without_a_terminal_it_prints_events_and_ends_by_itself() -> None:
    done = run("up", "--for", "2", "--speed", "1200")

    assert done.returncode == 0, done.stderr
    assert "registered" in done.stdout
    assert "nothing broke" in done.stdout


def test_json_lines_can_be_read_by_a_script() -> None:
    done = run("up", "--for", "2", "--speed", "1200", "--json")

    *events, summary = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[0].keys() == {"at_s", "part", "kind", "text"}
    assert summary["summary"]["accidents"] == []


def test_the_record_can_be_kept_and_is_never_overwritten(tmp_path: Path) -> None:
    state = tmp_path / "state.db"
    assert run("up", "--for", "1", "--state", str(state)).returncode == 0
    assert state.stat().st_size > 0

    again = run("up", "--for", "1", "--state", str(state))

    assert again.returncode == 2
    assert "exists: choose a new file, or delete it" in again.stderr


def test_bad_input_names_the_option_and_the_range() -> None:
    done = run("up", "--speed", "0")

    assert done.returncode == 2
    assert "--speed" in done.stderr
    assert "0.0 is not in the range 1<=x<=3600" in done.stderr


def test_ctrl_c_stops_it_cleanly_with_a_summary() -> None:
    running = subprocess.Popen([*HOLDFAST, "up"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stdout is not None
    running.stdout.readline()
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=DEADLINE_S)

    assert running.returncode == 0, err
    assert "virtual hours" in out
    assert "Traceback" not in err


def test_in_a_terminal_a_key_kills_a_process_and_the_next_one_goes_on() -> None:
    parent, child = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "140", "LINES": "50"}
    running = subprocess.Popen(
        [*HOLDFAST, "up", "--speed", "600"], stdin=child, stdout=child, stderr=child, env=env
    )
    os.close(child)
    seen = ""
    deadline_s = time.monotonic() + DEADLINE_S
    pressed = False
    while "resumed" not in seen and time.monotonic() < deadline_s:
        if select.select([parent], [], [], 0.2)[0]:
            seen += os.read(parent, 65_536).decode(errors="replace")
        if not pressed and "scaling the fleet" in seen:
            os.write(parent, b"k")
            pressed = True
    os.write(parent, b"q")
    running.wait(DEADLINE_S)
    os.close(parent)

    assert "kill -9" in seen
    assert "resumed" in seen
    assert running.returncode == 0


def test_a_seed_is_lived_again_bit_for_bit() -> None:
    first, second = (run("sim", "--seed", "3", "--hours", "6", "--json") for _ in range(2))

    assert first.returncode == 0, first.stdout + first.stderr
    assert first.stdout == second.stdout
    assert json.loads(first.stdout)["accidents"] == []
