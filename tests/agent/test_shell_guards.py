"""Guards of an agent's shell, one by one and without an agent: each is a line that no process shows alone."""

import json
import os
import subprocess
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.agent import client, files, wire
from holdfast.agent.calls import Calls
from holdfast.agent.client import Answer, Line, Servers
from holdfast.agent.files import Identity
from holdfast.agent.guard import Guard
from holdfast.agent.hooks import _number
from holdfast.agent.imds import RENEWED_BEFORE_S, TTL_S, Absent, Imds
from holdfast.agent.loop import Loop
from holdfast.agent.options import Problem
from holdfast.agent.page import Page, boottime_s
from holdfast.agent.watchdog import LEFT_ALONE_S, WATCHDOG_PID, Protected, Watchdog, now_ns
from holdfast.failover.agent import words
from holdfast.failover.agent.goals import Do, Goal
from holdfast.failover.agent.lease import Lease
from holdfast.failover.agent.state import Phase, State
from tests.agent.machine import eventually

# --- the watchdog -------------------------------------------------------------------------------------------


def test_what_was_found_is_killed_though_the_search_hangs(tmp_path: Path) -> None:
    page, kills = Page(tmp_path / "page"), []
    dog = Watchdog(str(page.path), "pid:1", with_agent=False)
    dog._find = lambda: None  # type: ignore[method-assign]
    dog.protected = SimpleNamespace(what="pid:1", kill=lambda: kills.append(now_ns()) or 1)  # type: ignore
    deadline = now_ns() + 50_000_000
    page.arm(deadline / 1e9, 7)
    counting = threading.Thread(target=dog.count, daemon=True)
    counting.start()
    eventually(lambda: len(kills) > 1)
    page.words[WATCHDOG_PID] = 0
    counting.join(60)
    assert kills[0] >= deadline


def test_a_service_is_known_though_its_pid_file_was_removed_too_early(tmp_path: Path) -> None:
    file = tmp_path / "service.pid"
    service = subprocess.Popen(["sleep", "1000"])
    try:
        file.write_text(str(service.pid))
        protected = Protected(f"pidfile:{file}")
        assert protected.find() == 1
        file.unlink()
        assert protected.find() == 1
        assert protected.kill() == 1
    finally:
        service.kill()
        service.wait()
    assert protected.find() == 0


def test_a_watchdog_that_an_agent_started_ends_some_time_after_it(tmp_path: Path) -> None:
    page = Page(tmp_path / "page")
    page.count()
    later = now_ns() + (LEFT_ALONE_S + 1) * 1_000_000_000
    assert Watchdog(str(page.path), "pid:1", with_agent=True)._is_alone(later)
    assert not Watchdog(str(page.path), "pid:1", with_agent=True)._is_alone(now_ns())
    assert not Watchdog(str(page.path), "pid:1", with_agent=False)._is_alone(later), "a unit of its own"


def test_a_deadline_at_the_boot_itself_is_a_deadline(tmp_path: Path) -> None:
    page = Page(tmp_path / "page")
    page.arm(0.0, 7)
    assert page.armed_s > 0, "0 would disarm it"


def test_what_cannot_be_seen_is_not_called_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = [(0, True), (1, False), (0, False)]
    seen = SimpleNamespace(unseen=False, kill=lambda: 0)

    def find() -> int:
        found, seen.unseen = looks.pop(0)
        return found

    seen.find = find
    monkeypatch.setattr("holdfast.agent.watchdog.Protected", lambda what: seen)
    told: list[int] = []
    Guard(SimpleNamespace(), "pid:1", own=True)._stop(lambda: told.append(len(looks)))  # type: ignore[arg-type]
    assert told == [0], "only after a look that saw all, and found none"


