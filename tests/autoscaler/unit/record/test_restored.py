"""A record that was restored to an earlier point recalls from its log which machines have joined since."""

from dataclasses import replace

from holdfast.autoscaler import identity
from holdfast.autoscaler.events import AutoscalerEvent
from holdfast.autoscaler.record import Cluster, Interrupted, PoolIdle, ScaleUp, Underused
from holdfast.autoscaler.sweep.joined import recalled
from holdfast.cloud import NoticeKind
from holdfast.kernel import FREE, Event, Lock, Logged

NOW_S = 100_000.0
SINCE_S = 1_000
YESTERDAY = Cluster(cluster_uid="ours", joined=("i-1", "i-2"), joined_since_s=SINCE_S)


def log(*told: tuple[int, str, str]) -> list[Logged]:
    """Version, kind, machine."""
    return [
        Logged("cluster", version, 0, f"c-{version}", Event(kind, NOW_S - 500, about=about))
        for version, kind, about in told
    ]


def test_what_joined_since_is_recalled_and_what_is_gone_is_not() -> None:
    since = log(
        (8, "joined", "i-3"), (9, "seenJoined", "i-4"), (10, "terminated", "i-1"), (11, "joined", "i-5")
    )
    since += log((12, "reclaimed", "i-5"), (13, "decision", "hold"))

    assert recalled(YESTERDAY, since, 7, 13) == ("i-2", "i-3", "i-4")


def test_one_commit_may_tell_of_several() -> None:
    assert recalled(YESTERDAY, log((8, "joined", "i-3"), (8, "joined", "i-4")), 7, 8) == (
        "i-1",
        "i-2",
        "i-3",
        "i-4",
    )


def test_a_log_that_does_not_tell_all_tells_nothing() -> None:
    joined = (9, "joined", "i-3")
    assert recalled(YESTERDAY, log(joined), 7, 9) is None, "the first events have expired"
    assert recalled(YESTERDAY, log((8, "paused", ""), joined), 7, 10) is None, "the last one is missing"
    assert recalled(YESTERDAY, log((8, "paused", ""), (10, "joined", "i-3")), 7, 10) is None, "one between"
    assert recalled(YESTERDAY, [], 7, 70) is None
    whole = log((8, "paused", ""), joined)
    assert recalled(replace(YESTERDAY, joined_since_s=0), whole, 7, 9) is None, "it remembered nothing yet"
    for anew in (AutoscalerEvent.CLUSTER_KNOWN, AutoscalerEvent.CLUSTER_ACCEPTED):
        assert recalled(YESTERDAY, log((8, anew, "ours"), joined), 7, 9) is None, "no event names them all"


def test_the_memory_goes_on_where_the_log_is_whole_and_begins_anew_where_it_is_not() -> None:
    known = identity.restored(YESTERDAY, 7, 13, NOW_S, ("i-2", "i-3"))
    assert (known.value.joined, known.value.joined_since_s) == (("i-2", "i-3"), SINCE_S)
    assert "it knows which machines have joined" in known.events[0].reason
    unknown = identity.restored(YESTERDAY, 7, 13, NOW_S, None)
    assert (unknown.value.joined, unknown.value.joined_since_s) == (("i-1", "i-2"), int(NOW_S))
    assert "what happened between is not known to it" in unknown.events[0].reason


def test_only_what_the_cloud_has_announced_for_certain_stays_and_is_drained_anew() -> None:
    at = {"at_s": SINCE_S, "deadline_s": SINCE_S, "drained": True}
    rows = {
        kind: Interrupted(f"i-{kind}", kind, replacement=f"1-{kind}", **at)  # type: ignore[arg-type]
        for kind in NoticeKind
    }
    yesterday = replace(
        YESTERDAY,
        interrupted=tuple(rows.values()),
        scale_up=ScaleUp("1-gone", SINCE_S, 1),
        pending_since_s=SINCE_S,
        idle_since_s=SINCE_S,
        pools_idle=(PoolIdle("default", SINCE_S),),
        underused=(Underused("i-1", SINCE_S),),
        lock=Lock("who-ended-long-ago", NOW_S + 60),
    )

    today = identity.restored(yesterday, 7, 13, NOW_S).value

    interruption, gone = (rows[kind] for kind in (NoticeKind.INTERRUPTION, NoticeKind.GONE))
    assert today.interrupted == (
        replace(interruption, drained=False),
        replace(gone, drained=False, replacement=""),
    )
    assert (today.scale_up, today.last_action_id) == (None, "1-gone")
    assert (today.pending_since_s, today.idle_since_s) == (0, 0), "these count from now"
    assert (today.pools_idle, today.underused) == ((), ())
    assert today.lock == FREE, "who held it then is not known to hold it now"
