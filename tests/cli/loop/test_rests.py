"""What ends a rest of the loop before its time, and what does not."""

import threading
import time
from collections.abc import Callable

import pytest

from holdfast.cli.autoscaler.loop import rests
from holdfast.cli.autoscaler.loop.rests import APART_MAX_S, Rests

LONG_S = 60.0
SOON_S = 20.0
"""For a busy machine."""


def took_s(rest: Callable[[], object], meanwhile: Callable[[], object] = lambda: None) -> float:
    """With what happens while it rests."""
    timer = threading.Timer(0.05, meanwhile)
    began_s = time.monotonic()
    timer.start()
    rest()
    timer.join()
    return time.monotonic() - began_s


def test_a_change_ends_the_rest_between_two_turns_and_of_rounds_that_drain_nothing() -> None:
    rests = Rests()
    assert took_s(lambda: rests.until_news(LONG_S), rests.wake) < SOON_S
    assert took_s(lambda: rests.between_rounds(LONG_S, drains=False), rests.wake) < SOON_S


def test_pods_that_are_drained_keep_their_time_whatever_changes_but_for_a_notice() -> None:
    rests = Rests()
    assert took_s(lambda: rests.between_rounds(0.5, drains=True), rests.wake) >= 0.5
    assert took_s(lambda: rests.between_rounds(LONG_S, drains=True), rests.wake_for_notice) < SOON_S


def test_what_came_during_a_drain_is_not_lost_to_the_next_rest() -> None:
    rests = Rests()
    rests.wake()
    rests.between_rounds(0.01, drains=True)
    assert took_s(lambda: rests.until_news(LONG_S)) < SOON_S


def test_it_rests_as_long_as_it_has_worked_and_what_it_has_slept_is_no_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now_s, waited = [0.0], list[float]()

    class Notices(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waited.append(timeout or 0.0)
            return False

    monkeypatch.setattr(rests, "mono_s", lambda: now_s[0])
    ours = Rests(_notices=Notices(), _ended_s=0.0)
    for worked_s in (0.2, 30.0):
        now_s[0] += worked_s
        ours.wake()
        ours.until_news(LONG_S)
    ours.between_rounds(30.0, drains=True)  # is slept, and by this clock takes no time
    ours.wake()
    ours.until_news(LONG_S)
    assert waited == [pytest.approx(0.2), APART_MAX_S, 30.0, rests.TOGETHER_S]


def test_a_notice_does_not_wait_for_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rests, "APART_MAX_S", LONG_S)
    ours = Rests(_ended_s=float("-inf"))
    ours.wake()
    assert took_s(lambda: ours.until_news(LONG_S), ours.wake_for_notice) < SOON_S


def test_told_to_end_it_rests_no_more_and_goes_on_with_no_further_round() -> None:
    rests = Rests()
    assert rests.between_rounds(0.01, drains=False)
    assert took_s(lambda: rests.between_rounds(LONG_S, drains=True), rests.end) < SOON_S
    assert not rests.between_rounds(LONG_S, drains=True)