@pytest.mark.parametrize(
    ("armed_s", "own", "ended"), [(0.0, True, True), (9.0, True, False), (0.0, False, False)]
)
def test_the_watchdog_of_a_service_outlives_the_agent(armed_s: float, own: bool, ended: bool) -> None:
    kills: list[str] = []
    made = Guard(SimpleNamespace(armed_s=armed_s), "pid:1", own=own)  # type: ignore[arg-type]
    made.process = SimpleNamespace(  # type: ignore[assignment]
        poll=lambda: None, kill=lambda: kills.append("killed"), wait=lambda: None
    )
    made.end()
    assert bool(kills) is ended


# --- the disk -----------------------------------------------------------------------------------------------


def test_an_epoch_is_on_disk_before_it_takes_the_place_of_the_older_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, rename = os.fsync, os.rename

    def synced(fd: int) -> None:
        done.append("fsync")
        fsync(fd)

    def renamed(old: Path, new: Path) -> None:
        done.append("rename")
        rename(old, new)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "rename", renamed)
    files.store_epochs(tmp_path, 7, 6)
    assert done == ["fsync", "rename", "fsync"]
    assert files.load_epochs(tmp_path) == (7, 6)


@pytest.mark.parametrize(
    "kept", [{"served_epoch": 3}, {"highest_epoch": "7"}, {"highest_epoch": 0, "x": 1}, []]
)
def test_an_agent_that_may_have_forgotten_its_epoch_does_not_start(tmp_path: Path, kept: object) -> None:
    assert files.load_epochs(tmp_path) == (0, 0), "it never had one"
    (tmp_path / files.EPOCHS).write_text(json.dumps(kept))
    with pytest.raises(Problem, match="damaged"):
        files.load_epochs(tmp_path)


# --- the wire -----------------------------------------------------------------------------------------------


def test_a_lease_counts_from_before_its_request_was_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter(float(n) for n in range(100))
    sent: list[float] = []
    monkeypatch.setattr(client, "boottime_s", lambda: next(times))
    reply = SimpleNamespace(status=200, will_close=False, read=lambda size: b"{}" if size > 1 else b"")
    line = Line(Servers(("http://127.0.0.1:1",), None))
    line.connection = SimpleNamespace(  # type: ignore[assignment]
        sock=None,
        request=lambda *said: sent.append(next(times)),
        getresponse=lambda: reply,
        close=lambda: None,
    )
    answer = line.ask("POST", "/x", {}, within_s=60.0)
    assert answer.sent_s < sent[0]


def test_what_is_no_answer_of_a_server_is_none() -> None:
    with pytest.raises(ValueError, match="not JSON"):
        client._answer(200, 1.0, b"<html>")
    assert client._answer(404, 1.0, b"<html>").error == "HTTP 404"
    assert client._answer(200, 1.0, b'{"data": [1]}').data == {}


@pytest.mark.parametrize("epoch", [2**62, -1, True, 1.0, "1", None])
def test_an_epoch_that_no_page_can_hold_is_none(epoch: object) -> None:
    assert wire.answered({"epoch": epoch, "primary": True, "lease_s": 9}, 1.0).epoch == 0
    assert wire.goal({"version": 1, "epoch": epoch, "do": "serve"}) is None
    known = wire.goal({"version": 1, "epoch": 2**62 - 1, "do": "serve"})
    assert known is not None


def test_a_lag_is_a_number_of_at_least_nothing() -> None:
    assert [_number(text) for text in ("0", "1.5")] == [0.0, 1.5]
    assert [_number(text) for text in ("-1", "nan", "inf", "", "x", None, "1e9")] == [None] * 7


