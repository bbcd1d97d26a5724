"""The two ways in which the autoscaler lives, each with processes that can be killed.

A shell goes on by itself until it is stopped.  What the cloud tells reaches it the way that it
would in life.
"""

import json
import os
import signal
import sys
import sysconfig
import threading
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from holdfast.adapters.aws.events import notices_of
from tools.endure.ground import Ground
from tools.endure.load import wait
from tools.parts.catalog.lambda_runtime import PART as LAMBDA
from tools.parts.running import Running

SOURCE = Path(__file__).parents[2] / "src"
EVERY_S = 1.0
RARELY_S = 10.0
"""Of loops that watch: what they do soon, they do because they saw it."""
FUNCTION_TIMEOUT_S = 30
SCHEDULED = {"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}}

EventBridge = Mapping[str, Any]
"""An event in EventBridge's own JSON."""


class Shell(ABC):
    name: str

    @abstractmethod
    def aim(self) -> None:
        """A kill may be near: find out now which process it will strike, if that takes long."""

    @abstractmethod
    def kill(self) -> bool:
        """SIGKILL a process that works for it; whether there was one.  Another one follows."""

    @abstractmethod
    def tell(self, events: Sequence[EventBridge]) -> None:
        """These events have come.  Returns when they are kept."""

    @abstractmethod
    def log(self) -> str:
        """The end of what it printed."""

    @abstractmethod
    def stop(self) -> None:
        """End it, and all that it started.  Twice is once; it ends with its ground at the latest."""


class LoopShell(Shell):
    """`holdfast autoscaler run`.  Notices are put into its inbox from outside."""

    name = "loop"
    words: Sequence[str] = ("--every", str(EVERY_S))

    def __init__(self, ground: Ground) -> None:
        self._ground, self._running = ground, Running("autoscaler")
        ground.closing.callback(self.stop)
        self._settings = ground.write_settings()
        self._start()

    def _start(self) -> None:
        program = Path(sys.executable).parent / "holdfast"
        words = ["autoscaler", "run", "--config", str(self._settings), *self.words]
        self._running.start(self.name, [program, *words, "--create-tables"], env=self._ground.environment)

    def aim(self) -> None:
        """There is only one, and it is known."""

    def kill(self) -> bool:
        self._running.kill(self.name)
        self._start()
        return True

    def tell(self, events: Sequence[EventBridge]) -> None:
        self._ground.inbox.put([notice for event in events for notice in notices_of(event).notices])

    def log(self) -> str:
        return self._running.tail(self.name, 60)

    def stop(self) -> None:
        self._running.stop()


class LambdaShell(Shell):
    """`holdfast.lambda_handler.handler` in AWS's own runtime, in two environments that overlap.

    One is invoked by the schedule.  The other gets the events: one by one, or in batches from a
    queue, and some of them twice.
    """

    name = "lambda"

    def __init__(self, ground: Ground) -> None:
        ground.store.read("cluster")  # makes the tables: a function has no right to
        self._stopping = threading.Event()
        self._scheduled, self._called = Environment(ground), Environment(ground)
        self._deliveries = 0
        self._schedule = threading.Thread(target=self._invoke_for_ever, daemon=True)
        self._schedule.start()
        ground.closing.callback(self.stop)

    def _invoke_for_ever(self) -> None:
        while not self._stopping.is_set():
            self._scheduled.invoke(SCHEDULED)
            self._stopping.wait(EVERY_S)

    def aim(self) -> None:
        for each in (self._called, self._scheduled):
            if each.is_busy:
                each.aim()

    def kill(self) -> bool:
        """The busy one rather than the other.  The emulator lives on, as the service does."""
        both = sorted((self._called, self._scheduled), key=lambda each: not each.is_busy)
        return any(each.kill() for each in both)

    def tell(self, events: Sequence[EventBridge]) -> None:
        """Again and again until it was answered, as AWS delivers."""
        self._deliveries += 1
        sent = list(events) if self._deliveries % 2 else [as_batch([*events, events[0]])]
        for event in sent:
            wait(partial(self._is_taken, event), "an event is answered", timeout_s=600)

    def _is_taken(self, event: EventBridge) -> bool:
        answer = self._called.invoke(event)
        return self._stopping.is_set() or ("errorType" not in answer and not answer.get("batchItemFailures"))

    def log(self) -> str:
        return "\n".join(f"--- {each.log()}" for each in (self._scheduled, self._called))

    def stop(self) -> None:
        self._stopping.set()
        for each in (self._scheduled, self._called):
            each.stop()
        self._schedule.join(10 * FUNCTION_TIMEOUT_S)


class WatchingShell(LoopShell):
    name = "watch"
    words = ("--watch", "--every", str(RARELY_S))


class TogetherShell(Shell):
    """Two loops that watch and a function, at once on one record: any is killed, and the others go on."""

    name = "together"

    def __init__(self, ground: Ground) -> None:
        self._loops = [WatchingShell(ground), WatchingShell(ground)]
        self._function = LambdaShell(ground)
        self._all: list[Shell] = [*self._loops, self._function]
        self._turn = 0

    def aim(self) -> None:
        self._function.aim()

    def kill(self) -> bool:
        """One after the other; the next one where there is nothing to kill."""
        for _ in self._all:
            self._turn += 1
            if self._all[self._turn % len(self._all)].kill():
                return True
        return False

    def tell(self, events: Sequence[EventBridge]) -> None:
        """By the function's queue, or straight into the inbox that all of them share."""
        self._turn += 1
        (self._function if self._turn % 2 else self._loops[0]).tell(events)

    def log(self) -> str:
        return "\n".join(f"=== {each.name}\n{each.log()}" for each in self._all)

    def stop(self) -> None:
        for each in self._all:
            each.stop()


class Environment:
    """One execution environment of the function: the emulator, and the runtime that it starts anew."""

    def __init__(self, ground: Ground, *, timeout_s: int = FUNCTION_TIMEOUT_S, **settings: object) -> None:
        self._function = LAMBDA.start(
            "holdfast.lambda_handler.handler",
            [SOURCE, sysconfig.get_paths()["purelib"]],
            ground.settings_environment(**settings),
            timeout_s=timeout_s,
        )
        ground.closing.callback(self.stop)
        self.is_busy = False
        self.answers: list[Any] = []
        self._aimed_at: int | None = None

    def invoke(self, event: EventBridge) -> Any:
        self.is_busy = True
        try:
            answer = self._function.invoke(event)
        except (OSError, json.JSONDecodeError) as error:
            answer = {"errorType": type(error).__name__, "errorMessage": str(error)}
        finally:
            self.is_busy = False
        self.answers = [*self.answers[-9:], answer]
        return answer

    def aim(self) -> None:
        """Keep in mind what is to be killed: to search all processes takes longer than some phases last."""
        if self._aimed_at is None or not self._is_runtime(str(self._aimed_at)):
            self._aimed_at = self._runtime()

    def kill(self) -> bool:
        self.aim()
        pid = self._aimed_at
        if pid is None:
            return False
        os.kill(pid, signal.SIGKILL)
        wait(lambda: not _is_alive(pid), f"process {pid} is dead", timeout_s=300, every_s=0.005)
        return True

    def log(self) -> str:
        return "\n".join([self._function.log()[-6_000:], *map(str, self.answers)])

    def stop(self) -> None:
        self._function.stop()

    def _runtime(self) -> int | None:
        """The emulator's child, which alone of the two is a Python."""
        return next(
            (int(pid) for pid in os.listdir("/proc") if pid.isdigit() and self._is_runtime(pid)), None
        )

    def _is_runtime(self, pid: str) -> bool:
        words = _words(pid)
        is_python = words[0].endswith("python") and "awslambdaric" in words
        return is_python and _folder(pid) == str(self._function.running.folder)


def as_batch(events: Sequence[EventBridge]) -> EventBridge:
    """As a queue hands them to a function."""
    return {
        "Records": [
            {"messageId": str(uuid.uuid4()), "eventSource": "aws:sqs", "body": json.dumps(event)}
            for event in events
        ]
    }


def _words(pid: str) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return [""]


def _folder(pid: str) -> str:
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


def _is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
