"""Running the user's programs: each in a process group of its own, within its limit, its output kept.

A hook that is killed or fails is ended with all that it has started, wherever that went: a service that it
began to start would else come up later, after `on-demote` found none to stop, and serve without a lease.
They are found by a mark in their environment, which also those keep that made a session of their own.

Output goes to a file in memory: a full disk hinders no hook, and a service that a hook leaves behind may
go on writing though the agent has ended.
"""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from holdfast.agent.page import Page, boottime_s
from holdfast.failover.agent.goals import CHANGING, Hook
from holdfast.failover.agent.report import OUTPUT_MAX
from holdfast.failover.agent.words import HookEnded, RunHook

READ_MAX: Final = 16_384
MARK: Final = "HOLDFAST_RUN"
"""In the environment of all that one run of a hook has started."""
LOOK_AGAIN_S: Final = 0.02
FOUND_WITHIN_S = 10.0
"""The watchdog looks many times a second while a hook runs.  On a busy machine it waits for its turn, and a
promotion that is called failed for that costs more than a wrong `--protect` that is found late."""
WATCH_EVERY_S: Final = 0.1
PRINTED_MAX: Final = 16 << 20
"""Of one run.  It is kept in memory."""


class Hooks:
    def __init__(
        self, folder: Path, page: Page, environment: Mapping[str, str], tell: Callable[[HookEnded], None]
    ) -> None:
        self.folder, self.page, self.environment, self.tell = folder.resolve(), page, environment, tell
        self.changing: tuple[int, subprocess.Popen[bytes] | None] = (0, None)
        """The run of the hook that changes something, and its process once it has one."""
        self.unwanted = 0
        """The run that is to be killed, also if its process begins only now."""

    def start(self, action: RunHook) -> None:
        """Run it in a thread of its own; its end is told."""
        if action.hook in CHANGING:
            self.changing = (action.run, None)
        threading.Thread(target=self._run, args=(action,), daemon=True, name=action.hook).start()

    def kill_changing(self) -> None:
        """End the hook that changes something, with all that it has started.  Twice is once."""
        self.unwanted, process = self.changing
        if process is not None and process.poll() is None:
            _kill_group(
                process.pid
            )  # what it has started is ended with its run, by the thread that waits for it

    def _run(self, action: RunHook) -> None:
        if action.before_s is not None and boottime_s() >= action.before_s:
            self.tell(self._ended(action, ok=False, output="not started: the lease is over"))
            return
        memory = os.memfd_create(action.hook)
        try:
            self.tell(self._watch(action, memory))
        finally:
            os.close(memory)

    def _watch(self, action: RunHook, memory: int) -> HookEnded:
        path, mark = self.folder / action.hook, f"{os.getpid()}-{os.urandom(8).hex()}"
        try:
            process = subprocess.Popen(
                [path],
                stdin=subprocess.DEVNULL,
                stdout=memory,
                stderr=memory,
                env={**self._environment(action), MARK: mark},
                cwd=self.folder,
                start_new_session=True,
            )
        except OSError as error:
            return self._ended(action, ok=False, output=f"{path} cannot be run: {error.strerror}")
        changing = action.hook in CHANGING
        if changing:
            self.changing = (action.run, process)
            self.page.hook_runs(process.pid if action.hook is Hook.ON_PROMOTE else 0)
            if self.unwanted == action.run:
                _kill_group(process.pid)
        why = _wait(process, memory, action.limit_s)
        if not why and process.returncode:
            said = "killed: it is not wanted any more"
            why = said if self._is_unwanted(action) else f"it ended with status {process.returncode}"
        if not why and action.hook is Hook.ON_PROMOTE and not self._is_found(action):
            why = "the watchdog finds no process to stop: what --protect names is not what this hook starts"
        if why and (self._is_unwanted(action) or action.hook is Hook.ON_PROMOTE):
            end_marked(mark)
        if changing:
            self.changing = (0, None)
            self.page.hook_runs(0)
        return self._ended(action, ok=not why, output=_text(memory), why=why)

    def _is_unwanted(self, action: RunHook) -> bool:
        return action.hook in CHANGING and self.unwanted == action.run

    def _is_found(self, action: RunHook) -> bool:
        """Whether the watchdog has found a process of what it protects; a service may be slow to appear."""
        until_s = boottime_s() + FOUND_WITHIN_S
        while not self.page.targets and boottime_s() < until_s and not self._is_unwanted(action):
            time.sleep(LOOK_AGAIN_S)
        return self.page.targets > 0

    def _environment(self, action: RunHook) -> dict[str, str]:
        given = {**os.environ, **self.environment, **_of_action(action)}
        if action.hook is Hook.ON_PROMOTE:  # the group has no primary until this has succeeded
            given["HOLDFAST_PRIMARY"] = given.get("HOLDFAST_INSTANCE", "")
            given["HOLDFAST_PRIMARY_ADDRESS"] = given.get("HOLDFAST_ADDRESS", "")
        return given

    def _ended(self, action: RunHook, *, ok: bool, output: str, why: str = "") -> HookEnded:
        said = dict(line.split("=", 1) for line in output.splitlines() if "=" in line)
        position = said.get("position")
        told = f"{output.strip()}\n{action.hook}: {why}".strip() if why else output.strip()
        return HookEnded(
            hook=action.hook,
            run=action.run,
            ok=ok,
            output=told[-OUTPUT_MAX:],
            position=position.strip()[:500] if position is not None else None,
            lag_s=_number(said.get("lag_s")),
        )


