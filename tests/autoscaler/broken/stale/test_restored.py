"""A table that was restored to an earlier point: nothing that serves is ended for what the record missed."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler import identity
from holdfast.autoscaler.record import READY, UNNEEDED, Interrupted, Missing, NotReady
from holdfast.autoscaler.sweep import joined
from holdfast.cloud import NoticeKind
from holdfast.kernel import Event, Logged
from tests.autoscaler.broken.test_bad_days import JOINED, LONG_AGO_S, MACHINES, NODES, NOW_S, a_day
from tests.proof import prove
from tests.variants import broken
from tests.workloads import node

JOINED_BUT_ONE = replace(JOINED, joined=JOINED.joined[1:])


def what_was_missing_yesterday_counts_from_now(module: Any) -> None:
    """The table is restored to a time at which a node was missing, and one was not ready; both came back.
    Today they are missing and silent again, for a moment."""
    yesterday = replace(
        JOINED,
        nodeless=(Missing("i-0", LONG_AGO_S),),
        missing=(Missing("i-1", LONG_AGO_S),),
        not_ready=(NotReady("i-2", LONG_AGO_S),),
        interrupted=(Interrupted("i-3", NoticeKind.NOT_READY, LONG_AGO_S, LONG_AGO_S, READY),),
    )
    today = module.restored(yesterday, 7, 70, NOW_S).value
    silent = [node(f"n-{n}", zone="abc"[n % 3], ready=n > 3) for n in range(30)]
    assert a_day([MACHINES[0], *MACHINES[2:]], silent[1:], today, minutes=3) == []


def what_was_drained_yesterday_serves_today(module: Any) -> None:
    """A hint was followed, and one was replaced by choice; both were called off after the backup was made."""
    then_s = int(NOW_S) - 600
    yesterday = replace(
        JOINED,
        interrupted=(
            Interrupted("i-3", NoticeKind.REBALANCE, then_s, then_s, UNNEEDED, drained=True),
            Interrupted("i-4", NoticeKind.REPLACE, then_s, int(NOW_S) + 600, READY, drained=True),
        ),
    )
    assert a_day(MACHINES, NODES, yesterday, minutes=3) == ["i-3", "i-4"], "so it was to go on then"
    assert a_day(MACHINES, NODES, module.restored(yesterday, 7, 70, NOW_S).value, minutes=3) == []


def a_log_with_a_hole_tells_nothing(module: Any) -> None:
    """The table is restored; a machine joined since, and the event that said so has expired.  Its node is not
    listed for a moment."""
    since = Event("joined", NOW_S - 600, about="i-1")
    log = [Logged("cluster", version, 0, "c", since) for version in range(9, 71)]
    today = identity.restored(JOINED_BUT_ONE, 7, 70, NOW_S, module.recalled(JOINED_BUT_ONE, log, 7, 70)).value
    assert a_day(MACHINES, NODES[1:], today, minutes=3) == []


CLAIMS = {
    what_was_missing_yesterday_counts_from_now: identity,
    what_was_drained_yesterday_serves_today: identity,
    a_log_with_a_hole_tells_nothing: joined,
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_shipped_one_ends_nothing(claim: Any) -> None:
    assert claim(CLAIMS[claim]) is None


VARIANTS = {
    "S-A9: a restored record ends what was missing yesterday": (
        "holdfast.autoscaler.identity",
        {"        nodeless=(),\n": ""},
        what_was_missing_yesterday_counts_from_now,
    ),
    "S-A4: a restored record ends what was drained yesterday": (
        "holdfast.autoscaler.identity",
        {"            if row.kind in ANNOUNCED\n": "", "replace(row, drained=False, ": "replace(row, "},
        what_was_drained_yesterday_serves_today,
    ),
    "S-A9: what a log with a hole does not name has never joined": (
        "holdfast.autoscaler.sweep.joined",
        {"    if not whole or not": "    if not"},
        a_log_with_a_hole_tells_nothing,
    ),
    "S-A9: a restored record deletes a node whose machine was missing yesterday": (
        "holdfast.autoscaler.identity",
        {"        missing=(),\n": ""},
        what_was_missing_yesterday_counts_from_now,
    ),
    "S-A9: a restored record ends what was not ready yesterday": (
        "holdfast.autoscaler.identity",
        {"            if row.kind in ANNOUNCED\n": ""},
        what_was_missing_yesterday_counts_from_now,
    ),
}


@pytest.mark.parametrize("title", VARIANTS)
def test_a_restored_table_without(title: str) -> None:
    module, changes, claim = VARIANTS[title]
    with pytest.raises(AssertionError):
        claim(broken(module, changes))
    prove("variant", title, caught_by="a restored table")
