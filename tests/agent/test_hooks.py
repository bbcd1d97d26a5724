"""The user's programs: what they are given, what is read of them, and how they end."""

import os
import time
from pathlib import Path
from queue import SimpleQueue

import pytest

from holdfast.agent import hooks, watchdog
from holdfast.agent.hooks import Hooks
from holdfast.agent.main import _forget_stale
from holdfast.agent.page import Page, boottime_s
from holdfast.failover.agent.goals import Hook
from holdfast.failover.agent.words import HookEnded, RunHook


class Bench:
    def __init__(self, folder: Path) -> None:
        self.folder, self.ended = folder, SimpleQueue[HookEnded]()
        own = {"HOLDFAST_INSTANCE": "i-1", "HOLDFAST_ADDRESS": "here:1"}
        self.page = Page(folder / "page")
        self.page.words[watchdog.TARGETS] = 1
        self.hooks = Hooks(folder, self.page, own, self.ended.put)

    def start(self, hook: Hook, body: str, *, limit_s: float = 60.0, before_s: float | None = None) -> None:
        path = self.folder / hook
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        self.hooks.start(
            RunHook(
                hook=hook,
                run=1,
                epoch=7,
                primary="i-2",
                address="there:1",
                limit_s=limit_s,
                before_s=before_s,
            )
        )

    def end(
        self, hook: Hook, body: str, *, limit_s: float = 60.0, before_s: float | None = None
    ) -> HookEnded:
        self.start(hook, body, limit_s=limit_s, before_s=before_s)
        return self.ended.get(timeout=60)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def test_it_is_told_the_epoch_and_the_primary(bench: Bench) -> None:
    body = (
        "echo $HOLDFAST_EPOCH $HOLDFAST_PRIMARY $HOLDFAST_PRIMARY_ADDRESS $HOLDFAST_INSTANCE $HOLDFAST_HOOK"
    )
    assert bench.end(Hook.ON_FOLLOW, body).output == "7 i-2 there:1 i-1 on-follow"
    assert bench.end(Hook.ON_PROMOTE, body).output == "7 i-1 here:1 i-1 on-promote", (
        "it becomes primary itself"
    )


def test_position_and_lag_are_read_from_its_lines(bench: Bench) -> None:
    ended = bench.end(Hook.SYNC_STATUS, "echo hello; echo position=0/16B3748; echo lag_s=1.5 >&2")
    assert (ended.ok, ended.position, ended.lag_s) == (True, "0/16B3748", 1.5)
    ended = bench.end(Hook.SYNC_STATUS, "echo lag_s=soon")
    assert (ended.position, ended.lag_s) == (None, None)


def test_its_end_and_its_last_words_are_told(bench: Bench) -> None:
    ended = bench.end(Hook.HEALTH, "yes no | head -c 100000; echo; printf 'the\\001end\\377'; exit 3")
    assert not ended.ok
    assert len(ended.output) <= 2_000
    assert ended.output.endswith("the end\N{REPLACEMENT CHARACTER}\nhealth: it ended with status 3")


def test_what_cannot_be_run_is_told(bench: Bench) -> None:
    bench.folder.joinpath("health").write_bytes(b"\x7fELF")
    bench.folder.joinpath("health").chmod(0o755)
    bench.hooks.start(RunHook(hook=Hook.HEALTH, run=1, epoch=1))
    ended = bench.ended.get(timeout=60)
    assert not ended.ok
    assert "cannot be run: Exec format error" in ended.output


def test_a_service_that_it_leaves_behind_keeps_neither_hook_nor_output_waiting(bench: Bench) -> None:
    began_s = time.monotonic()
    ended = bench.end(Hook.ON_PROMOTE, "sleep 30 & echo $! > left; echo done")
    assert ended.ok
    assert ended.output == "done"
    assert time.monotonic() - began_s < 25
    os.kill(int((bench.folder / "left").read_text()), 9)


def test_one_that_is_not_wanted_any_more_is_killed_though_it_has_hardly_begun(bench: Bench) -> None:
    bench.start(Hook.ON_PROMOTE, "sleep 1000")
    bench.hooks.kill_changing()
    ended = bench.ended.get(timeout=60)
    assert not ended.ok
    assert "not wanted any more" in ended.output


ESCAPES = 'setsid sh -c "sleep 1; touch served; sleep 3" </dev/null >/dev/null 2>&1 & touch begun; '


@pytest.mark.parametrize("rest", ["sleep 600", "exit 1"], ids=["killed", "fails"])
def test_a_service_that_it_has_begun_to_start_does_not_come_up_after_it(bench: Bench, rest: str) -> None:
    """It left the hook's process group, and `on-demote` would find no service to stop yet."""
    bench.start(Hook.ON_PROMOTE, ESCAPES + rest)
    while not (bench.folder / "begun").exists():
        time.sleep(0.01)
    bench.hooks.kill_changing()

    assert not bench.ended.get(timeout=60).ok
    time.sleep(1.5)
    assert not (bench.folder / "served").exists()


def test_a_service_that_was_started_well_is_left_alone(bench: Bench) -> None:
    assert bench.end(Hook.ON_PROMOTE, ESCAPES).ok
    assert bench.end(Hook.ON_DEMOTE, "exit 1").ok is False
    time.sleep(1.5)
    assert (bench.folder / "served").exists()


def test_a_promotion_whose_service_the_watchdog_does_not_find_has_failed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What could not be stopped at the deadline must not serve."""
    monkeypatch.setattr(hooks, "FOUND_WITHIN_S", 0.2)
    bench.page.words[watchdog.TARGETS] = 0
    ended = bench.end(Hook.ON_PROMOTE, ESCAPES)
    assert not ended.ok
    assert "the watchdog finds no process to stop" in ended.output
    assert bench.end(Hook.ON_DEMOTE, "true").ok
    time.sleep(1.5)
    assert not (bench.folder / "served").exists()


def test_one_that_prints_without_end_is_killed_before_it_fills_the_memory(bench: Bench) -> None:
    ended = bench.end(Hook.HEALTH, "exec yes")
    assert not ended.ok
    assert "killed: it printed more than 16 MB" in ended.output


def test_none_is_started_once_its_lease_is_over(bench: Bench) -> None:
    ended = bench.end(Hook.ON_PROMOTE, "touch started", before_s=boottime_s() - 0.001)
    assert (ended.ok, ended.output) == (False, "not started: the lease is over")
    assert not (bench.folder / "started").exists()


def test_a_pid_file_of_an_earlier_boot_is_not_believed(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    for file in (old, new):
        file.write_text("1234")
    booted_s = time.time() - boottime_s()
    os.utime(old, (booted_s - 3_600, booted_s - 3_600))
    for what in (f"pidfile:{old}", f"pidfile:{new}", f"pidfile:{tmp_path}/none", f"command:{new}"):
        _forget_stale(what)
    assert not old.exists()
    assert new.exists()
