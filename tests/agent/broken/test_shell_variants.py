"""The agent's shell and its watchdog with one guard taken out, and what catches it."""

import os
import subprocess
import sys
import time
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from holdfast.agent import hooks as shipped
from holdfast.agent import watchdog
from holdfast.agent.page import Page
from holdfast.failover.agent import resume, words
from holdfast.failover.agent.brain import think
from holdfast.failover.agent.goals import Hook
from holdfast.failover.agent.state import booted
from tests.agent.machine import eventually
from tests.failover.agent.body import serving
from tests.proof import prove
from tests.variants import broken


def outlives(script: str, folder: Path) -> bool:
    """Whether a service that is started after the deadline, by a hook of a dead agent, lives on."""
    page, pidfile = Page(folder / "page"), folder / "pid"
    page.arm(1e-9, 1)
    argv = [sys.executable, "-I", "-S", script, "--page", str(page.path), "--protect", f"pidfile:{pidfile}"]
    dog = subprocess.Popen(argv)
    late: subprocess.Popen[bytes] | None = None
    try:
        eventually(lambda: page.watchdog_pid == dog.pid)
        for _ in range(2):
            time.sleep(0.2)
            late = subprocess.Popen(["sleep", "1000"])
            pidfile.write_text(str(late.pid))
            try:
                late.wait(1.5)
            except subprocess.TimeoutExpired:
                return True
        return False
    finally:
        for process in (dog, late):
            if process is not None:
                process.kill()
                process.wait()


def test_h3_a_watchdog_that_kills_only_once_is_caught(tmp_path: Path) -> None:
    source = Path(watchdog.__file__).read_text()
    guard = "            if left_ns is not None and left_ns <= 0:\n                self._kill()\n"
    assert source.count(guard) == 2
    once = source.replace(guard, guard.replace("left_ns <= 0:", "left_ns <= 0 and not self.words[KILLS]:"))
    variant = tmp_path / "watchdog.py"
    variant.write_text(once)
    for name, script, caught in (("shipped", watchdog.__file__, False), ("once", str(variant), True)):
        folder = tmp_path / name
        folder.mkdir()
        assert outlives(script, folder) is caught
    prove("variant", "H3: the watchdog kills only once", caught_by="a service that starts after the deadline")


def test_h3_a_clock_that_stops_during_suspend_is_caught() -> None:
    """`time` as it is on a machine that was suspended for ten seconds: CLOCK_MONOTONIC is behind."""
    careless = broken("holdfast.agent.watchdog", {"time.CLOCK_BOOTTIME)": "time.CLOCK_MONOTONIC)"})
    for module, caught in ((broken("holdfast.agent.watchdog", {}), False), (careless, True)):
        module.time = Suspended
        deadline = 95_000_000_000  # the lease ended while the machine slept
        assert (module.now_ns() < deadline) is caught
    prove("variant", "H3: a clock that stops during suspend", caught_by="a machine that slept")


class Suspended:
    CLOCK_MONOTONIC, CLOCK_BOOTTIME = 1, 7

    @staticmethod
    def clock_gettime_ns(clock: int) -> int:
        return {1: 90_000_000_000, 7: 100_000_000_000}[clock]


def test_h43_a_watchdog_that_has_stopped_counting_is_not_relied_on(tmp_path: Path) -> None:
    careless = broken(
        "holdfast.agent.page",
        {"        if now - words[WATCHDOG] > FRESH_S * 1e9:\n            return \"no watchdog counts\"\n": "",
         "        if now - words[FOUND] > 2 * FRESH_S * 1e9:\n": "        if False:\n"},
    )  # fmt: skip
    for made, relied_on in ((Page(tmp_path / "page"), False), (careless.Page(tmp_path / "page"), True)):
        words_ = made.words
        words_[watchdog.PROTECT], words_[watchdog.ABLE] = watchdog.number_of("pid:1"), 1
        words_[watchdog.WATCHDOG] = words_[watchdog.FOUND] = watchdog.now_ns() - 3_000_000_000
        assert (made.why_not_watched("pid:1") == "") is relied_on
    prove("variant", "H43: a watchdog that counts no more is relied on", caught_by="SIGSTOP of the watchdog")