class Told:
    """What a server answers to each call."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer

    def ask(self, *said: object, **more: object) -> Answer:
        return self.answer


def calls(token: str = "") -> Calls:
    made = Calls(
        Servers(("http://127.0.0.1:1",), None), Identity("db", "i-1", token), {"session": "s-1"},
        lambda heard: None, state=Path("/nowhere"),
    )  # fmt: skip
    return made


def test_an_agent_whose_token_is_not_known_registers_again() -> None:
    for status in (401, 404):
        assert isinstance(calls()._heartbeat_answered(Answer(status, 1.0, {})), words.Disowned)
    for status in (400, 429):
        assert isinstance(calls()._heartbeat_answered(Answer(status, 1.0, {})), words.NotAnswered)
    stale = Answer(409, 1.0, {}, "STALE_SESSION")
    assert calls()._heartbeat_answered(stale) == words.Disowned(5.0), "not at once"


def test_only_what_never_had_a_token_gives_up() -> None:
    refused = Answer(401, 1.0, {})
    fresh, known = calls(), calls("token")
    fresh._not_registered(refused)
    assert fresh.refused is not None
    assert isinstance(known._not_registered(refused), words.NotRegistered)
    assert known.refused is None, "its service may be up"
    assert fresh._not_registered(Answer(503, 1.0, {"retry_after_s": 1e9})) == words.NotRegistered(60.0)


def test_a_notice_that_was_told_before_is_taken() -> None:
    notice = words.Notice(kind="termination", action="stop", time="now", deadline_s=boottime_s() + 100)
    for code, heard in (("REQUEST_ID_REUSED", words.NoticeTaken), ("INVALID_REQUEST", words.NoticeLost)):
        line: Any = Told(Answer(422, 1.0, {}, code))
        assert calls()._send_notice(line, notice) == heard(notice.key)


def imds(*answers: tuple[int, str]) -> Imds:
    made, left = Imds("http://127.0.0.1:1"), list(answers)
    made._ask = lambda method, path, headers: left.pop(0)  # type: ignore[method-assign]
    return made


def test_a_metadata_service_that_fails_says_nothing_of_notices() -> None:
    for status in (500, 503, 403):
        with pytest.raises(Absent):
            imds((200, "token"), (status, "{}")).read("spot/instance-action")
    assert imds((200, "token"), (404, "")).read("spot/instance-action") is None
    made = imds((200, "token"), (200, "x"))
    assert made.read("instance-id") == "x"
    assert made.until_s <= boottime_s() + TTL_S - RENEWED_BEFORE_S, "its token is renewed before it ends"


# --- the loop -----------------------------------------------------------------------------------------------


def test_a_load_balancer_is_sent_here_only_under_a_lease_that_the_watchdog_knows() -> None:
    def status(**changes: Any) -> int:
        now_s = boottime_s()
        given = {"phase": Phase.UP, "serving_epoch": 4, "lease": Lease(4, now_s + 60), **changes}
        armed_s = given.pop("armed_s", now_s + 60)
        page: Any = SimpleNamespace(armed_s=armed_s)
        return Loop(State(**given), page, SimpleNamespace(), Path(), "s").asked("/primary")[0]  # type: ignore

    assert status() == 200
    for lacks in (
        {"phase": Phase.STARTING},
        {"lease": Lease(4, 1.0)},
        {"lease": Lease(3, 1e9)},
        {"armed_s": 0.0},
    ):
        assert status(**lacks) == 503


def test_what_is_begun_is_kept_for_a_restarted_agent_first() -> None:
    done: list[str] = []
    page: Any = SimpleNamespace(
        keep=lambda value: done.append("kept"), arm=lambda until_s, epoch: done.append("armed"), armed_s=0.0
    )
    ready = State(
        registered=True, enabled=True, lease=Lease(4, boottime_s() + 60), highest_epoch=4, stored_epoch=4,
        stored_served=4, watchdog_ok=True, beating=True, goal=Goal(version=1, epoch=4, do=Do.PROMOTE),
    )  # fmt: skip
    loop = Loop(ready, page, SimpleNamespace(), Path(), "s")  # type: ignore[arg-type]
    loop.hooks = SimpleNamespace(start=lambda action: done.append(action.hook.value))  # type: ignore[assignment]
    loop.calls = SimpleNamespace(version=0)  # type: ignore[assignment]
    loop._think(words.Tick())
    assert done[:3] == ["kept", "armed", "on-promote"]
    assert loop.calls.version == 1
