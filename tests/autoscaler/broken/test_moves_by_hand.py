"""Pairs of records with one thing wrong between them, each of which the judge of moves must name.

The workflow writes none of these, not even with a guard taken out: no rule of the table is idle.
"""

from dataclasses import replace

import pytest

from holdfast.autoscaler.record import (
    READY,
    Cluster,
    Condemned,
    Cordon,
    Interrupted,
    Launch,
    LaunchStatus,
    Missing,
    PoolFailure,
    Recent,
    ScaleDown,
    ScaleUp,
    Skip,
    Spent,
    Status,
    Target,
    Tombstone,
    Unavailable,
)
from holdfast.autoscaler.settings import Settings
from holdfast.cloud import Market, NoticeKind
from holdfast.kernel import Event, Lock, Versioned, Write
from holdfast.testing.legal import illegal, misstored

NOW_S = 100_000
LATELY_S = NOW_S - 60
SETTINGS = Settings()
HINT, CERTAIN = NoticeKind.REBALANCE, NoticeKind.INTERRUPTION

ASKED = Launch(1, 1, "default", "a", "s-a", Market.SPOT, "t3.medium", "lt-1", 1, 1, at_s=LATELY_S)
GIVEN_UP = replace(ASKED, group=2, status=LaunchStatus.ABANDONED)
CAME = replace(ASKED, status=LaunchStatus.ANSWERED, instance_ids=("i-9",))
ELSEWHERE = replace(ASKED, group=2, attempt=2, zone="b", at_s=NOW_S)
UP = ScaleUp("1-up", LATELY_S, 1, (CAME,))
DOWN = ScaleDown("1-down", LATELY_S, (Target("i-1"), Target("i-2")))
BOOKED = Spent("1-up", LATELY_S, 1)

IDLE = Cluster(last_scale_s=LATELY_S, last_up_s=LATELY_S, worker_count=3)
SCALES_UP = replace(IDLE, scale_up=UP, spent=(BOOKED,))
WAITS = replace(SCALES_UP, scale_up=replace(UP, launches=(ASKED,)))
DONE = replace(SCALES_UP, scale_up=replace(UP, joined=("i-9",)))
SCALES_DOWN = replace(IDLE, scale_down=DOWN)
INTERRUPTED = replace(IDLE, interrupted=(Interrupted("i-1", CERTAIN, LATELY_S, NOW_S + 60),))
CONDEMNED = replace(IDLE, condemned=(Condemned("i-1", "1-x", "why", LATELY_S),))
NEWLY_CONDEMNED = Condemned("i-1", "1-down", "scale-down", NOW_S)
GONE = (Tombstone("i-1", NOW_S),)
SPENT_NOW = Spent("1-up", NOW_S, 1)
KEPT = Skip("i-2", "a pod", NOW_S + 9)
HELD = replace(IDLE, lock=Lock("me", NOW_S + 300.0))


def asks(*rows: Launch, **other: object) -> ScaleUp:
    return replace(UP, launches=rows, **other)  # type: ignore[arg-type]


def statuses(first: Status, second: Status = Status.PLANNED) -> ScaleDown:
    return replace(DOWN, targets=(Target("i-1", first), Target("i-2", second)))


Move = tuple[Cluster, Cluster, str, str]
"""The record before and after, what is told (kinds and subjects), and what the judge says."""

