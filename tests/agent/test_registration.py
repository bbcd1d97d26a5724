"""Who may be an agent: enrolments, sessions, tokens, and what is said when they do not fit."""

import json
import os
import threading
from pathlib import Path

import pytest

from holdfast.agent import files
from holdfast.agent.main import main
from tests.agent.machine import PATIENCE_S, Machine, eventually
from tests.agent.wire_server import WireServer


def refused(machine: Machine, capsys: pytest.CaptureFixture[str]) -> str:
    """What an agent says that cannot start; it ends before it has begun anything."""
    assert main(machine.argv[3:]) == 2
    return capsys.readouterr().err


def test_an_enrolment_becomes_a_token_that_only_its_owner_may_read(
    machine: Machine, server: WireServer, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.start()
    eventually(lambda: (machine.state / "identity").exists())
    eventually(server.reports)
    kept = json.loads((machine.state / "identity").read_text())
    assert kept == {"agent_id": "a-1", "instance_id": "i-1", "token": "token-of-the-instance"}
    assert (machine.state / "identity").stat().st_mode & 0o777 == 0o600
    registered = next(body for _, path, body, _ in server.asked if path.endswith("/register"))
    assert registered["boot_id"].endswith(registered["session"][:8]), "another process is another boot"
    headers = {path.rpartition("/")[2]: header for _, path, _, header in server.asked}
    assert headers["register"]["Authorization"] == "Bearer once"
    assert headers["heartbeat"]["Authorization"] == "Bearer token-of-the-instance"
    assert "X-Request-ID" in headers["register"]
    machine.close()
    (machine.state / "identity").chmod(0o644)
    said = refused(machine, capsys)
    assert "others may read it (mode 644): chmod 600" in said
    assert "token-of-the-instance" not in machine.said() + said


def test_an_enrolment_that_is_used_up_is_told_with_the_fix(machine: Machine, server: WireServer) -> None:
    server.script.refuses["register"] = (401, "UNAUTHENTICATED")
    machine.start()
    assert machine.agent is not None
    assert machine.agent.wait(PATIENCE_S) == 2
    said = machine.said()
    assert "the enrolment is used up" in said
    assert "holdfast failover enrol a-1" in said
    assert "once" not in said.replace("make a new one", "")


def test_a_second_agent_in_the_same_directory_is_refused(
    machine: Machine, server: WireServer, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.start()
    eventually(server.reports)
    assert f"another agent (process {machine.agent and machine.agent.pid})" in refused(machine, capsys)


def test_an_instance_that_is_not_enabled_serves_nothing(machine: Machine, server: WireServer) -> None:
    server.script.enabled = False
    server.tell("promote", 1)
    machine.start()
    eventually(lambda: "not enabled" in machine.said())
    assert machine.ran() == []
    assert not server.reports()


def test_everything_that_is_wrong_is_named_at_once(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    (machine.hooks / "on-demote").unlink()
    (machine.hooks / "health").chmod(0o644)
    machine.extra = [
        *("--server", "http://failover.example.com", "--protect", "process:7", "--limit", "on-promote=soon"),
        *("--instance", "no blanks", "--ca", "missing.pem", "--listen", "nowhere", "--priority", "5000"),
    ]
    lines = refused(machine, capsys).splitlines()
    assert len(lines) == 9
    assert all(line.startswith("error: ") for line in lines)
    said = "\n".join(lines)
    for part in (
        "on-demote is missing",
        "health is not executable: chmod +x",
        "the token would travel in the clear: use https",
        "--protect 'process:7' is none of pid:N",
        "--limit on-promote=soon: such as on-promote=60",
        "--instance 'no blanks'",
        "--ca missing.pem: there is no such file",
        "--listen nowhere: such as",
        "--priority 5000",
    ):
        assert part in said, said


def test_files_that_cannot_be_used_are_named_with_the_fix(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.enrol.write_text("two words")
    assert "it holds no enrolment" in refused(machine, capsys)
    machine.enrol.unlink()
    assert "there is no such file, and" in refused(machine, capsys)
    machine.enrol.write_text("bare-token")
    assert "--agent-id is missing" in refused(machine, capsys)
    machine.extra = ["--agent-id", "a-1"]
    machine.state.mkdir(exist_ok=True)
    (machine.state / "epoch").write_text("{}x")
    assert "epoch is damaged" in refused(machine, capsys)
    (machine.state / "epoch").unlink()
    machine.extra += ["--run", str(machine.enrol)]
    assert f"--run {machine.enrol}: File exists" in refused(machine, capsys)


def test_a_release_of_an_agent_whose_number_is_not_known_signals_no_process(
    machine: Machine, capsys: pytest.CaptureFixture[str]
) -> None:
    """A full disk has kept it from writing its number down; signal 0 would go to our own process group."""
    machine.run.mkdir(parents=True)
    lock = files.Lock(machine.run)
    assert lock.take()
    (machine.run / files.LOCK).write_text("")
    assert main(["--release", "--run", str(machine.run)]) == 2
    assert "send it SIGUSR1 by hand" in capsys.readouterr().err
    lock.release()


def test_what_a_killed_agent_was_about_to_start_keeps_no_other_away_for_long(tmp_path: Path) -> None:
    """Between fork and exec a child holds all that its parent held."""
    dying, next_one = files.Lock(tmp_path), files.Lock(tmp_path)
    assert dying.take()
    assert not next_one.take()
    threading.Timer(0.1, dying.release).start()
    assert next_one.take(PATIENCE_S)
    next_one.release()


def test_what_the_disk_took_only_in_part_is_not_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files.store_epochs(tmp_path, 3, 2)
    monkeypatch.setattr(os, "write", lambda fd, data: len(data) - 1)
    with pytest.raises(OSError, match="No space left on device"):
        files.store_epochs(tmp_path, 4, 4)
    assert files.load_epochs(tmp_path) == (3, 2)