def test_h43_a_watchdog_that_may_not_kill_is_not_relied_on() -> None:
    careless = broken(
        "holdfast.agent.watchdog",
        {"            except OSError:\n                return False\n        return True\n\n    def kill": (
            "            except OSError:\n                continue\n        return True\n\n    def kill")},
    )  # fmt: skip
    for module, relied_on in ((broken("holdfast.agent.watchdog", {}), False), (careless, True)):
        protected = module.Protected(f"pid:{os.getpid()}")
        protected.fds = {1: -1}  # a process that this one may not even ask
        assert protected.able() is relied_on
    prove(
        "variant",
        "H43: a watchdog without the right to kill is relied on",
        caught_by="another user's service",
    )


def restarted(module: Any) -> list[words.Action]:
    """What a restarted agent does first, whose predecessor was killed while it served."""
    body = serving()
    fresh = booted(highest_epoch=1, served_epoch=1)
    state = module.resumed(fresh, resume.kept(body.state), body.armed_s)
    done: list[words.Action] = []
    for heard in (words.Watched(True), words.Tick()):
        state, actions = think(state, heard, body.now_s)
        done += actions
    return done


def test_h44_a_restart_that_stops_the_service_is_caught() -> None:
    careless = broken(
        "holdfast.failover.agent.resume",
        {"        return replace(state, phase=Phase.UP, enabled=True)": "        return fresh"},
    )
    harmful = (words.StopProtected, words.RunHook, words.Disarm)
    for module, caught in ((resume, False), (careless, True)):
        done = [action for action in restarted(module) if isinstance(action, harmful)]
        checks = [a for a in done if isinstance(a, words.RunHook) and not a.hook.value.startswith("on-")]
        assert (done != checks) is caught
    prove("variant", "H44: a restart of the agent stops the service", caught_by="a restart under a lease")


def comes_up_later(hooks: Any, folder: Path) -> bool:
    """Whether a service that a killed `on-promote` had begun to start serves after the hook's end."""
    ended = SimpleQueue[words.HookEnded]()
    hook = folder / "on-promote"
    hook.write_text('#!/bin/sh\nsetsid sh -c "sleep 1; touch served" &\ntouch begun; sleep 60\n')
    hook.chmod(0o755)
    running = hooks.Hooks(folder, Page(folder / "page"), {}, ended.put)
    running.start(
        words.RunHook(
            hook=Hook.ON_PROMOTE, run=1, epoch=1, primary="", address="", limit_s=60.0, before_s=None
        )
    )
    eventually((folder / "begun").exists)
    running.kill_changing()
    ended.get(timeout=60)
    time.sleep(1.5)
    return (folder / "served").exists()


def test_a_service_that_escapes_from_its_killed_hook_is_caught(tmp_path: Path) -> None:
    without = broken("holdfast.agent.hooks", {"            end_marked(mark)\n": "            pass\n"})
    (tmp_path / "shipped").mkdir()
    (tmp_path / "broken").mkdir()
    assert not comes_up_later(shipped, tmp_path / "shipped")
    assert comes_up_later(without, tmp_path / "broken")
    prove("variant", "a service that escaped from a killed hook", caught_by="a service that comes up late")


def test_h43_a_service_that_the_watchdog_cannot_find_is_caught(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--protect` names another pid file than the one that the hook writes."""
    careless = broken(
        "holdfast.agent.hooks", {"        return self.page.targets > 0\n": "        return True\n"}
    )
    for hooks, served in ((shipped, False), (careless, True)):
        monkeypatch.setattr(hooks, "FOUND_WITHIN_S", 0.2)
        folder = tmp_path / str(served)
        folder.mkdir()
        (folder / "on-promote").write_text("#!/bin/sh\n")
        (folder / "on-promote").chmod(0o755)
        ended = SimpleQueue[words.HookEnded]()
        page = Page(folder / "page")
        hooks.Hooks(folder, page, {}, ended.put).start(words.RunHook(hook=Hook.ON_PROMOTE, run=1, epoch=1))
        assert ended.get(timeout=60).ok is served
    prove("variant", "H43: what the watchdog cannot find is served", caught_by="a wrong --protect")


def test_h43_processes_that_cannot_be_seen_are_caught(tmp_path: Path) -> None:
    careless = broken("holdfast.agent.watchdog", {"        if self.unseen:\n            return False\n": ""})
    for module, relied_on in ((broken("holdfast.agent.watchdog", {}), False), (careless, True)):
        protected = module.Protected(f"pidfile:{tmp_path}")  # no file that could be read
        protected.find()
        assert protected.able() is relied_on
    prove("variant", "H43: what cannot be seen counts as nothing", caught_by="an unreadable pid file")
