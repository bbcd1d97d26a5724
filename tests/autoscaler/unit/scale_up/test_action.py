"""Adding nodes, rule by rule."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler.ports import Admit, LaunchInstances, PrepareTemplate
from holdfast.autoscaler.record import (
    EXTENSIONS_MAX,
    Cluster,
    Condemned,
    Interrupted,
    Launch,
    LaunchStatus,
    PoolFailure,
    Recent,
    ScaleUp,
    Tombstone,
    Unavailable,
)
from holdfast.autoscaler.scale_up import action as scale_up
from holdfast.autoscaler.scale_up import launch_result
from holdfast.autoscaler.scale_up.launch_plan import attempts_max
from holdfast.autoscaler.scale_up.pool_failures import fails_now
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Need, Snapshot
from holdfast.cloud import Market, NoticeKind, State
from holdfast.cloud.launches import Launched, Refusal, Refused
from holdfast.kernel import Busy, Conflict, Do, Happened, Outcome, Unknown, Write
from holdfast.kernel.write import EVENTS_MAX
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, booting, snapshot, worker

AT_S = int(NOW_S)
TWO = (worker("i-1"), worker("i-2", "b"))
ACTION = "1729999990-req-1"


def row(group: int = 1, *ids: str, count: int | None = None, **said: Any) -> Launch:
    """Answered with these, or not answered yet."""
    usual: dict[str, Any] = {
        "attempt": 1,
        "pool": "default",
        "zone": "a",
        "subnet_id": "s-a",
        "market": Market.SPOT,
        "instance_type": "m5.large",
        "template_id": "lt-1",
        "template_version": 3,
        "at_s": AT_S,
        "status": LaunchStatus.ANSWERED if ids else LaunchStatus.INTENDED,
    }
    return Launch(
        group=group, count=max(1, len(ids)) if count is None else count, instance_ids=ids, **(usual | said)
    )


def scaling_up(*rows: Launch, requested: int | None = None, **said: Any) -> Cluster:
    asked = sum(each.count for each in rows) if requested is None else requested
    return Cluster(scale_up=ScaleUp(ACTION, AT_S - 10, asked, rows, **said))


def proceed(
    cluster: Cluster, seen: Snapshot, now_s: float = NOW_S, settings: Settings = SETTINGS
) -> Write[Cluster] | Do[Any] | None:
    assert cluster.scale_up is not None
    return scale_up.proceed(cluster, cluster.scale_up, seen, settings, now_s)


def written(ahead: object) -> Write[Cluster]:
    assert isinstance(ahead, Write), ahead
    return ahead


def kinds(ahead: object) -> list[str]:
    return [event.kind for event in written(ahead).events]


def settle(cluster: Cluster, asked: Launch, outcome: Outcome) -> Write[Cluster] | None:
    return launch_result.settle(cluster, LaunchInstances(ACTION, asked), outcome, SETTINGS, NOW_S)


def rows_of(write: Write[Cluster] | None) -> tuple[Launch, ...]:
    assert write is not None
    assert write.value.scale_up is not None
    return write.value.scale_up.launches


def begin(*needs: Need, cluster: Cluster | None = None, seen: Snapshot | None = None, **settings: Any) -> Any:
    return scale_up.begin(
        cluster or Cluster(), seen or snapshot(*TWO), needs, "why", replace(SETTINGS, **settings), NOW_S
    )


def test_an_intent_is_written_first_and_whole_enough_to_be_repeated_word_for_word() -> None:
    write = written(begin(Need("default", 1)))

    (only,) = rows_of(write)
    assert (only.zone, only.subnet_id, only.market, only.instance_type) == (
        "a",
        "s-a",
        Market.SPOT,
        "m5.large",
    )
    assert (only.template_id, only.template_version, only.count, only.at_s) == ("lt-1", 3, 1, AT_S)
    assert only.status is LaunchStatus.INTENDED
    ahead = proceed(write.value, snapshot(*TWO))
    assert ahead == Do((LaunchInstances(f"{AT_S}-req-1", only),))


def test_many_workers_in_one_place_are_one_request() -> None:
    """H13: about two requests a second are allowed."""
    rows = rows_of(begin(Need("default", 100), max_workers=200))

    assert [(each.zone, each.count) for each in rows] == [("a", 50), ("b", 50)]


def test_a_token_belongs_to_action_group_and_attempt_and_to_nothing_else() -> None:
    tokens = {
        each.token(action)
        for action in (ACTION, "another")
        for each in (row(1), row(2), row(1, attempt=2), row(1, at_s=5, status=LaunchStatus.REFUSED))
    }

    assert len(tokens) == 6, "status and time are no part of a request"


def test_a_template_is_prepared_before_anything_is_intended() -> None:
    stale = snapshot(*TWO, digests={"default": "new"})

    assert begin(Need("default", 1), Need("default", 2), seen=stale) == Do(
        (PrepareTemplate("default", "new"),)
    )


def test_no_more_is_intended_than_the_launches_of_the_hour_allow() -> None:
    spent = written(begin(Need("default", 9), launches_per_hour_max=4))
    assert sum(each.count for each in rows_of(spent)) == 4

    assert begin(Need("default", 1), cluster=spent.value, launches_per_hour_max=4) == (
        "the launches of this hour are spent (demand)"
    )
    assert spent.value.spent[0].count == 4


def test_an_open_scale_up_is_extended_with_groups_of_its_own() -> None:
    write = written(begin(Need("default", 1), cluster=scaling_up(row(1), row(2))))

    assert kinds(write) == ["extendScaleUp"]
    assert [each.group for each in rows_of(write)] == [1, 2, 3]
    assert write.value.scale_up is not None
    assert write.value.scale_up.requested == 3


@pytest.mark.parametrize("outcome", [Busy("throttled"), Unknown("no answer"), Conflict("stale")])
def test_a_lost_answer_is_asked_for_again_with_the_same_token(outcome: Outcome) -> None:
    """H10, A1: only what certainly happened is noted."""
    cluster = scaling_up(row())

    assert settle(cluster, row(), outcome) is None
    assert proceed(cluster, snapshot(*TWO), NOW_S + 5) == Do((LaunchInstances(ACTION, row()),))


def test_an_answer_is_noted_once_and_only_for_the_request_that_is_open() -> None:
    answer: Outcome = Happened(Launched(("i-9",)))
    noted = settle(scaling_up(row()), row(), answer)

    assert rows_of(noted)[0] == row(1, "i-9")
    assert noted is not None
    assert settle(noted.value, row(), answer) is None, "the same news again"
    refused = scaling_up(row(status=LaunchStatus.REFUSED))
    assert settle(refused, row(), answer) is None, "H1: a first try that came late"
    assert settle(Cluster(), row(), answer) is None


def test_what_is_short_is_asked_for_elsewhere_and_this_place_is_left_alone() -> None:
    noted = settle(scaling_up(row(count=3)), row(count=3), Happened(Launched(("i-9",))))
    assert noted is not None
    assert noted.value.unavailable == (Unavailable("spot/m5.large/a", AT_S + 180, "no more capacity"),)

    rows = rows_of(written(proceed(noted.value, snapshot(*TWO, booting("i-9")))))

    assert [(each.count, each.attempt, str(each.offering)) for each in rows] == [
        (1, 1, "spot/m5.large/a"),
        (1, 2, "spot/m5.large/b"),
        (1, 2, "spot/m5a.large/a"),
    ]


@pytest.mark.parametrize("kind", [Refusal.CAPACITY, Refusal.EXISTED, Refusal.MISMATCH])
def test_what_may_be_had_elsewhere_becomes_the_next_attempt_with_a_token_of_its_own(kind: Refusal) -> None:
    """H14, A9."""
    refused = settle(scaling_up(row()), row(), Happened(Refused(kind, "no")))
    assert refused is not None

    again = written(proceed(refused.value, snapshot(*TWO)))

    assert kinds(again) == ["retryScaleUp"]
    old, new = rows_of(again)
    assert (old.owed, new.owed, new.attempt) == (0, 1, 2)
    assert old.token(ACTION) != new.token(ACTION)
    assert (str(new.offering) == "spot/m5.large/a") == (kind is not Refusal.CAPACITY)


def test_what_would_be_refused_elsewhere_too_fails_and_its_pool_backs_off() -> None:
    refused = settle(scaling_up(row()), row(), Happened(Refused(Refusal.REFUSED, "no")))
    assert refused is not None

    failed = written(proceed(refused.value, snapshot(*TWO)))

    assert kinds(failed) == ["failScaleUp"]
    assert failed.value.pool_failures == (
        PoolFailure("default", 1, AT_S + SETTINGS.back_off_first_s, "refused: no"),
    )
    assert "no" in failed.events[0].reason


def test_a_quota_bars_its_family_of_types_in_its_market() -> None:
    refused = settle(
        scaling_up(row()), row(), Happened(Refused(Refusal.QUOTA, "MaxSpotInstanceCountExceeded"))
    )

    assert refused is not None
    assert refused.value.unavailable == (Unavailable("spot/standard", AT_S + launch_result.QUOTA_S, "quota"),)
    assert rows_of(begin(Need("default", 1), cluster=replace(refused.value, scale_up=None)))[0].market is (
        Market.ON_DEMAND
    )


def test_attempts_come_to_an_end() -> None:
    most = attempts_max(row(), snapshot(*TWO), SETTINGS)
    last = scaling_up(row(status=LaunchStatus.REFUSED, attempt=most))

    assert kinds(proceed(last, snapshot(*TWO))) == ["launchAbandoned"]


def test_a_request_whose_answer_was_not_noted_is_repeated_however_late_that_is() -> None:
    """The answer was lost, and no tick came for an hour: the token still tells what was launched."""
    extended = written(proceed(scaling_up(row()), snapshot(*TWO), NOW_S + 3_600))

    assert kinds(extended) == ["joinExtended"]
    again = row(at_s=AT_S + 3_600, extended=1)
    assert proceed(extended.value, snapshot(*TWO), NOW_S + 3_600) == Do((LaunchInstances(ACTION, again),))
    assert again.token(ACTION) == row().token(ACTION)


def test_a_request_that_is_never_answered_is_let_go_after_a_second_join_timeout() -> None:
    abandoned = written(proceed(scaling_up(row(extended=1)), snapshot(*TWO), NOW_S + 601))

    assert kinds(abandoned) == ["launchAbandoned"]
    assert kinds(proceed(abandoned.value, snapshot(*TWO), NOW_S + 601)) == ["failScaleUp"]


def test_a_node_is_admitted_when_it_is_ready_and_counts_when_it_is_open() -> None:
    cluster = scaling_up(row(1, "i-9"))

    assert proceed(cluster, snapshot(*TWO, booting("i-9"))) is None
    assert proceed(cluster, snapshot(*TWO, worker("i-9", ready=False, joining=True))) is None
    assert proceed(cluster, snapshot(*TWO, worker("i-9", joining=True))) == Do((Admit("i-9"),))
    assert kinds(proceed(cluster, snapshot(*TWO, worker("i-9")))) == ["joined"]


def test_no_node_is_admitted_that_is_leaving() -> None:
    ready = snapshot(*TWO, worker("i-9", joining=True))
    interrupted = Interrupted("i-9", NoticeKind.INTERRUPTION, AT_S, AT_S + 120, "a")

    assert proceed(replace(scaling_up(row(1, "i-9")), interrupted=(interrupted,)), ready) is None


def test_a_condemned_machine_has_not_joined_however_ready_it_looks() -> None:
    condemned = replace(scaling_up(row(1, "i-9")), condemned=(Condemned("i-9", "a", "surplus", AT_S),))
    gone = replace(scaling_up(row(1, "i-9")), gone=(Tombstone("i-9", AT_S),))

    for cluster in (condemned, gone):
        write = written(proceed(cluster, snapshot(*TWO, worker("i-9"))))
        assert write.value.scale_up is not None
        assert (write.value.scale_up.joined, write.value.scale_up.lost) == ((), ("i-9",))


def test_what_did_not_join_in_time_is_condemned_with_its_action() -> None:
    """A4, A.9.11."""
    late = written(proceed(scaling_up(row(1, "i-9")), snapshot(*TWO, booting("i-9")), NOW_S + 601))

    assert [(one.instance_id, one.action_id) for one in late.value.condemned] == [("i-9", ACTION)]
    failed = written(proceed(late.value, snapshot(*TWO, booting("i-9")), NOW_S + 601))
    assert kinds(failed) == ["failScaleUp"]
    assert failed.value.is_condemned("i-9"), "it outlives its action"


def test_a_node_that_was_opened_has_joined_though_it_is_not_ready_at_the_next_look() -> None:
    """Pods may run there: to condemn it as late would end them undrained."""
    opened = snapshot(*TWO, worker("i-9", ready=False))

    assert proceed(scaling_up(row(1, "i-9")), opened, NOW_S + 60) is None
    late = written(proceed(scaling_up(row(1, "i-9")), opened, NOW_S + 3_600))

    assert late.value.scale_up is not None
    assert (late.value.scale_up.joined, late.value.condemned) == (("i-9",), ())


def test_a_node_that_was_ready_before_the_first_look_is_opened_however_late_that_is() -> None:
    waits = snapshot(*TWO, worker("i-9", joining=True))

    extended = written(proceed(scaling_up(row(1, "i-9")), waits, NOW_S + 3_600))

    assert kinds(extended) == ["joinExtended"]
    assert proceed(extended.value, waits, NOW_S + 3_600) == Do((Admit("i-9"),))
    for hours in range(2, 1 + EXTENSIONS_MAX):
        extended = written(proceed(extended.value, waits, NOW_S + hours * 3_600))
        assert kinds(extended) == ["joinExtended"], "it is ready, and we are late"
    again = written(proceed(extended.value, waits, NOW_S + 9 * 3_600))
    assert [one.instance_id for one in again.value.condemned] == ["i-9"], "a few times: else it never ends"


def test_a_node_that_is_condemned_cannot_be_opened_by_an_admission_that_is_under_way() -> None:
    """Between the last admission and the condemnation lies more time than an admission may take."""
    seen = snapshot(*TWO, worker("i-9", joining=True))
    cluster = scaling_up(row(1, "i-9", extended=EXTENSIONS_MAX))

    assert proceed(cluster, seen, NOW_S + 600) == Do((Admit("i-9"),))
    assert proceed(cluster, seen, NOW_S + 601) is None
    assert proceed(cluster, seen, NOW_S + 600 + scale_up.ADMISSION_S) is None
    assert kinds(proceed(cluster, seen, NOW_S + 601 + scale_up.ADMISSION_S)) == ["terminating"]


@pytest.mark.parametrize("state", [State.SHUTTING_DOWN, State.TERMINATED, State.STOPPED])
def test_a_scale_up_whose_machines_all_died_has_failed(state: State) -> None:
    """A.9.5."""
    dead = snapshot(*TWO, worker("i-8", state=state), worker("i-9", state=state))

    lost = written(proceed(scaling_up(row(1, "i-8", "i-9")), dead))
    assert kinds(lost) == ["diedBeforeJoining", "diedBeforeJoining"]

    assert kinds(proceed(lost.value, dead)) == ["failScaleUp"]


def test_a_machine_that_is_not_listed_yet_is_waited_for() -> None:
    assert proceed(scaling_up(row(1, "i-9")), snapshot(*TWO), NOW_S + 599) is None


def test_each_failure_doubles_the_wait_and_a_whole_success_ends_it() -> None:
    waits = []
    for failures in range(8):
        failed = (PoolFailure("default", failures, AT_S),) if failures else ()
        refused = row(status=LaunchStatus.ABANDONED, reason="refused: no image")
        cluster = replace(scaling_up(refused), pool_failures=failed)
        waits.append(written(proceed(cluster, snapshot(*TWO))).value.pool_failures[0].until_s - AT_S)
    assert waits == [60, 120, 240, 480, 960, 1_800, 1_800, 1_800]

    joined = replace(
        scaling_up(row(1, "i-9"), joined=("i-9",)), pool_failures=(PoolFailure("default", 3, AT_S - 1),)
    )
    complete = written(proceed(joined, snapshot(*TWO, worker("i-9")))).value
    assert (complete.failures, complete.pool_failures) == (0, ())
    assert (complete.last_up_s, complete.last_scale_s) == (AT_S, AT_S)
    assert complete.recent == (Recent("i-9", "default", "a", AT_S),), "listings lag: it counts all the same"


def test_half_a_success_cools_down_and_backs_off() -> None:
    half = scaling_up(row(1, "i-9"), row(2, status=LaunchStatus.ABANDONED), joined=("i-9",))

    write = written(proceed(half, snapshot(*TWO, worker("i-9"))))

    assert kinds(write) == ["completeScaleUp"]
    assert write.events[0].numbers == {"joined": 1, "requested": 2, "lost": 0, "backOff_s": 60}


def test_hundreds_that_join_at_once_are_noted_in_commits_that_fit() -> None:
    """H12."""
    ids = tuple(f"i-{n}" for n in range(100, 400))
    cluster, seen = scaling_up(row(1, *ids)), snapshot(*(worker(i) for i in ids))
    commits = 0
    while cluster.scale_up is not None:
        write = written(proceed(cluster, seen))
        assert len(write.events) <= EVENTS_MAX
        cluster, commits = write.value, commits + 1

    assert commits == 5, "three hundred in four, and the end"


def test_an_action_of_the_plain_design_is_verified_with_the_instances_that_it_names() -> None:
    plain = Cluster(scale_up=ScaleUp(ACTION, AT_S - 10, 2, foreign_ids=("i-8", "i-9")))

    joined = written(proceed(plain, snapshot(*TWO, worker("i-8"), worker("i-9"))))
    assert kinds(proceed(joined.value, snapshot(*TWO))) == ["completeScaleUp"]
    nameless = Cluster(scale_up=ScaleUp(ACTION, AT_S - 10, 2))
    assert kinds(proceed(nameless, snapshot(*TWO))) == ["failScaleUp"]


def test_what_is_owed_counts_until_it_is_let_go() -> None:
    """A request that was refused here and is to be made elsewhere is still capacity on its way."""
    assert row(count=3).owed == 3
    assert row(1, "i-8", count=3).owed == 2
    assert row(count=3, status=LaunchStatus.REFUSED).owed == 3
    assert row(count=3, status=LaunchStatus.ABANDONED).owed == 0
    assert fails_now(scaling_up(row(status=LaunchStatus.ABANDONED)), "default")
    assert not fails_now(scaling_up(row(status=LaunchStatus.ABANDONED)), "gpu")
