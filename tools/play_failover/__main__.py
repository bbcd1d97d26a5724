"""`python -m tools.play_failover`: a failover server and three machines, to play with until Ctrl-C."""

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path

from tools.parts.play.playground import Taken, claim
from tools.play_failover.folder import MACHINES, chosen_port, furnish

FOLDER = Path(__file__).parents[2] / "build" / "failover"
READY_WITHIN_S = 60.0
STOPS_WITHIN_S = 10.0


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools.play_failover", description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where all of it is meanwhile")
    asked = parser.parse_args()
    asked_to_stop = threading.Event()
    for asks in (signal.SIGINT, signal.SIGTERM):
        signal.signal(asks, lambda *_: asked_to_stop.set())
    with contextlib.ExitStack() as started:
        try:
            folder = started.enter_context(claim(asked.folder.resolve(), "failover"))
        except Taken as error:
            print(error, file=sys.stderr)
            return 1
        play(started, folder)
        print("\nCtrl-C stops and removes all of it.", flush=True)
        asked_to_stop.wait()
        print("\nstopping …", flush=True)
    print("everything is stopped and removed", flush=True)
    return 0


def play(started: contextlib.ExitStack, folder: Path) -> None:
    port = chosen_port()
    furnish(folder, port)
    environ = {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"}
    holdfast = str(folder / "bin" / "holdfast")
    subprocess.run([holdfast, "failover", "clients", "add", "shop"], cwd=folder, env=environ, check=True)
    subprocess.run([folder / "bin" / "start-server"], cwd=folder, env=environ, check=True)
    started.callback(_end, folder / "server.pid")
    _answers(f"http://127.0.0.1:{port}/health")
    started.callback(subprocess.run, ["pkill", "-KILL", "-f", f"{folder}/machine-"], check=False)
    for machine in MACHINES:
        subprocess.run([folder / "bin" / "start", str(machine)], cwd=folder, env=environ, check=True)
    show(folder, port)


def _answers(url: str) -> None:
    end_s = time.monotonic() + READY_WITHIN_S
    while True:
        try:
            urllib.request.urlopen(url, timeout=1).close()
            return
        except (urllib.error.URLError, OSError):
            if time.monotonic() > end_s:
                raise
            time.sleep(0.1)


def _end(pid_file: Path) -> None:
    """The server that runs now: it may have been killed and started again."""
    server = int(pid_file.read_text())
    with contextlib.suppress(ProcessLookupError):
        os.kill(server, signal.SIGTERM)
        end_s = time.monotonic() + STOPS_WITHIN_S
        while time.monotonic() < end_s:
            os.kill(server, 0)
            time.sleep(0.1)


def show(folder: Path, port: int) -> None:
    here = Path.cwd()
    print(f"\n  server      http://127.0.0.1:{port}, its log is server.log")
    print("\n  The first primary is chosen after one lease.  In another terminal:\n")
    print(f"    cd {folder.relative_to(here) if folder.is_relative_to(here) else folder} && . ./env")
    print("    holdfast failover status     # who is the primary, and who could take over")
    print("    who                          # which counter takes a write")
    print("    kill-machine 1               # the whole machine; a standby takes over")
    print("    kill-agent 2                 # only the agent: the watchdog ends the counter in time")
    print("    freeze-agent 3               # it hangs, and wakes too late: wake-agent 3")
    print("    kill-server                  # nothing is lost: start-server")
    print("    holdfast failover why db     # what happened, step by step")
    print("\n  docs/guides/failover.md goes on from here.")


if __name__ == "__main__":
    raise SystemExit(main())
