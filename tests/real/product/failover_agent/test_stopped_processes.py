"""Processes that are stopped, woken, killed and replaced, in real time."""

import json
import signal
import subprocess
import time
import urllib.error
import urllib.request

from tests.agent.machine import Machine, alive, eventually
from tests.agent.metadata import Script
from tests.agent.wire_server import WireServer
from tools.parts.imds.control import stamp


def test_an_agent_that_was_stopped_and_is_woken_finds_its_service_killed_and_serves_again(
    machine: Machine,
) -> None:
    machine.serving()
    service = machine.service()
    machine.kill(signal.SIGSTOP)
    eventually(lambda: not alive(service or 0), "the watchdog's kill")
    machine.kill(signal.SIGCONT)
    eventually(lambda: machine.service() not in (None, service), "a new promotion under the same epoch")
    assert machine.ran() == ["on-promote 1", "on-demote 1", "on-promote 1"]


def test_a_watchdog_that_dies_or_hangs_is_replaced(machine: Machine, server: WireServer) -> None:
    server.script.term_s = 30.0  # a busy machine is slow
    machine.serving()
    service, first = machine.service(), machine.watchdog_pid()
    subprocess.run(["kill", "-STOP", str(first)], check=True)
    eventually(lambda: machine.watchdog_pid() != first, "another watchdog")
    eventually(lambda: not alive(first), "the one that hung is ended")
    assert any(not report["watchdog_ok"] for report in server.reports()), "it asked for no lease meanwhile"
    eventually(lambda: server.reports()[-1]["watchdog_ok"])
    assert machine.service() == service, "its lease was long enough"


def test_what_load_balancers_ask_is_answered_from_the_lease(machine: Machine, server: WireServer) -> None:
    machine.extra = ["--listen", "127.0.0.1:18008"]
    machine.serving()

    def asked(path: str) -> tuple[int, dict[str, object]]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:18008{path}", timeout=5) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.loads(error.read())

    status, said = asked("/primary")
    assert (status, said["role"], said["epoch"]) == (200, "primary", 1)
    assert asked("/replica")[0] == 503
    assert asked("/health")[0] == 200
    assert asked("/")[0] == 404
    server.script.up = False
    eventually(lambda: asked("/primary")[0] == 503, "no lease, no primary")


def test_a_session_that_another_process_holds_is_waited_for(machine: Machine, server: WireServer) -> None:
    server.script.refuses["register"] = (409, "SESSION_HELD")
    server.tell("promote", 1)
    machine.start()
    eventually(lambda: server.paths().count("register") >= 1)
    assert machine.ran() == []
    eventually(lambda: "SESSION_HELD" in machine.said())
    server.script.refuses.clear()
    eventually(lambda: machine.told("promote", "done"), "its turn comes")


def test_notices_are_told_once_each_also_while_a_hook_runs(
    machine: Machine, server: WireServer, script: Script
) -> None:
    machine.extra = ["--imds", script.server.url]
    machine.write_hook("on-promote", "sleep 1000")
    server.tell("promote", 1)
    machine.start()
    eventually(lambda: machine.told("promote", "running"))
    server.script.refuses["rebalance-notice"] = (503, "UNAVAILABLE")
    script.book.rebalance("i-1", "2026-01-01T00:00:00Z")
    eventually(lambda: server.paths().count("rebalance-notice") > 1, "told until it is taken")
    server.script.refuses.clear()
    script.book.interrupt("i-1", "terminate", stamp(time.time() + 120))
    eventually(lambda: "termination-notice" in server.paths())
    eventually(lambda: server.paths()[-3:].count("heartbeat") == 3)
    told = [asked for asked in server.asked if asked[1].endswith("termination-notice")]
    assert len(told) == 1
    assert set(told[0][2]) == {"instance_id", "session", "action", "deadline_in_s"}
    assert 60 < told[0][2]["deadline_in_s"] <= 120
    ids = {json.dumps(header["X-Request-ID"]) for _, path, _, header in server.asked if "rebalance" in path}
    assert len(ids) == 1, "the same notice has the same id, however often it is told"
