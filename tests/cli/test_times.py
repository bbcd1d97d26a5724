"""Times and durations as people write and read them."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import click
import pytest

from holdfast.cli.times import Seconds, duration_s, lasting, moment_s

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("2h", 7_200), ("1d12h", 129_600), ("1.5h", 5_400), ("1d 2h", 93_600), ("2w", 1_209_600)],
)
def test_durations(text: str, seconds: float) -> None:
    assert duration_s(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "2", "2 hours", "2h later", "-2h", "14:30", "2026-03-01"])
def test_what_is_no_duration(text: str) -> None:
    assert duration_s(text) is None


def test_a_duration_goes_ahead_or_back() -> None:
    assert moment_s("2h", NOW, ahead=True) == NOW + 7_200
    assert moment_s("2h", NOW, ahead=False) == NOW - 7_200


def test_a_time_of_day_is_the_next_one_or_the_last_one() -> None:
    for text in ("11:30", "12:30"):
        later, earlier = moment_s(text, NOW, ahead=True), moment_s(text, NOW, ahead=False)
        assert later is not None
        assert earlier is not None
        assert NOW < later <= NOW + 86_400
        assert NOW - 86_400 < earlier <= NOW


def test_a_date_with_a_zone_is_that_moment() -> None:
    assert moment_s("2026-03-01T14:30Z", NOW, ahead=True) == NOW + 9_000
    assert moment_s("2026-03-01T14:30+02:00", NOW, ahead=True) == NOW + 1_800


@pytest.fixture
def in_berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_a_time_beyond_a_change_of_the_clocks_is_what_the_clock_will_say(in_berlin: None) -> None:
    assert moment_s("2026-07-01T12:00", NOW, ahead=True) == datetime(2026, 7, 1, 10, tzinfo=UTC).timestamp()
    eve = datetime(2026, 3, 28, 22, tzinfo=UTC).timestamp()
    assert moment_s("06:00", eve, ahead=True) == datetime(2026, 3, 29, 4, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("text", ["nan", "inf", "-inf"])
def test_what_is_no_number_of_seconds(text: str) -> None:
    with pytest.raises(click.BadParameter, match=r"no number of seconds|not in the range"):
        Seconds(min=1, max=60).convert(text, None, None)


@pytest.mark.parametrize("text", ["25:00", "soon", "2026-13-01", "12:5"])
def test_what_is_no_time(text: str) -> None:
    assert moment_s(text, NOW, ahead=True) is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (45.4, "45 s"),
        (200, "3m20s"),
        (120, "2m"),
        (7_500, "2h05m"),
        (7_200, "2h"),
        (180_000, "2d2h"),
    ],
)
def test_how_long_it_lasts(seconds: float, text: str) -> None:
    assert lasting(seconds) == text
