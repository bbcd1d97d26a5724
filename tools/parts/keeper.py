"""The process that outlives a test only long enough to clean up after it.

Run as a program.  It reads one JSON command a line on standard input, starts what it
is told to, and answers with one line each.  End of input means that whoever started
it is gone, by whatever death: then everything is stopped, newest first, by its own
process group, and the temporary folder is removed.
"""

import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

STOP_GRACE_S = 8.0
PR_SET_PDEATHSIG = 1


def die_with_the_keeper() -> None:
    """Should even the keeper be killed, the kernel ends its children."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def start(command: Mapping[str, Any]) -> subprocess.Popen[bytes]:
    with open(command["log"], "ab") as log:
        return subprocess.Popen(
            command["argv"],
            cwd=command["cwd"],
            env=command["env"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with_the_keeper,
        )


def stop(child: subprocess.Popen[bytes], grace_s: float = STOP_GRACE_S) -> None:
    for send, patience_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, 5.0)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, send)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(patience_s)
            break
    # The leader may be gone while others of its group linger.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)


def main(folder: str) -> None:
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    children: dict[str, subprocess.Popen[bytes]] = {}
    for line in sys.stdin:
        command = json.loads(line)
        match command["do"]:
            case "start":
                child = children[command["name"]] = start(command)
                answer: dict[str, Any] = {"pid": child.pid}
            case "poll":
                answer = {"code": children[command["name"]].poll()}
            case "stop":
                stop(children.pop(command["name"]))
                answer = {}
            case "kill":
                killed = children.pop(command["name"])
                os.killpg(killed.pid, signal.SIGKILL)
                killed.wait()
                answer = {}
            case other:
                raise SystemExit(f"keeper: no such command: {other}")
        print(json.dumps(answer), flush=True)
    for child in reversed(children.values()):
        stop(child)
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
