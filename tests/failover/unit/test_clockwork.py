"""The database's time through a server's own clock: steps, outages, young servers."""

from typing import Any

import pytest

from holdfast.failover import clockwork
from holdfast.failover.ports import InstanceRow, Look, Term
from tests.proof import prove
from tests.variants import broken

TERM = Term(10.0)
SUBJECT = "acme/db"


class Server:
    """A server whose database's clock may step; `boot_s` is the true time."""

    def __init__(self, module: Any = clockwork) -> None:
        self.boot_s, self.step_s = 500.0, 1_000_000.0
        self.clock = module.Clockwork.begun(TERM, self.boot_s)
        self.lease_until_s = self.heartbeat_s = 0.0

    def database_s(self) -> float:
        return self.boot_s + self.step_s

    def grant(self, kept_s: float = TERM.kept_s) -> None:
        self.lease_until_s = self.database_s() + kept_s
        self.heartbeat_s = self.database_s()

    def pass_s(self, seconds: float, *, renewing: bool = False) -> None:
        """A look every second."""
        for _ in range(int(seconds)):
            self.boot_s += 1
            if renewing:
                self.grant()
            self.left_s()

    def left_s(self, long_until_s: float = 0.0) -> float:
        row = InstanceRow(instance_id="i-1", lease_until_s=self.lease_until_s, heartbeat_s=self.heartbeat_s)
        look = Look(now_s=self.database_s(), rows=(row,))
        self.clock = self.clock.heard(self.boot_s, look.now_s)
        self.clock, seen = self.clock.seen(SUBJECT, look, self.boot_s, long_until_s)
        left_s: float = seen["i-1"].lease_left_s
        return left_s

    def beaten(self) -> None:
        self.clock = self.clock.beaten(self.boot_s, self.heartbeat_s)

    def may_judge(self) -> bool:
        judges: bool = self.clock.may_judge(self.boot_s)
        return judges


def a_step_forward_ends_no_lease(module: Any) -> None:
    server = Server(module)
    server.pass_s(30, renewing=True)
    server.step_s += 3_600
    server.pass_s(5)
    assert server.left_s() == pytest.approx(5.1), "five seconds have passed, not an hour"
    server.pass_s(6)
    assert server.left_s() == 0, "and it ends when its time is over"


def a_step_back_makes_no_lease_last_for_an_hour(module: Any) -> None:
    server = Server(module)
    server.pass_s(30, renewing=True)
    server.step_s -= 3_600
    server.pass_s(1)
    assert server.left_s() > 8, "it is not over either"
    server.pass_s(11)
    assert server.left_s() == 0, "one lease time from when it was first seen"


def a_long_lease_of_a_pause_is_believed(module: Any) -> None:
    server = Server(module)
    server.grant(1_010)
    long_until_s = server.database_s() + 1_010
    assert server.left_s(long_until_s) == pytest.approx(1_010)
    for _ in range(900):
        server.boot_s += 1
        server.left_s(long_until_s)
    assert server.left_s(long_until_s) == pytest.approx(110), "also long after it was first seen"


def a_young_server_judges_no_silence(module: Any) -> None:
    server = Server(module)
    server.pass_s(9)
    assert not server.may_judge()
    server.pass_s(3)
    assert server.may_judge()


def a_server_that_was_cut_off_judges_no_silence(module: Any) -> None:
    server = Server(module)
    server.pass_s(30)
    server.boot_s += 60
    assert not server.may_judge(), "nothing was heard for a minute"
    server.left_s()
    assert not server.may_judge(), "no agent had time to renew its lease"
    server.pass_s(11)
    assert server.may_judge()


def a_server_that_withheld_leases_judges_no_silence(module: Any) -> None:
    clock = module.Clockwork.begun(TERM, 0.0)
    for second in range(30):
        clock = clock.heard(float(second), 1_000.0 + second)
    assert clock.may_judge(30.0)
    clock = clock.withheld(30.0)
    for second in range(31, 40):
        clock = clock.heard(float(second), 1_000.0 + second)
        assert not clock.may_judge(float(second)), "it granted none, so that one is out tells nothing"
    assert clock.heard(41.0, 1_041.0).may_judge(41.0)


def a_lease_that_the_database_has_lost_lasts_once_more(module: Any) -> None:
    """It was replaced by a copy that was a little behind: no record differs, and no server was cut off."""
    server = Server(module)
    server.pass_s(30, renewing=True)
    server.beaten()
    copy = server.lease_until_s, server.heartbeat_s
    server.pass_s(9, renewing=True)
    server.beaten()
    server.lease_until_s, server.heartbeat_s = copy
    server.pass_s(2)  # the instance cannot renew, and serves on under what was lost
    server.beaten()
    assert server.left_s() > TERM.granted_s - 0.1
    server.pass_s(9)
    server.beaten()
    assert server.left_s() > 0, "what was granted at last may still run"
    server.pass_s(2)
    assert server.left_s() == 0


