"""What `status` shows of a group, and what `pause` waits for."""

from typing import Any

import pytest
from rich.console import Console

from holdfast.cli.failover.operate import pause
from holdfast.cli.failover.views.status import screen

SETTINGS = {"zombie_retention_days": 30.0}


def member(instance_id: str, status: str, **said: Any) -> dict[str, Any]:
    return {
        "instance_id": instance_id, "status": status, "for_s": 5.0, "lease_left_s": 0.0, "silent_s": 1.0,
        "lag_s": 0.0, "notice": "none", "ready": False, "not_ready": "", "failure": "", "demoted_at_s": None,
        "terminate_at_s": None, **said,
    }  # fmt: skip


def shown(*members: dict[str, Any]) -> list[str]:
    group = {
        "agent_id": "db", "primary": "i-1", "epoch": 2, "mode": "auto_switch", "degraded": None,
        "paused_until_s": None, "takeover": None, "next": "", "members": members, "settings": SETTINGS,
    }  # fmt: skip
    console = Console(width=120, record=True)
    console.print(screen([group]))
    return console.export_text().splitlines()


def test_a_zombie_is_shown_with_its_end_and_without_a_lag() -> None:
    lines = shown(
        member("i-1", "running_primary", lease_left_s=6.0),
        member("i-2", "zombie", demoted_at_s=1_793_491_200.0, failure="on-promote failed"),
        member("i-3", "terminating", terminate_at_s=1_793_491_200.0),
    )
    assert lines[1] == "  no standby is ready to take over"
    zombie, ending = (next(line for line in lines if name in line) for name in ("i-2", "i-3"))
    assert "on-promote failed; kept until 2026-12-01" in zombie
    assert "ended after 2026-11-01" in ending
    assert not any(line.count("0 s") > line.count("0 s ago") for line in (zombie, ending)), "no lag"


def test_a_standby_is_shown_with_its_lag() -> None:
    lines = shown(member("i-1", "running_primary"), member("i-2", "running_replica", lag_s=2.5, ready=True))
    assert not any("no standby" in line for line in lines)
    assert any("2.5 s" in line and "ready" in line for line in lines)


class Server:
    """Says each time how long the primary's lease still lasts."""

    def __init__(self, *lease_left_s: float) -> None:
        self.left = list(lease_left_s)

    def call(self, operation: object, agent_id: str) -> Any:
        left_s = self.left.pop(0) if len(self.left) > 1 else self.left[0]
        return {"members": [member("i-1", "running_primary", lease_left_s=left_s), member("i-2", "zombie")]}


def test_a_pause_waits_until_the_primary_has_its_long_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pause, "ASK_EVERY_S", 0.0)
    assert pause.long_lease(Server(6.0, 5.5, 59.9), "db", 60.0) == "i-1"
    assert pause.long_lease(Server(1.0), "db", 2.0) == "i-1", "a pause shorter than a lease"
    monkeypatch.setattr(pause, "HELD_WITHIN_S", 0.05)
    assert pause.long_lease(Server(6.0), "db", 60.0) is None
