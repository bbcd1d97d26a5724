"""What keeps a scale-up within its bounds and its requests apart, guard by guard."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler.ports import PrepareTemplate
from holdfast.autoscaler.record import (
    READY,
    Condemned,
    Interrupted,
    Launch,
    LaunchStatus,
    PoolFailure,
    Spent,
    Unavailable,
)
from holdfast.autoscaler.scale_up.launch_result import QUOTA_S
from holdfast.autoscaler.snapshot import Need
from holdfast.cloud import Market, NoticeKind, State
from holdfast.cloud.launches import Launched, Refusal, Refused
from holdfast.kernel import FREE, Do, Happened, Lock
from holdfast.kernel.write import EVENTS_MAX
from tests.autoscaler.unit.scale_up.test_action import (
    ACTION,
    AT_S,
    TWO,
    begin,
    kinds,
    proceed,
    row,
    rows_of,
    scaling_up,
    settle,
    written,
)
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, booting, snapshot, worker

REFUSED, ABANDONED = LaunchStatus.REFUSED, LaunchStatus.ABANDONED
LATE_S = NOW_S + 3_600


def refused(group: int = 1, **said: Any) -> Launch:
    return row(group, **{"status": REFUSED, **said})


def test_the_needs_of_one_scale_up_share_the_hour_and_no_token() -> None:
    write = written(begin(Need("default", 3), Need("default", 3), launches_per_hour_max=4))

    rows = rows_of(write)
    assert sum(each.count for each in rows) == 4
    assert len({each.token(ACTION) for each in rows}) == len(rows) == 3
    assert write.value.scale_up is not None
    assert write.value.scale_up.reason == "why"
    assert write.events[0].numbers == {"requested": 4, "workers": 2}


def test_a_template_that_is_not_described_yet_is_prepared_all_the_same() -> None:
    assert begin(Need("default", 1), seen=snapshot(*TWO, templates={}, digests={})) == Do(
        (PrepareTemplate("default", ""),)
    )


@pytest.mark.parametrize(
    ("here", "kind"),
    [
        (worker("i-9", joining=True), "joinExtended"),
        (worker("i-9", joining=True, state=State.SHUTTING_DOWN), "diedBeforeJoining"),
        (worker("i-9", joining=True, ready=False), "terminating"),
        (worker("i-9"), "joined"),
        (booting("i-9"), "terminating"),
    ],
    ids=["ready", "dying", "not ready", "open", "no node"],
)
def test_only_a_ready_node_that_was_not_opened_is_given_more_time(here: Any, kind: str) -> None:
    assert kinds(proceed(scaling_up(row(1, "i-9")), snapshot(*TWO, here), LATE_S)) == [kind]


def test_a_node_that_is_leaving_is_given_no_more_time() -> None:
    interrupted = Interrupted("i-9", NoticeKind.INTERRUPTION, AT_S, AT_S + 120, "a")
    cluster = replace(scaling_up(row(1, "i-9")), interrupted=(interrupted,))

    assert kinds(proceed(cluster, snapshot(*TWO, worker("i-9", joining=True)), LATE_S)) == ["terminating"]


def test_time_is_over_after_the_join_timeout_and_not_at_it() -> None:
    last_s = NOW_S + SETTINGS.join_timeout_s

    assert isinstance(proceed(scaling_up(row()), snapshot(*TWO), last_s), Do)
    assert kinds(proceed(scaling_up(row()), snapshot(*TWO), last_s + 1)) == ["joinExtended"]
    assert isinstance(proceed(scaling_up(row(extended=1)), snapshot(*TWO), last_s), Do)
    assert kinds(proceed(scaling_up(row(extended=1)), snapshot(*TWO), last_s + 1)) == ["launchAbandoned"]


def test_hundreds_of_requests_are_given_more_time_in_commits_that_fit() -> None:
    cluster = scaling_up(*(row(n) for n in range(1, EVENTS_MAX + 6)))

    first = written(proceed(cluster, snapshot(*TWO), LATE_S))
    second = written(proceed(first.value, snapshot(*TWO), LATE_S))

    assert (len(first.events), len(second.events)) == (EVENTS_MAX, 5)
    assert all(each.extended for each in rows_of(second))


def test_what_was_given_more_time_is_told_with_the_reason() -> None:
    ready = written(proceed(scaling_up(row(1, "i-9")), snapshot(*TWO, worker("i-9", joining=True)), LATE_S))
    unanswered = written(proceed(scaling_up(row()), snapshot(*TWO), LATE_S))

    assert ready.events[0].reason == "ready by now: i-9"
    assert unanswered.events[0].reason == "spot/m5.large/a: no answer is known"


def test_each_machine_has_the_time_of_its_own_request() -> None:
    old = row(1, "i-8", at_s=AT_S - 5_000)

    assert proceed(scaling_up(old, row(2, "i-9"), joined=("i-8",)), snapshot(*TWO, booting("i-9"))) is None


def test_a_request_without_a_timestamp_counts_from_the_beginning_of_its_scale_up() -> None:
    assert proceed(scaling_up(row(1, "i-9", at_s=0)), snapshot(*TWO, booting("i-9"))) is None


def test_what_died_is_told_as_what_it_was_seen() -> None:
    dead = written(proceed(scaling_up(row(1, "i-9")), snapshot(*TWO, worker("i-9", state=State.STOPPED))))
    unseen = replace(scaling_up(row(1, "i-9")), condemned=(Condemned("i-9", "a", "surplus", AT_S),))

    assert dead.events[0].reason == "stopped"
    assert written(proceed(unseen, snapshot(*TWO))).events[0].reason == "terminating"


def test_attempts_elsewhere_are_launches_of_the_hour_too() -> None:
    cluster = replace(scaling_up(refused(count=3)), spent=(Spent("0-a", AT_S - 10, 3),))
    settings = replace(SETTINGS, launches_per_hour_max=5)

    again = written(proceed(cluster, snapshot(*TWO), settings=settings))
    assert kinds(again) == ["retryScaleUp"]
    assert sum(each.count for each in rows_of(again)[1:]) == 2, "two of five are left"
    assert again.value.spent == (Spent("0-a", AT_S - 10, 3), Spent(ACTION, AT_S, 2))

    no_more = written(proceed(again.value, snapshot(*TWO), settings=settings))
    assert kinds(no_more) == ["launchAbandoned"]
    assert rows_of(no_more)[0].reason == "the launches of this hour are spent"


def test_attempts_elsewhere_have_groups_of_their_own_and_leave_the_others_alone() -> None:
    cluster = scaling_up(refused(1), refused(2), row(3, "i-9"))

    first = written(proceed(cluster, snapshot(*TWO, booting("i-9"))))
    second = written(proceed(first.value, snapshot(*TWO, booting("i-9"))))

    rows = rows_of(second)
    assert [(each.group, each.attempt, each.count) for each in rows] == [
        (1, 1, 0),
        (2, 1, 0),
        (3, 1, 1),
        (4, 2, 1),
        (5, 2, 1),
    ]
    assert len({each.token(ACTION) for each in rows}) == 5


def test_a_request_that_is_bound_to_a_zone_is_not_repeated_elsewhere() -> None:
    none_in_a = tuple(Unavailable(f"spot/{kind}/a", AT_S + 60, "x") for kind in ("m5.large", "m5a.large"))
    free = replace(scaling_up(refused()), unavailable=none_in_a)
    bound = replace(scaling_up(refused(bound=True)), unavailable=none_in_a)

    assert str(rows_of(written(proceed(free, snapshot(*TWO))))[1].offering) == "spot/m5.large/b"
    assert str(rows_of(written(proceed(bound, snapshot(*TWO))))[1].offering) == "on-demand/m5.large/a"


def test_a_request_is_let_go_when_there_is_nowhere_else() -> None:
    cluster = replace(
        scaling_up(refused()),
        unavailable=tuple(Unavailable(f"{market}/standard", AT_S + 60, "quota") for market in Market),
    )

    abandoned = written(proceed(cluster, snapshot(*TWO)))

    assert kinds(abandoned) == ["launchAbandoned"]
    assert rows_of(abandoned)[0].status is ABANDONED
    why = "nothing to be had: on-demand/standard (quota), spot/standard (quota) left alone for a while"
    assert rows_of(abandoned)[0].reason == why


def test_an_end_releases_the_lock_counts_failures_and_keeps_its_words_short() -> None:
    rows = (
        row(1, status=ABANDONED, reason="refused: " + "x" * 400),
        row(2, status=ABANDONED, reason="y" * 400),
    )
    cluster = replace(
        scaling_up(*rows), lock=Lock("me", NOW_S + 99), pool_failures=(PoolFailure("default", 2, AT_S),)
    )

    failed = written(proceed(cluster, snapshot(*TWO)))

    assert (failed.value.lock, failed.value.failures, failed.value.scale_up) == (FREE, 3, None)
    assert len(failed.events[0].reason) == 500


def test_more_than_was_asked_for_is_no_failure() -> None:
    more = scaling_up(row(1, "i-8", "i-9"), requested=1, joined=("i-8", "i-9"))

    ended = written(proceed(more, snapshot(*TWO, worker("i-8"), worker("i-9")))).value

    assert ended.pool_failures == ()


def test_the_first_replacements_are_ready_and_for_the_others_it_is_decided_anew() -> None:
    notices = (
        Interrupted("i-11", NoticeKind.INTERRUPTION, AT_S, AT_S + 120, ACTION),
        Interrupted("i-12", NoticeKind.INTERRUPTION, AT_S, AT_S + 120, ACTION),
        Interrupted("i-13", NoticeKind.REBALANCE, AT_S, AT_S, ACTION),
        Interrupted("i-14", NoticeKind.REBALANCE, AT_S, AT_S, "another"),
    )
    rows = (row(1, "i-9"), row(2, status=ABANDONED, count=2))
    cluster = replace(scaling_up(*rows, joined=("i-9",)), interrupted=notices)

    ended = written(proceed(cluster, snapshot(*TWO, worker("i-9"))))

    assert [(each.instance_id, each.replacement) for each in ended.value.interrupted] == [
        ("i-11", READY),
        ("i-12", ""),
        ("i-14", "another"),
    ]
    assert [(event.kind, event.about) for event in ended.events] == [
        ("completeScaleUp", ACTION),
        ("noticeExpired", "i-13"),
    ]


def test_hundreds_of_hints_without_a_replacement_are_let_go_in_commits_that_fit() -> None:
    notices = tuple(
        Interrupted(f"i-{n}", NoticeKind.REBALANCE, AT_S, AT_S, ACTION) for n in range(100, 110 + EVENTS_MAX)
    )
    failed = written(
        proceed(
            replace(scaling_up(row(status=ABANDONED, count=len(notices))), interrupted=notices),
            snapshot(*TWO),
        )
    )

    assert len(failed.events) == EVENTS_MAX
    assert {each.replacement for each in failed.value.interrupted} == {""}
    assert len(failed.value.interrupted) == len(notices) - (EVENTS_MAX - 1), "each that is let go is told"


def test_an_answer_belongs_to_the_request_that_asked() -> None:
    cluster = scaling_up(row(1), row(2), row(3))

    noted = settle(cluster, row(2), Happened(Launched(("i-9",))))

    assert [each.instance_ids for each in rows_of(noted)] == [(), ("i-9",), ()]
    assert settle(cluster, row(2, attempt=2), Happened(Launched(("i-9",)))) is None
    assert settle(cluster, row(4), Happened(Refused(Refusal.CAPACITY, "no"))) is None


def test_a_place_that_gave_all_is_not_left_alone() -> None:
    noted = settle(scaling_up(row(count=2)), row(count=2), Happened(Launched(("i-8", "i-9"))))

    assert noted is not None
    assert noted.value.unavailable == ()
    assert noted.events[0].numbers == {"launched": 2, "short": 0}


def test_a_place_is_left_alone_once() -> None:
    before = (
        Unavailable("spot/standard", AT_S + 5, "older"),
        Unavailable("spot/m5.large/b", AT_S + 5, "no capacity"),
        Unavailable("spot/m5.large/c", AT_S, "no capacity"),
    )
    cluster = replace(scaling_up(row()), unavailable=before)

    noted = settle(cluster, row(), Happened(Refused(Refusal.QUOTA, "VcpuLimitExceeded")))

    assert noted is not None
    assert noted.value.unavailable == (*before[1:], Unavailable("spot/standard", AT_S + QUOTA_S, "quota"))


def test_a_long_refusal_is_kept_short() -> None:
    noted = settle(scaling_up(row()), row(), Happened(Refused(Refusal.REFUSED, "x" * 2_000)))

    assert noted is not None
    assert len(rows_of(noted)[0].reason) == 200
    assert len(noted.events[0].reason) == 500
    assert noted.events[0].reason.startswith("spot/m5.large/a: ")