FORBIDDEN: dict[str, Move] = {
    "nothing": (IDLE, IDLE, "conditionChanged pending", "it changes nothing"),
    "a scale-up becomes another": (
        SCALES_UP, replace(SCALES_UP, scale_up=replace(UP, action_id="2-up")), "joined i-9",
        "scale-up 1-up became 2-up",
    ),
    "a scale-down becomes another": (
        SCALES_DOWN, replace(SCALES_DOWN, scale_down=replace(DOWN, action_id="2-down")), "drained i-1",
        "scale-down 1-down became 2-down",
    ),
    "a scale-up takes a scale-down's place": (
        SCALES_DOWN,
        replace(IDLE, scale_up=ScaleUp("1-up", NOW_S, 1, (replace(ASKED, at_s=NOW_S),)), spent=(SPENT_NOW,)),
        "failScaleDown 1-down, beginScaleUp 1-up", "is begun before 1-down has ended",
    ),
    "a scale-down takes a scale-up's place": (
        SCALES_UP, replace(SCALES_DOWN, scale_down=replace(DOWN, started_s=NOW_S)),
        "failScaleUp 1-up, beginScaleDown 1-down", "is begun before 1-up has ended",
    ),
    "a scale-up by an old name": (
        replace(IDLE, spent=(BOOKED,)),
        replace(IDLE, scale_up=asks(replace(ASKED, at_s=NOW_S), started_s=NOW_S), spent=(BOOKED, SPENT_NOW)),
        "beginScaleUp 1-up", "its tokens are used up",
    ),
    "a scale-up is closed while it asks": (
        WAITS, replace(IDLE, spent=(BOOKED,), pool_failures=(PoolFailure("default", 1, NOW_S + 60),)),
        "failScaleUp 1-up",
        "closed while 1 are asked for",
    ),
    "a machine that joined is not remembered": (
        DONE, replace(IDLE, spent=(BOOKED,), last_scale_s=NOW_S, last_up_s=NOW_S), "completeScaleUp 1-up",
        "i-9 joined, and are not remembered",
    ),
    "a request is forgotten": (
        SCALES_UP, replace(SCALES_UP, scale_up=asks()), "joined i-9", "request 1.1 of 1-up is forgotten",
    ),
    "a request asks for something else": (
        WAITS, replace(WAITS, scale_up=asks(replace(CAME, instance_type="m5.large"))),
        "recordScaleUpInstances 1-up", "request 1.1 asks for something else",
    ),
    "an answer is forgotten": (
        SCALES_UP, replace(SCALES_UP, scale_up=asks(replace(CAME, instance_ids=()))),
        "recordScaleUpInstances 1-up",
        "i-9 are forgotten",
    ),
    "an answered request is asked again": (
        SCALES_UP, replace(SCALES_UP, scale_up=asks(replace(CAME, status=LaunchStatus.INTENDED))),
        "launchRefused 1-up", "was answered and is intended",
    ),
    "an answer is not told": (
        WAITS, replace(WAITS, scale_up=UP), "launchRefused 1-up", "recordScaleUpInstances is told 0 times",
    ),
    "the next attempt bears a number that is taken": (
        WAITS,
        replace(
            WAITS,
            scale_up=asks(replace(ASKED, status=LaunchStatus.REFUSED, count=0), replace(ELSEWHERE, group=1)),
            spent=(BOOKED, SPENT_NOW),
        ),
        "launchRefused 1-up, retryScaleUp 1-up", "bears a number below 1",
    ),
    "more is asked for than was short": (
        WAITS, replace(WAITS, scale_up=asks(ASKED, ELSEWHERE), spent=(BOOKED, SPENT_NOW)),
        "retryScaleUp 1-up", "1 are newly asked for in 1-up: 0 more wanted, 0 taken over",
    ),
    "a machine that joined has not": (
        DONE, SCALES_UP, "diedBeforeJoining i-9", "i-9 had joined or was lost",
    ),
    "a machine that was not launched joins": (
        WAITS, replace(WAITS, scale_up=asks(ASKED, joined=("i-8",))), "joined i-8", "awaits no such thing",
    ),
    "an extension is taken back": (
        replace(WAITS, scale_up=asks(replace(ASKED, extended=1))), WAITS, "joinExtended 1-up",
        "is given more time: 1 times before, 0 now",
    ),
    "a target is condemned by its action alone": (
        replace(IDLE, scale_down=statuses(Status.DRAINED)),
        replace(IDLE, scale_down=statuses(Status.CONDEMNED)),
        "terminating i-1", "condemned by its action alone",
    ),
    "a target is condemned before it is drained": (
        SCALES_DOWN, replace(IDLE, scale_down=statuses(Status.CONDEMNED), condemned=(NEWLY_CONDEMNED,)),
        "terminating i-1", "i-1 was planned and is terminating",
    ),
    "a target is planned again": (
        replace(IDLE, scale_down=statuses(Status.SKIPPED, Status.SKIPPED)),
        replace(IDLE, scale_down=statuses(Status.PLANNED, Status.SKIPPED)), "drainSkipped i-1",
        "goes back from TERMINATING to DRAINING",
    ),
    "a target is terminated, and its scale-down makes no progress": (
        replace(IDLE, scale_down=statuses(Status.CONDEMNED), condemned=(NEWLY_CONDEMNED,)),
        replace(IDLE, scale_down=statuses(Status.CONDEMNED), gone=GONE), "terminated i-1",
        "i-1 is terminated, and scale-down 1-down still has it ahead",
    ),
    "another plan": (
        SCALES_DOWN, replace(IDLE, scale_down=replace(DOWN, targets=(Target("i-1"),))), "drainSkipped i-2",
        "another plan",
    ),
    "a scale-down is closed in the middle": (
        SCALES_DOWN, IDLE, "failScaleDown 1-down", "what becomes of i-1 i-2",
    ),
    "a node that was kept lately is planned": (
        replace(IDLE, skipped=(KEPT,)),
        replace(IDLE, scale_down=replace(DOWN, started_s=NOW_S), skipped=(KEPT,)),
        "beginScaleDown 1-down", "i-2 is planned, though it leaves already or was kept",
    ),
    "a condemned one is forgotten": (CONDEMNED, IDLE, "terminated i-1", "was condemned, and is forgotten"),
    "a condemnation is put off": (
        CONDEMNED, replace(IDLE, condemned=(Condemned("i-1", "1-x", "why", NOW_S),)), "terminating i-1",
        "at another time",
    ),
    "a condemnation by the way": (
        IDLE, replace(IDLE, condemned=(NEWLY_CONDEMNED,), pending_since_s=NOW_S), "conditionChanged pending",
        "i-1 is condemned, and no terminating is told",
    ),
    "condemned twice": (
        IDLE, replace(IDLE, condemned=(NEWLY_CONDEMNED, NEWLY_CONDEMNED)), "terminating i-1",
        "i-1 is condemned twice",
    ),
    "an interrupted machine is forgotten": (
        INTERRUPTED, replace(IDLE, pending_since_s=NOW_S), "conditionChanged pending",
        "i-1 is interrupted no longer",
    ),
    "a machine that is certain to go is kept": (
        INTERRUPTED, IDLE, "drainSkipped i-1", "taken for certain, and is kept",
    ),
    "an interruption is put off": (
        INTERRUPTED, replace(IDLE, interrupted=(Interrupted("i-1", CERTAIN, NOW_S, NOW_S + 120),)),
        "interrupted i-1",
        "nothing is more certain than before",
    ),
    "a replacement that no scale-up launches": (
        INTERRUPTED,
        replace(IDLE, interrupted=(replace(INTERRUPTED.interrupted[0], replacement="2-up"),)),
        "notReplaced i-1",
        "which is no open scale-up",
    ),
    "a replacement is ready while its scale-up is open": (
        replace(SCALES_UP, interrupted=(replace(INTERRUPTED.interrupted[0], replacement="1-up"),)),
        replace(SCALES_UP, interrupted=(replace(INTERRUPTED.interrupted[0], replacement=READY),)),
        "joined i-9",
        "was 1-up and is ready",
    ),
    "a drain is forgotten": (
        replace(IDLE, interrupted=(replace(INTERRUPTED.interrupted[0], drained=True),)),
        INTERRUPTED, "drained i-1",
        "was drained, and that is forgotten",
    ),
    "gone without a word": (
        IDLE, replace(IDLE, gone=GONE, pending_since_s=NOW_S), "conditionChanged pending",
        "i-1 is gone, and no",
    ),
    "launched lately, and forgotten": (
        replace(IDLE, recent=(Recent("i-3", "default", "a", LATELY_S),)),
        replace(IDLE, pending_since_s=NOW_S), "conditionChanged pending", "i-3 was launched 60 s ago, and is",
    ),
    "left alone, and then not": (
        replace(IDLE, skipped=(Skip("i-3", "a pod", NOW_S + 9),)), replace(IDLE, pending_since_s=NOW_S),
        "conditionChanged pending", "i-3 was to be left alone",
    ),
    "barred without a refusal": (
        IDLE, replace(IDLE, unavailable=(Unavailable("spot", NOW_S + 9, "full"),)), "launchRefused 1-up",
        "no request came out short",
    ),
    "an hour's launches are forgotten": (
        replace(IDLE, spent=(BOOKED,)), replace(IDLE, pending_since_s=NOW_S), "conditionChanged pending",
        "1 launches are forgotten within the hour",
    ),
    "booked for no request": (
        SCALES_UP, replace(SCALES_UP, spent=(BOOKED, SPENT_NOW)), "extendScaleUp 1-up",
        "nothing is newly asked for",
    ),
    "missing since ever": (
        IDLE, replace(IDLE, missing=(Missing("i-3", 1),)), "missing i-3", "is dated 1, and it happened at",
    ),
    "a stray is forgotten": (
        replace(IDLE, strays=(Cordon("i-3", "1-old"),)), replace(IDLE, pending_since_s=NOW_S),
        "conditionChanged pending", "the stray on i-3 is forgotten",
    ),
    "the cordon of an open action is no stray": (
        SCALES_DOWN, replace(SCALES_DOWN, strays=(Cordon("i-1", "1-down"),)), "strayCordonFound i-1",
        "is no stray",
    ),
    "the cool-down is pushed": (
        IDLE, replace(IDLE, last_scale_s=NOW_S), "decision hold", "lastScaleEpoch was",
    ),
    "a failure cools down": (
        replace(IDLE, scale_down=statuses(Status.SKIPPED, Status.SKIPPED)), replace(IDLE, last_scale_s=NOW_S),
        "failScaleDown 1-down", "no action ended well",
    ),
    "a timestamp is moved": (
        replace(IDLE, pending_since_s=LATELY_S), replace(IDLE, pending_since_s=NOW_S),
        "conditionChanged pending",
        "it begins now, or it is over",
    ),
    "a back-off is forgotten": (
        replace(IDLE, pool_failures=(PoolFailure("default", 2, NOW_S + 60),)), replace(IDLE, worker_count=4),
        "decision hold", "no scale-up ended",
    ),
    "what came out short does not back off": (
        replace(DONE, scale_up=asks(CAME, GIVEN_UP, requested=2, joined=("i-9",))),
        replace(IDLE, spent=(BOOKED,), last_scale_s=NOW_S, last_up_s=NOW_S,
                recent=(Recent("i-9", "default", "a", NOW_S),)),
        "completeScaleUp 1-up", "came out short",
    ),
    "less than no worker": (IDLE, replace(IDLE, worker_count=-1), "decision hold", "workerCount is -1"),
    "a lock changes its holder": (
        HELD, replace(IDLE, lock=Lock("you", NOW_S + 300.0)), "lockTaken you", "you takes the lock from me",
    ),
    "a lock for ever": (
        IDLE, replace(IDLE, lock=Lock("me", NOW_S + 9_999.0)), "lockTaken me", "longer than 300 s",
    ),
    "another process releases the lock": (HELD, IDLE, "lockReleased you", "the lock of me is released"),
    "paused without an operator": (
        IDLE, replace(IDLE, paused_until_s=NOW_S + 60, worker_count=4), "decision hold", "no event says so",
    ),
    "a reason without a decision": (
        IDLE, replace(IDLE, hold_reason="so", pending_since_s=NOW_S), "conditionChanged pending",
        "no decision is told",
    ),
    "an event of nothing": (
        IDLE, replace(IDLE, pending_since_s=NOW_S), "conditionChanged pending, completeScaleUp 1-up",
        "completeScaleUp is told of 1-up, and the record shows nothing of the kind",
    ),
}  # fmt: skip


