"""The calls to the servers, each kind in a thread of its own, so that none waits for another.

A hanging registration, a slow notice or a long poll never delays a heartbeat.
"""

import hashlib
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final
from urllib.parse import quote

from holdfast.agent import wire
from holdfast.agent.client import Answer, Line, Lost, Servers
from holdfast.agent.files import Identity, store_identity
from holdfast.agent.options import Problem, say
from holdfast.agent.page import boottime_s
from holdfast.failover.agent import lease, words

REGISTER_S, NOTICE_S, POLL_S, SLACK_S = 5.0, 3.0, 20.0, 5.0
STALE: Final = frozenset({"STALE_SESSION", "SESSION_HELD"})
STALE_S: Final = 5.0
UNKNOWN_S: Final = 0.5
"""Two processes with one id must not take the place from each other all the time; nor is a server that
takes a registration and no heartbeat asked without a pause."""


class Calls:
    def __init__(
        self,
        servers: Servers,
        identity: Identity,
        registration: Mapping[str, Any],
        hear: Callable[[words.Heard], None],
        *,
        state: Path,
        enrolment: str = "",
    ) -> None:
        self.servers, self.identity, self.registration, self.hear = servers, identity, registration, hear
        self.state, self.enrolment = state, enrolment
        self.session = str(registration["session"])
        self.timeout_s = 3.0
        self.beats: SimpleQueue[words.Heartbeat] = SimpleQueue()
        self.errands: SimpleQueue[words.Register | words.SendNotice] = SimpleQueue()
        self.version = 0
        """Of the newest goal that is known: the long poll waits for a greater one."""
        self.registered = threading.Event()
        self.refused: Problem | None = None
        """Why this agent can never be registered, if it never was."""
        self.said = ""

    def start(self) -> None:
        for work in (self._beat, self._run_errands, self._poll):
            threading.Thread(target=work, daemon=True, name=work.__name__).start()

    # Heartbeats.

    def _beat(self) -> None:
        line = Line(self.servers)
        while True:
            beat = self.beats.get()
            body = {
                "instance_id": self.identity.instance_id,
                "session": self.session,
                "epoch": beat.epoch,
                "report": asdict(beat.report),
            }
            try:
                answer = line.ask("POST", self._path("heartbeat"), body, within_s=self.timeout_s)
            except Lost as lost:
                self._tell(f"heartbeat lost: {lost}")
                self.hear(words.NotAnswered())
                continue
            self.hear(self._heartbeat_answered(answer))

    def _heartbeat_answered(self, answer: Answer) -> words.Heard:
        if answer.http_status == 200:
            self._tell("")
            return wire.answered(answer.data, answer.sent_s)
        self._tell(f"heartbeat refused: {answer.code} {answer.error}")
        if answer.code in STALE:
            return words.Disowned(STALE_S)
        return words.Disowned(UNKNOWN_S) if answer.http_status in (401, 404) else words.NotAnswered()

    # Registration and notices.

    def _run_errands(self) -> None:
        line = Line(self.servers)
        while True:
            errand = self.errands.get()
            if isinstance(errand, words.Register):
                self.hear(self._register(line))
            else:
                self.hear(self._send_notice(line, errand.notice))

    def _register(self, line: Line) -> words.Heard:
        token = self.identity.token or self.enrolment
        try:
            answer = self._ask_register(line, token)
            if answer.http_status == 401 and self.enrolment and token != self.enrolment:
                answer = self._ask_register(line, self.enrolment)
        except Lost as lost:
            self._tell(f"cannot register: {lost}: trying again")
            return words.NotRegistered(1.0)
        if answer.http_status == 200:
            return self._registered(answer.data)
        return self._not_registered(answer)

    def _ask_register(self, line: Line, token: str) -> Answer:
        body, path = self.registration, "/api/agents/register"
        # The same registration has the same id: a repeat after a lost answer is not another one.
        request_id = _digest(self.session, token, self.identity.instance_id)
        return line.ask("POST", path, body, within_s=REGISTER_S, request_id=request_id, token=token)

    def _registered(self, data: Mapping[str, Any]) -> words.Heard:
        token = data.get("token")
        if isinstance(token, str) and token:
            self.identity = replace(self.identity, token=token)
            try:
                store_identity(self.state, self.identity)
            except OSError as error:
                self._tell(f"the token cannot be stored: {error.strerror}: enrol again after a restart")
        self.servers.token = self.identity.token
        known = wire.registered(data)
        if not known.enabled:
            self._tell("this instance is not enabled: it serves nothing, and asks again")
            return known
        try:
            wanted_s = data.get("request_timeout_s")
            known_s = float(wanted_s) if isinstance(wanted_s, int | float) and wanted_s > 0 else 3.0
            self.timeout_s = lease.timeout_s(known.heartbeat_s, known.term_s, known_s)
        except lease.Refused as refused:
            self._tell(str(refused))
            return words.NotRegistered(15.0)
        self._tell("")
        self.registered.set()
        return known

    def _not_registered(self, answer: Answer) -> words.Heard:
        retry_s = answer.data.get("retry_after_s")
        said = f"registration refused: {answer.code} {answer.error}".strip()
        if answer.http_status == 401:
            said = (
                "registration refused: the enrolment is used up, has expired or is another server's, and no "
                f"token of {self.identity.instance_id} is accepted: make a new one with "
                f"`holdfast failover enrol {self.identity.agent_id}`"
            )
        self._tell(said)
        if answer.http_status in (400, 401, 403, 404, 422) and not self.identity.token:
            self.refused = Problem(said)
            return words.Tick()
        wait_s = float(retry_s) if isinstance(retry_s, int | float) else 5.0
        return words.NotRegistered(min(max(0.5, wait_s), 60.0))

    def _send_notice(self, line: Line, notice: words.Notice) -> words.Heard:
        body: dict[str, Any] = {"instance_id": self.identity.instance_id, "session": self.session}
        if notice.kind == "rebalance":
            body["notice_time"] = notice.time
        else:
            body["action"] = notice.action
            body["deadline_in_s"] = round(max(0.0, (notice.deadline_s or 0.0) - boottime_s()), 1)
        request_id = _digest(self.identity.instance_id, notice.key)
        path = self._path(f"{notice.kind}-notice")
        try:
            answer = line.ask("POST", path, body, within_s=NOTICE_S, request_id=request_id)
        except Lost as lost:
            self._tell(f"{notice.kind} notice not told yet: {lost}")
            return words.NoticeLost(notice.key)
        if answer.http_status == 200:
            say(f"{notice.kind} notice told: {notice.action or 'rebalance'} {notice.time}")
            return words.NoticeTaken(notice.key)
        if answer.code == "REQUEST_ID_REUSED":
            return words.NoticeTaken(notice.key)  # told before, with more time left
        self._tell(f"{notice.kind} notice refused: {answer.code} {answer.error}")
        return words.NoticeLost(notice.key)

    # Goals.

    def _poll(self) -> None:
        line = Line(self.servers)
        while True:
            self.registered.wait()
            query = f"instance_id={quote(self.identity.instance_id)}&version={self.version}&wait={POLL_S:g}"
            try:
                answer = line.ask("GET", self._path(f"goal?{query}"), within_s=POLL_S + SLACK_S)
            except Lost:
                time.sleep(1.0)
                continue
            goal = wire.goal(answer.data.get("goal")) if answer.http_status == 200 else None
            if goal is None:
                time.sleep(1.0)
                continue
            if goal.version <= self.version:
                time.sleep(0.2)  # a server that does not wait is not asked in a loop
            self.version = max(self.version, goal.version)
            self.hear(words.Told(goal))

    def _path(self, name: str) -> str:
        return f"/api/agents/{quote(self.identity.agent_id)}/{name}"

    def _tell(self, text: str) -> None:
        """Once, until it changes."""
        if text and text != self.said:
            say(text)
        self.said = text


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
