"""What follows a tick: on a real file and over real HTTP, and never in the way."""

import logging
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.logs import LOGGER
from holdfast.app.autoscaler.after_tick import AfterTick, after_tick, beside
from holdfast.app.autoscaler.channels import channels_of
from holdfast.app.autoscaler.stores import open_boards
from holdfast.autoscaler.money import ledger
from holdfast.autoscaler.notifications import record as notifications
from holdfast.autoscaler.notifications.message import trial
from holdfast.autoscaler.notifications.record import Board
from holdfast.autoscaler.reasons import TickOutcome
from holdfast.autoscaler.record import Cluster, PoolFailure
from holdfast.autoscaler.result import TickResult
from holdfast.autoscaler.settings import Settings
from holdfast.cloud import Market, Offering, Prices
from holdfast.kernel import Busy
from holdfast.sim.memory import MemoryItems
from tests.autoscaler.unit.snapshots import snapshot, worker
from tests.receiver import Receiver, receiving

PRICES = Prices(
    {
        Offering("a", Market.SPOT, "m5.large"): 0.04,
        Offering("a", Market.ON_DEMAND, "m5.large"): 0.1,
    }
)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


def settings_in(folder: Path, receiver: Receiver) -> Settings:
    return Settings(
        database=str(folder / "state.db"),
        notify_webhook_url=receiver.url,
        notify_slack_url=receiver.url,
        notify_after_s=0,
    )


def ticked(*, failed: bool) -> TickResult:
    now_s = int(SystemClock().now_s())
    failures = (PoolFailure("gpu", 2, now_s + 60, "no <image>"),) if failed else ()
    seen = replace(snapshot(worker("i-1")), prices=PRICES)
    return TickResult(TickOutcome.IDLE, cluster=Cluster(pool_failures=failures), snapshot=seen)


def test_a_failed_pool_is_told_with_its_end_and_the_month_is_noted(
    tmp_path: Path, receiver: Receiver
) -> None:
    settings = settings_in(tmp_path, receiver)
    after_tick(settings, {}).run(ticked(failed=True), "a")
    texts = [body.decode() for _, body in receiver.got]
    assert len(texts) == 2
    assert any('"cause": "ScaleUpFailed"' in text and "no <image>" in text for text in texts)
    assert any('"text": "Scale-up failed: pool gpu' in text and "&lt;image&gt;" in text for text in texts)
    again = after_tick(settings, {})
    again.run(ticked(failed=True), "b")
    assert len(receiver.got) == 2, "another process knows what was told"
    again.run(ticked(failed=False), "b")
    again.run(ticked(failed=False), "b")
    assert len(receiver.got) == 4
    boards = open_boards(settings)
    assert boards.notifications.read(notifications.SUBJECT).value == Board()
    noted = boards.ledger.read(ledger.SUBJECT).value
    assert (noted.usd, noted.on_demand_usd) == (0.04, 0.1)


def test_a_channel_that_hangs_holds_up_no_turn(tmp_path: Path, receiver: Receiver) -> None:
    receiver.hangs_s = 1.5
    with beside(after_tick(settings_in(tmp_path, receiver), {}), "a") as after:
        for _ in range(50):
            after.turned(ticked(failed=True))
        began_s = time.monotonic()
        while not receiver.got:
            time.sleep(0.01)
        after.turned(ticked(failed=True))
        assert time.monotonic() - began_s < 60
    assert len(receiver.got) == 2


class Watched:
    """A store that tells who touches it."""

    def __init__(self, store: object, touched: list[str]) -> None:
        self._store, self._touched = store, touched

    def __getattr__(self, name: str) -> object:
        if name == "read":
            return self._read
        return getattr(self._store, name)

    def _read(self, subject: str) -> object:
        self._touched.append(subject)
        return self._store.read(subject)  # type: ignore[attr-defined]


def test_an_idle_tick_reads_nothing_more(tmp_path: Path, receiver: Receiver) -> None:
    work = after_tick(settings_in(tmp_path, receiver), {})
    work.run(ticked(failed=False), "a")
    reads: list[str] = []
    store = work.ledger
    work.ledger = Watched(store, reads)  # type: ignore[assignment]
    assert work.delivery is not None
    work.delivery = replace(work.delivery, store=Watched(work.delivery.store, reads))  # type: ignore[arg-type]
    work.run(ticked(failed=False), "a")
    assert not reads
    work.run(ticked(failed=True), "a")
    assert set(reads) == {"notifications"}, "a change is written down"


class Failing:
    def read(self, subject: str) -> object:
        raise Busy("the table is throttled")


def test_a_store_that_fails_is_no_failure_of_the_tick(
    tmp_path: Path,
    receiver: Receiver,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = after_tick(settings_in(tmp_path, receiver), {})
    assert work.delivery is not None
    store = Failing()
    work.ledger, work.delivery = store, replace(work.delivery, store=store)  # type: ignore[assignment,arg-type]
    with caplog.at_level(logging.WARNING, LOGGER):
        monkeypatch.setattr(logging.getLogger(LOGGER), "propagate", True)
        work.run(ticked(failed=True), "a")
    assert "messages for operators: the table is throttled" in caplog.text
    assert not receiver.got


def test_the_settings_secret_signs_what_the_webhook_gets_and_slack_gets_none_of_it(
    receiver: Receiver,
) -> None:
    settings = Settings(
        notify_webhook_url=receiver.url, notify_slack_url=receiver.url, notify_webhook_secret="a secret"
    )
    channels = channels_of(settings, {})

    for channel in ("webhook", "slack"):
        channels[channel].send(trial("shop", 1_000))
    signed = ["webhook-signature" in headers for headers, _ in receiver.got]
    assert signed == [True, False]


def test_a_tick_is_followed_by_tries_for_a_short_time_only() -> None:
    until: list[float] = []

    class Delivering:
        def run(self, owner: str, seen: object, *, until_s: float) -> None:
            until.append(until_s)

    clock = SystemClock()
    telling = AfterTick(Settings(), cast("Any", Delivering()), MemoryItems(ledger.CODEC), clock)
    telling.run(ticked(failed=True), "a")

    assert until[0] <= clock.now_s() + 15.0