def told(said: str, at_s: float = NOW_S) -> tuple[Event, ...]:
    return tuple(Event(kind, at_s, about=about) for kind, about in (one.split() for one in said.split(", ")))


@pytest.mark.parametrize("name", FORBIDDEN)
def test_what_is_forbidden_is_named(name: str) -> None:
    before, after, said, complaint = FORBIDDEN[name]

    problems = illegal(before, after, told(said), NOW_S, SETTINGS)

    assert any(problem.startswith("S-A8: ") and complaint in problem for problem in problems), problems


ALLOWED: dict[str, tuple[Cluster, Cluster, str]] = {
    "a request is answered": (WAITS, SCALES_UP, "recordScaleUpInstances 1-up"),
    "a machine joins": (SCALES_UP, DONE, "joined i-9"),
    "a scale-up completes, and what has run out is dropped": (
        replace(DONE, gone=(Tombstone("i-5", NOW_S - 9_999),)),
        replace(IDLE, spent=(BOOKED,), last_scale_s=NOW_S, last_up_s=NOW_S,
                recent=(Recent("i-9", "default", "a", NOW_S),)),
        "completeScaleUp 1-up",
    ),
    "what is short is asked for elsewhere": (
        replace(WAITS, scale_up=asks(replace(ASKED, status=LaunchStatus.REFUSED))),
        replace(
            WAITS,
            scale_up=asks(replace(ASKED, status=LaunchStatus.REFUSED, count=0), ELSEWHERE),
            spent=(BOOKED, SPENT_NOW),
        ),
        "retryScaleUp 1-up",
    ),
    "a hint becomes certain": (
        replace(IDLE, interrupted=(Interrupted("i-1", HINT, LATELY_S, LATELY_S, READY, True),)),
        replace(IDLE, interrupted=(Interrupted("i-1", CERTAIN, NOW_S, NOW_S + 120, READY),)),
        "interrupted i-1",
    ),
    "a timestamp from the future is one from now": (
        replace(IDLE, last_scale_s=NOW_S + 9, idle_since_s=NOW_S + 9),
        replace(IDLE, last_scale_s=NOW_S, idle_since_s=NOW_S),
        "decision hold",
    ),
    "an expired lock is taken": (
        replace(IDLE, lock=Lock("you", NOW_S - 1.0)), replace(IDLE, lock=Lock("me", NOW_S + 300.0)),
        "lockTaken me",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_allowed_is_let_pass(name: str) -> None:
    before, after, said = ALLOWED[name]

    assert illegal(before, after, told(said), NOW_S, SETTINGS) == []


def test_no_commit_tells_of_a_moment_to_come_or_of_two_at_once() -> None:
    after = replace(IDLE, pending_since_s=NOW_S + 9)
    (said,) = illegal(IDLE, after, told("conditionChanged pending", NOW_S + 9), NOW_S, SETTINGS)
    assert "9 s to come" in said

    events = (*told("conditionChanged pending"), *told("decision hold", NOW_S - 1))
    (said,) = illegal(IDLE, replace(IDLE, pending_since_s=NOW_S), events, NOW_S, SETTINGS)
    assert "decision tells of another moment than conditionChanged" in said


def test_a_version_that_jumps_and_a_record_that_is_stored_otherwise() -> None:
    write = Write(SCALES_UP, told("recordScaleUpInstances 1-up"))

    said = misstored(Versioned(WAITS, 3, "a"), Versioned(IDLE, 5, "b"), write)

    assert said == [
        "S-A7: version 5 after 3",
        "S-A7: recordScaleUpInstances is stored otherwise than it was written",
    ]
