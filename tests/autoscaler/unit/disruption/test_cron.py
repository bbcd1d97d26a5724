"""Cron expressions and windows: what they match, and what is refused."""

import re
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.autoscaler.disruption.cron import BadCron, Cron, parse
from holdfast.autoscaler.disruption.windows import is_open, opens_s, window, zone_named
from holdfast.autoscaler.settings.load import InvalidSettings, load


def matches(cron: Cron, day: date) -> bool:
    return cron.is_on(day.month, day.day, day.isoweekday() % 7)


def at(text: str, zone: str = "UTC") -> float:
    return datetime.fromisoformat(text).replace(tzinfo=zone_named(zone)).timestamp()


def test_a_field_is_a_star_a_number_a_list_a_range_a_step_or_a_name() -> None:
    cron = parse("*/20 1,3-5 1-31/10 jan,dec MON-fri")

    assert cron.minutes == (0, 20, 40)
    assert cron.hours == (1, 3, 4, 5)
    assert cron.days == {1, 11, 21, 31}
    assert cron.months == {1, 12}
    assert cron.weekdays == {1, 2, 3, 4, 5}
    assert parse("5/25 * * * 7").minutes == (5, 30, 55)
    assert parse("5 * * * 7").weekdays == {0}, "Sunday is 0 and 7"


def test_if_both_days_are_restricted_one_of_them_is_enough() -> None:
    either, both = parse("0 0 13 * fri"), parse("0 0 */1 * fri")

    assert matches(either, date(2026, 11, 13))
    assert matches(either, date(2026, 11, 20)), "a Friday"
    assert matches(either, date(2026, 10, 13)), "a Tuesday, and the 13th"
    assert not matches(either, date(2026, 11, 14))
    assert matches(both, date(2026, 11, 20))
    assert not matches(both, date(2026, 10, 13))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("0 0 30 2 *", "never matches: month 2 has no day 30; name a day that it has"),
        ("0 0 31 4,jun,9,11 *", "never matches"),
        ("0 0 31 2 */1", "never matches"),
        ("0 2 * *", "has 4 fields: write five, minute, hour"),
        ("60 * * * *", "minute '60': write numbers from 0 to 59"),
        ("* 24 * * *", "hour '24'"),
        ("* * 0 * *", "day of the month '0': write numbers from 1 to 31"),
        ("* * * foo *", "month 'foo': write numbers from 1 to 12, or jan/feb/mar/…"),
        ("* * * * 8", "day of the week '8'"),
        ("* 5-3 * * *", "hour '5-3': 5 comes after 3"),
        ("*/0 * * * *", "minute '*/0'"),
        ("*/ * * * *", "minute '*/'"),
        ("1,, * * * *", "minute ''"),
        ("-1 * * * *", "minute '-1'"),
        ("٣ * * * *", "minute"),
        ("9999999999999 * * * *", "minute"),
    ],
)
def test_what_is_no_cron_or_never_matches_is_refused(text: str, says: str) -> None:
    with pytest.raises(BadCron, match=re.escape(says)):
        parse(text)


def test_a_leap_day_and_a_weekday_beside_an_impossible_date_do_match() -> None:
    assert matches(parse("0 0 29 2 *"), date(2028, 2, 29))
    assert matches(parse("0 0 30 2 mon"), date(2026, 2, 2))
    assert opens_s([window("0 0 29 2 * for 1h")], "UTC", at("2097-01-01")) == at("2104-02-29")


@given(st.text("0123456789*/,- monjafeb", max_size=24))
def test_any_text_is_an_expression_that_matches_or_is_refused(text: str) -> None:
    try:
        cron = parse(text)
    except BadCron:
        return
    year = (date.fromordinal(date(2028, 1, 1).toordinal() + n) for n in range(366))
    assert any(matches(cron, day) for day in year)


@pytest.mark.parametrize(
    "text", ["0 2 * * *", "0 2 * * * for", "0 2 * * * for 0m", "0 2 * * * for 25h", "for 1h"]
)
def test_a_window_needs_a_duration_of_a_day_at_most(text: str) -> None:
    with pytest.raises(BadCron, match=r"must last from 1m to 24h|fields"):
        window(text)


def test_a_window_is_open_from_its_start_until_its_end() -> None:
    nightly = [window("0 22 * * mon-fri for 7h30m")]

    assert not is_open(nightly, "UTC", at("2026-11-20T21:59:59"))
    assert is_open(nightly, "UTC", at("2026-11-20T22:00:00"))
    assert is_open(nightly, "UTC", at("2026-11-21T05:29:59")), "a Saturday, in the window of Friday"
    assert not is_open(nightly, "UTC", at("2026-11-21T05:30:00"))
    assert not is_open(nightly, "UTC", at("2026-11-21T22:30:00"))
    assert opens_s(nightly, "UTC", at("2026-11-20T22:00:00")) == at("2026-11-23T22:00:00")
    assert is_open([], "UTC", 0.0), "where there is none it is always open"
    assert opens_s([], "UTC", 0.0) is None


def test_windows_are_of_the_zone_that_is_named_in_summer_and_winter() -> None:
    zone, early = "Europe/Berlin", [window("30 2 * * * for 1h")]

    assert is_open(early, zone, datetime(2026, 7, 1, 0, 45, tzinfo=UTC).timestamp())
    assert is_open(early, zone, datetime(2026, 1, 1, 1, 45, tzinfo=UTC).timestamp())
    assert is_open(early, zone, datetime(2026, 3, 29, 1, 45, tzinfo=UTC).timestamp()), "the clock skips 02:30"
    twice = [datetime(2026, 10, 25, hour, 45, tzinfo=UTC).timestamp() for hour in (0, 1)]
    assert [is_open(early, zone, each) for each in twice] == [True, False]
    with pytest.raises(BadCron, match="no time zone"):
        zone_named("Europe/Atlantis")


@pytest.mark.parametrize(
    ("toml", "environ", "says"),
    [
        (
            {"windows": ["0 0 30 2 * for 1h"]},
            {},
            "[autoscaler.disruption] windows = '0 0 30 2 * for 1h': '0 0 30 2 *' never matches: month 2",
        ),
        (
            {},
            {"DISRUPTION_WINDOWS": "0 0 30 2 * for 1h"},
            "DISRUPTION_WINDOWS = '0 0 30 2 * for 1h': '0 0 30 2",
        ),
        ({"time_zone": "Mars/Olympus"}, {}, "time_zone = 'Mars/Olympus': no time zone of this name is known"),
    ],
)
def test_a_setting_that_never_matches_is_refused_with_field_value_and_fix(
    toml: dict[str, object], environ: dict[str, str], says: str
) -> None:
    with pytest.raises(InvalidSettings, match=re.escape(says)):
        load({"autoscaler": {"disruption": toml}}, environ)


def test_windows_in_the_environment_are_separated_by_semicolons() -> None:
    environ = {"DISRUPTION_WINDOWS": "0 2 1,15 * * for 1h; 0 3 * * sun for 30m"}
    assert [str(each) for each in load({}, environ).settings.disruption.windows] == [
        "0 2 1,15 * * for 1h",
        "0 3 * * sun for 30m",
    ]
