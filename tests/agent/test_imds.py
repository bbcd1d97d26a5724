"""The metadata service as the agent asks it, scripted."""

import time

import pytest

from holdfast.agent.imds import TTL_S, Absent, Imds
from holdfast.failover.agent.words import Notice
from tests.agent.metadata import Script
from tools.parts.imds.control import stamp


def test_it_says_who_the_instance_is(script: Script) -> None:
    assert Imds(script.server.url).identity() == {
        "instance_id": "i-1",
        "instance_type": "m5.large",
        "az": "eu-central-1b",
        "region": "eu-central-1",
        "address": "10.0.0.7",
    }


def test_no_notice_is_nothing_and_a_notice_is_read_with_its_deadline(script: Script) -> None:
    imds = Imds(script.server.url)
    assert list(imds.notices()) == []
    at = stamp(time.time() + 120)
    script.book.interrupt("i-1", "stop", at)
    script.book.rebalance("i-1", "2026-01-01T00:00:00Z")
    termination, hint = imds.notices()
    assert (termination.kind, termination.action, termination.time) == ("termination", "stop", at)
    assert termination.deadline_s is not None
    left_s = termination.deadline_s - time.clock_gettime(time.CLOCK_BOOTTIME)
    assert 115 < left_s <= 120
    assert (hint.kind, hint.time, hint.deadline_s) == ("rebalance", "2026-01-01T00:00:00Z", None)


def test_a_session_that_has_run_out_is_renewed_at_once(script: Script) -> None:
    imds = Imds(script.server.url)
    list(imds.notices())
    token = imds.token
    script.now_s += TTL_S + 1
    assert list(imds.notices()) == []
    assert imds.token != token


@pytest.mark.parametrize(
    ("at", "left_s"),
    [("soon", 120), ("", 120), (-5, 0), (3_720, 120)],
    ids=["no time", "none", "past", "by a clock that is behind"],
)
def test_a_time_that_cannot_be_read_is_taken_for_the_usual_one(
    script: Script, at: str | int, left_s: int
) -> None:
    script.book.interrupt("i-1", "terminate", at if isinstance(at, str) else stamp(time.time() + at))
    (notice,) = Imds(script.server.url).notices()
    assert notice.deadline_s is not None
    assert abs(notice.deadline_s - time.clock_gettime(time.CLOCK_BOOTTIME) - left_s) < 3


def test_a_termination_that_never_came_is_none(script: Script) -> None:
    script.book.interrupt("i-1", "terminate", "2015-01-05T18:02:00Z")
    assert list(Imds(script.server.url).notices()) == []


class Halting(Imds):
    """Answers for one path, and for no other."""

    def read(self, path: str) -> str | None:
        if path != "spot/instance-action":
            raise Absent("it did not answer in time")
        return super().read(path)


def test_a_termination_is_told_though_nothing_else_can_be_asked(script: Script) -> None:
    script.book.interrupt("i-1", "terminate", stamp(time.time() + 120))
    told: list[Notice] = []
    with pytest.raises(Absent, match="in time"):
        told.extend(Halting(script.server.url).notices())
    assert [notice.kind for notice in told] == ["termination"]


def test_a_service_that_is_off_or_away_is_told_as_such(script: Script) -> None:
    script.instance.enabled = False
    with pytest.raises(Absent, match="switched off"):
        list(Imds(script.server.url).notices())
    script.book.remove("i-1")
    with pytest.raises(Absent, match="no metadata service answers"):
        list(Imds(script.server.url, timeout_s=0.2).notices())
