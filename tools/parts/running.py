"""Started processes as a test sees them: a folder, free ports, and a keeper that cleans up."""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.parts.stopping import Stopping

KEEPER = Path(__file__).with_name("keeper.py")
STOP_TIMEOUT_S = 600.0
"""For a keeper that hangs: it stops one process after the other, and each may take its time."""


class DidNotStart(Exception):
    """A part was started and did not answer in time; the message ends with its log."""


def answers_http(url: str, *, below_status: int = 500) -> bool:
    """Whether anything speaks HTTP there; any status under the limit will do."""
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:
            return bool(answer.status < below_status)
    except urllib.error.HTTPError as error:
        return error.code < below_status
    except (OSError, ValueError):
        return False


class Running(Stopping):
    """The processes of one started part, and the temporary folder they live in."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.folder = Path(tempfile.mkdtemp(prefix=f"holdfast-{name}-"))
        self._keeper = subprocess.Popen(
            [sys.executable, str(KEEPER), str(self.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def start(self, name: str, argv: Sequence[str | Path], *, env: Mapping[str, str] | None = None) -> int:
        """Start a process under the keeper; its output goes to `<name>.log`."""
        answer = self._ask(
            do="start",
            name=name,
            argv=[str(word) for word in argv],
            cwd=str(self.folder),
            env={**os.environ, **(env or {})},
            log=str(self.log(name)),
        )
        return int(answer["pid"])

    def wait_until(self, name: str, answers: Callable[[], bool], *, timeout_s: float = 600) -> None:
        """Return once it answers; raise with the end of its log if it dies or takes too long."""
        deadline_s = time.monotonic() + timeout_s
        while not answers():
            code = self._ask(do="poll", name=name)["code"]
            if code is not None:
                raise DidNotStart(f"{self.name}: {name} ended with code {code}\n{self.tail(name)}")
            if time.monotonic() > deadline_s:
                raise DidNotStart(f"{self.name}: {name} gave no answer in {timeout_s} s\n{self.tail(name)}")
            time.sleep(0.05)

    def end(self, name: str) -> int | None:
        """Stop one process kindly (SIGTERM, then SIGKILL); how it ended."""
        code: int | None = self._ask(do="stop", name=name)["code"]
        return code

    def kill(self, name: str) -> None:
        """SIGKILL one process and its group."""
        self._ask(do="kill", name=name)

    def log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    def tail(self, name: str, lines: int = 30) -> str:
        log = self.log(name)
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) if log.exists() else ""

    def stop(self) -> None:
        """Stop everything, newest first, and remove the folder.  Twice is once."""
        if self._keeper.stdin and not self._keeper.stdin.closed:
            self._keeper.stdin.close()
        self._keeper.wait(timeout=STOP_TIMEOUT_S)
        if self._keeper.stdout:
            self._keeper.stdout.close()

    def _ask(self, **command: Any) -> dict[str, Any]:
        assert self._keeper.stdin is not None
        assert self._keeper.stdout is not None
        self._keeper.stdin.write(json.dumps(command) + "\n")
        self._keeper.stdin.flush()
        answer: dict[str, Any] = json.loads(self._keeper.stdout.readline())
        if "error" in answer:
            raise DidNotStart(f"{self.name}: {answer['error']}")
        return answer