def no_more_than_a_share_is_revoked_within_a_minute(module: Any) -> None:
    revocations = module.Revocations(share=0.1, at_least=3)
    for n in range(50):
        assert revocations.may(float(n) / 10, 500, f"c/{n}")
        revocations = revocations.noted(float(n) / 10, f"c/{n}")
    assert not revocations.may(5.0, 500, "c/another"), "fifty of five hundred"
    assert revocations.may(5.0, 500, "c/7"), "it does not count for itself"
    assert revocations.may(70.0, 500, "c/another"), "a minute later"


PROMISES = {
    a_lease_that_the_database_has_lost_lasts_once_more: (
        "H30: a lease that the database has lost is over",
        {"lost_s = boot_s if newest_s < self.newest_s else self.lost_s": "lost_s = self.lost_s"},
    ),
    a_step_forward_ends_no_lease: (
        "H21: the database's clock steps forward and every lease is over",
        {"if at_s >= oldest_s and ahead < offset": "if False"},
    ),
    a_step_back_makes_no_lease_last_for_an_hour: (
        "H21: the database's clock steps back and a lease lasts for an hour",
        {"            if left_s > longest_s:\n": "            if False:\n"},
    ),
    a_long_lease_of_a_pause_is_believed: (
        "H46: the long lease of a pause is cut to one lease time",
        {"max(self.term.kept_s, long_until_s - now_s)": "self.term.kept_s"},
    ),
    a_young_server_judges_no_silence: (
        "H22: a young server judges at once",
        {"judges_from_s=boot_s + term.kept_s, heard_s": "judges_from_s=boot_s, heard_s"},
    ),
    a_server_that_was_cut_off_judges_no_silence: (
        "H22: a server judges as soon as the database is back",
        {"boot_s + self.term.kept_s if cut_off else": "self.judges_from_s if cut_off else"},
    ),
    a_server_that_withheld_leases_judges_no_silence: (
        "H30: leases that were withheld are taken for lost ones",
        {"return replace(self, judges_from_s=boot_s + self.term.kept_s)": "return self"},
    ),
    no_more_than_a_share_is_revoked_within_a_minute: (
        "H22: a whole fleet is revoked at once",
        {"< max(self.at_least, int(self.share * groups))": "< 10**9"},
    ),
}
VARIANTS = dict(PROMISES.values())


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_promise(promise: Any) -> None:
    promise(clockwork)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.__name__)
def test_the_promise_needs_its_guard(promise: Any) -> None:
    title, changes = PROMISES[promise]
    variant = broken("holdfast.failover.clockwork", changes)

    with pytest.raises(AssertionError):
        promise(variant)

    prove("variant", title, caught_by=promise.__name__.replace("_", " "))


def test_each_lease_that_is_too_long_lasts_from_its_own_first_sight() -> None:
    server = Server()
    server.pass_s(30, renewing=True)
    server.step_s -= 3_600
    server.lease_until_s += 5
    server.pass_s(8)
    server.lease_until_s += 1
    assert server.left_s() == pytest.approx(TERM.kept_s), "it was renewed: this is another one"


def test_half_a_lease_without_the_database_is_too_long_to_judge_anything() -> None:
    server = Server()
    server.pass_s(30, renewing=True)
    assert server.may_judge()
    server.boot_s += 5
    assert server.may_judge()
    server.boot_s += 0.1
    assert not server.may_judge(), "agents may not have been able to renew their leases"
    server.left_s()
    server.pass_s(10)
    assert not server.may_judge(), "for one lease time from when the database is back"
    server.pass_s(1)
    assert server.may_judge()


def test_of_what_was_never_heard_of_no_age_is_made_up() -> None:
    server = Server()
    rows = (
        InstanceRow(instance_id="i-1"),
        InstanceRow(instance_id="i-2", heartbeat_s=server.database_s() - 7),
    )
    server.clock = server.clock.heard(server.boot_s, server.database_s())
    _, seen = server.clock.seen(SUBJECT, Look(now_s=server.database_s(), rows=rows), server.boot_s)
    assert (seen["i-1"].silent_s, seen["i-1"].unleased_s) == (float("inf"), 0.0)
    assert (seen["i-2"].silent_s, seen["i-2"].unleased_s) == (pytest.approx(7.0), 0.0)
