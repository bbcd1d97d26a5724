"""The thread that beats, on a SQLite file: it goes on whatever its caller's own code does."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.app.leases import worker_ports
from holdfast.leases.settings import Settings
from holdfast.stream import live as module
from holdfast.stream.live import LiveCap
from tests.real.traces import wait_until

BEAT_S = 0.05


class Shards:
    def __init__(self) -> None:
        self.count = 30

    def open_shards(self) -> int:
        return self.count

    def leases(self) -> tuple[()]:
        return ()


@pytest.fixture
def shards(monkeypatch: pytest.MonkeyPatch) -> Shards:
    """In the place of Kinesis and of the lease table."""
    found = Shards()

    def counted(*given: Any) -> Any:
        return replace(worker_ports(*given), shards=found, leases=found)

    monkeypatch.setattr(module, "worker_ports", counted)
    return found


def test_beats_go_on_when_the_callers_own_code_fails(
    tmp_path: Path, shards: Shards, caplog: pytest.LogCaptureFixture
) -> None:
    settings = Settings(
        stream_name="orders",
        app_name="shop",
        worker_id="worker-1",
        region="eu-west-1",
        database=str(tmp_path / "state.db"),
        kds_worker_count=1,
        heartbeat_s=BEAT_S,
        member_ttl_s=1.0,
        count_s=BEAT_S,
    )

    heard: list[int] = []

    def changed(cap: int) -> None:
        heard.append(cap)
        if cap == 60:
            raise ZeroDivisionError("the caller's own")

    with LiveCap(settings=settings, on_change=changed) as live:
        assert live.max_leases == 30
        shards.count = 60
        wait_until(lambda: 60 in heard, "the caller has heard of it")
        shards.count = 70
        wait_until(lambda: live.max_leases == 70 and live.error is None, "the next change is followed")
    assert heard == [30, 60, 70]
    assert "the caller's own" in caplog.text
