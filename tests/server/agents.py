"""Agents over HTTP without hooks: each does at once what its goal says, and reports it."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from holdfast.failover.api.operations import HEARTBEAT, REGISTER, TERMINATION
from tests.server.running import Answer, Running
from tests.server.tenancy import Enrolled, Tenant, enrolled

BEAT_S = 0.2
PATIENCE_S = 120.0


@dataclass
class FakeAgent:
    server: Running
    who: Enrolled
    highest_epoch: int = 0
    served_epoch: int = 0
    epoch: int = 0
    lease_until_s: float = 0.0
    """By this machine's clock, counted from the moment of sending."""
    hook: tuple[str, int, str] = ("", 0, "none")
    alive: bool = True
    fails_promotion: bool = False
    position: str = "0"
    codes: list[str] = field(default_factory=list)
    """What it was refused."""

    @property
    def serving(self) -> bool:
        return self.alive and time.monotonic() < self.lease_until_s

    def beat(self) -> Answer:
        sent_s = time.monotonic()
        goal, hook_epoch, state = self.hook
        report = {
            "hook_goal": goal, "hook_epoch": hook_epoch, "hook_state": state, "position": self.position,
            "lag_s": 0.0, "sync_age_s": 0.0, "sync_epoch": self._followed, "healthy": True,
            "highest_epoch": self.highest_epoch, "served_epoch": self.served_epoch, "watchdog_ok": True,
        }  # fmt: skip
        body = {"instance_id": self.who.instance_id, "session": self.who.session, "epoch": self.epoch}
        answer = self.server.call(
            HEARTBEAT, self.who.token, {**body, "report": report}, agent_id=self.who.agent_id
        )
        if answer.http_status != 200:
            self.codes.append(str(answer.code))
            return answer
        self._hear(answer.data, sent_s)
        return answer

    def _hear(self, data: Any, sent_s: float) -> None:
        goal = data["goal"]
        if goal["epoch"] < self.highest_epoch and goal["do"] != "stop":
            return  # a lower epoch is never obeyed
        self.highest_epoch = max(self.highest_epoch, goal["epoch"])
        match goal["do"]:
            case "promote" | "serve":
                self.epoch = goal["epoch"]
                self.hook = ("promote", goal["epoch"], "failed" if self.fails_promotion else "done")
                if data["lease_s"] and data["epoch"] == self.epoch and not self.fails_promotion:
                    self.served_epoch = self.epoch
                    self.lease_until_s = max(self.lease_until_s, sent_s + data["lease_s"])
            case "follow":
                self.hook, self._followed = ("follow", goal["epoch"], "done"), goal["epoch"]
            case _:
                self.lease_until_s = 0.0
                self.hook = ("demote", goal["epoch"], "done")

    _followed: int = 0

    def register_again(self) -> Answer:
        body = {
            "agent_id": self.who.agent_id, "instance_id": self.who.instance_id, "session": self.who.session,
            "boot_id": "b-1",
        }  # fmt: skip
        return self.server.call(REGISTER, self.who.token, body)

    def notice(self, deadline_in_s: float = 100.0) -> Answer:
        body = {
            "instance_id": self.who.instance_id,
            "session": self.who.session,
            "deadline_in_s": deadline_in_s,
        }
        return self.server.call(TERMINATION, self.who.token, body, agent_id=self.who.agent_id)


class Fleet:
    """Agents of one group that beat in a thread of their own; two that serve at once are noted."""

    def __init__(
        self, server: Running, owner: Tenant, agent_id: str, size: int, names: Sequence[str] = ()
    ) -> None:
        names = names or [f"{owner.client_id}-{agent_id}-{n}" for n in range(size)]
        self.agents = [FakeAgent(server, enrolled(server, owner, agent_id, name)) for name in names]
        self.both: list[list[str]] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> "Fleet":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join(timeout=20)
        assert not self.both, f"two served at once: {self.both}"

    def again(self) -> "Fleet":
        """The same agents, beating once more."""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        return self

    def _work(self) -> None:
        while not self._stopped.wait(BEAT_S):
            for agent in self.agents:
                if agent.alive:
                    agent.beat()
                serving = [each.who.instance_id for each in self.agents if each.serving]
                if len(serving) > 1:
                    self.both.append(serving)

    def by_name(self, instance_id: str) -> FakeAgent:
        return next(agent for agent in self.agents if agent.who.instance_id == instance_id)

    def serving(self) -> FakeAgent:
        """The one that serves, as soon as there is one."""
        found: FakeAgent = until(lambda: next((agent for agent in self.agents if agent.serving), None))
        return found


def until(ask: Callable[[], Any]) -> Any:
    """What it answers once it is true; a machine may be slow."""
    end_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < end_s:
        found = ask()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("it did not come about")
