"""The process that outlives a test only long enough to clean up after it.

Run as a program.  It reads one JSON command a line on standard input, starts what it
is told to, and answers with one line each.  End of input means that the process
that started it is gone, by whatever death: then everything is stopped, newest first, by its own
process group, whatever those left behind is killed, and the temporary folder is removed.
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

STOP_GRACE_S = 20.0
UNHEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36


def prepare_child() -> None:
    """Should even the keeper be killed, the kernel ends its children; and what it ignores, they do not."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    for heard in UNHEARD:
        signal.signal(heard, signal.SIG_DFL)


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
            preexec_fn=prepare_child,
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


def inherit_orphans() -> None:
    """A grandchild in a process group of its own comes to the keeper, not to init, when its parent dies."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)


def end_orphans() -> None:
    """Kill what is left below the keeper; the death of one may bring the next."""
    while left := _children():
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def _children() -> list[int]:
    found = []
    for entry in os.listdir("/proc"):
        # The name may hold blanks and brackets, so the fields are counted from behind it.
        with contextlib.suppress(ValueError, OSError), open(f"/proc/{int(entry)}/stat") as stat:
            if int(stat.read().rpartition(")")[2].split()[1]) == os.getpid():
                found.append(int(entry))
    return found


def obey(command: Mapping[str, Any], children: dict[str, subprocess.Popen[bytes]]) -> dict[str, Any]:
    """Do one command; the answer to it."""
    match command["do"]:
        case "start":
            try:
                child = children[command["name"]] = start(command)
            except OSError as error:
                return {"error": f"{command['name']} cannot be started: {error}"}
            return {"pid": child.pid}
        case "poll":
            return {"code": children[command["name"]].poll()}
        case "stop":
            ended = children.pop(command["name"])
            stop(ended)
            return {"code": ended.returncode}
        case "kill":
            killed = children.pop(command["name"])
            os.killpg(killed.pid, signal.SIGKILL)
            killed.wait()
        case other:
            return {"error": f"the keeper knows no such command: {other}"}
    return {}


def main(folder: str) -> None:
    inherit_orphans()
    for unheard in UNHEARD:
        signal.signal(unheard, signal.SIG_IGN)
    children: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for line in sys.stdin:
            print(json.dumps(obey(json.loads(line), children)), flush=True)
    finally:
        for child in reversed(children.values()):
            stop(child)
        end_orphans()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1])
