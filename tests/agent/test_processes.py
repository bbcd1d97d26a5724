"""Real processes: what a killed, stopped or restarted agent does to the service that it keeps."""

import signal
import subprocess
import sys
import time

from tests.agent.machine import PATIENCE_S, Machine, alive, environment, eventually
from tests.agent.wire_server import WireServer


def test_a_service_whose_agent_is_killed_is_killed_at_the_deadline(machine: Machine) -> None:
    machine.serving()
    service = machine.service()
    assert service is not None
    machine.kill(signal.SIGKILL)
    left_s, began_s = machine.lease_left_s(), time.monotonic()
    assert left_s > 0.5
    assert alive(service), "its lease still runs"
    eventually(lambda: not alive(service), "the watchdog's kill")
    late_s = time.monotonic() - began_s - left_s
    assert -0.05 < late_s < 2.0, f"{late_s} s after the deadline, on a machine that may be busy"


def test_a_restart_leaves_the_service_and_goes_on_with_its_session(
    machine: Machine, server: WireServer
) -> None:
    server.script.term_s = 30.0  # a busy machine is slow
    machine.serving()
    service = machine.service()
    machine.kill(signal.SIGTERM)
    assert alive(service or 0)
    assert "stays under the watchdog" in machine.said()
    heard = len(server.reports())
    machine.start()
    eventually(lambda: len(server.reports()) > heard + 1)
    assert machine.service() == service
    assert machine.ran() == ["on-promote 1"]
    sessions = {body["session"] for _, path, body, _ in server.asked if path.endswith("/register")}
    assert len(sessions) == 1
    assert machine.lease_left_s() > 0


def test_a_release_hands_over_and_ends_the_agent(machine: Machine, server: WireServer) -> None:
    server.script.term_s = 30.0  # a busy machine is slow
    machine.serving()
    argv = [sys.executable, "-m", "holdfast.agent", "--release", "--run", str(machine.run)]
    asking = subprocess.Popen(argv, env=environment())
    eventually(lambda: server.reports()[-1]["status"] == "stopping")
    assert machine.service() is not None, "it serves until another can"
    server.tell("demote", 2)
    assert asking.wait(timeout=PATIENCE_S) == 0
    assert machine.service() is None
    last = server.reports()[-1]
    assert (last["hook_goal"], last["hook_state"], last["position"]) == ("demote", "done", "42")


def test_a_hook_that_hangs_is_killed_and_told_while_heartbeats_go_on(
    machine: Machine, server: WireServer
) -> None:
    machine.write_hook("on-promote", "echo waits for ever; sleep 1000 & echo $! > $M/child; wait")
    machine.extra = ["--limit", "on-promote=1.5"]
    server.tell("promote", 1)
    machine.start()
    eventually(lambda: machine.told("promote", "running"))
    heard = len(server.reports())
    said = eventually(lambda: machine.told("promote", "failed"))
    assert "waits for ever" in said["hook_output"]
    assert "killed: it took longer than 1.5 s" in said["hook_output"]
    assert len(server.reports()) > heard + 1
    child = int((machine.folder / "child").read_text())
    eventually(lambda: not alive(child), "its whole process group is killed")


def test_an_epoch_that_cannot_be_stored_is_not_served(machine: Machine, server: WireServer) -> None:
    machine.state.mkdir()
    (machine.state / "epoch.new").symlink_to("/dev/full")
    server.tell("promote", 3)
    machine.start()
    said = eventually(lambda: machine.told("promote", "failed"))
    assert "No space left on device" in said["hook_output"]
    assert machine.ran() == []
    server.tell("stop", 4)
    eventually(lambda: machine.told("demote", "done"), "stopping needs no disk")


def test_the_second_server_is_asked_when_the_first_is_away(machine: Machine, server: WireServer) -> None:
    machine.extra = ["--server", server.url]
    gone = WireServer()
    gone.shutdown()
    gone.server_close()
    machine.server = gone
    server.tell("promote", 1)
    machine.start()
    machine.server = server
    eventually(lambda: machine.told("promote", "done"))
    assert machine.lease_left_s() > 0