def _wait(process: "subprocess.Popen[bytes]", memory: int, limit_s: float) -> str:
    """Until it has ended; why it was killed, or empty if it was not."""
    until_s = boottime_s() + limit_s
    while True:
        try:
            process.wait(min(WATCH_EVERY_S, max(0.0, until_s - boottime_s())))
            return ""
        except subprocess.TimeoutExpired:
            if boottime_s() >= until_s:
                why = f"killed: it took longer than {limit_s:g} s"
            elif os.fstat(memory).st_size > PRINTED_MAX:
                why = f"killed: it printed more than {PRINTED_MAX >> 20} MB"
            else:
                continue
        _kill_group(process.pid)
        process.wait()
        return why


def _of_action(action: RunHook) -> dict[str, str]:
    return {
        "HOLDFAST_HOOK": action.hook.value,
        "HOLDFAST_EPOCH": str(action.epoch),
        "HOLDFAST_PRIMARY": action.primary,
        "HOLDFAST_PRIMARY_ADDRESS": action.address,
        "HOLDFAST_LIMIT_S": f"{action.limit_s:g}",
    }


def _text(memory: int) -> str:
    """The last that was written; what the wire cannot carry is replaced."""
    size = os.fstat(memory).st_size
    text = os.pread(memory, READ_MAX, max(0, size - READ_MAX)).decode(errors="replace")
    return "".join(letter if letter.isprintable() or letter in "\n\t" else " " for letter in text)


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if 0 <= number < 10**9 else None


def end_marked(mark: str) -> int:
    """Kill every process that a hook's run has started; how many there were.  A second call finds none.

    Until a look finds none: what is killed last may have started another.
    """
    wanted, ended = f"{MARK}={mark}".encode(), 0
    while found := [pid for pid in _others() if wanted in _environ_of(pid)]:
        for pid in found:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        ended += len(found)
        time.sleep(LOOK_AGAIN_S)
    return ended


def mark_of(pid: int) -> str:
    """Of the hook's run to which this process belongs; empty if it belongs to none, or has ended."""
    marks = [each for each in _environ_of(pid) if each.startswith(f"{MARK}=".encode())]
    return marks[0].partition(b"=")[2].decode(errors="replace") if marks else ""


def _others() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def _environ_of(pid: int) -> list[bytes]:
    """Empty of one that has ended, also if its parent has not asked for it yet, and of another user's."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []


def _kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        return
