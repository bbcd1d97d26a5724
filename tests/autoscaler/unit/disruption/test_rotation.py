"""Which workers are replaced by choice, when, and what becomes of it."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler.decide import Hold
from holdfast.autoscaler.disruption import rotation
from holdfast.autoscaler.disruption.windows import window
from holdfast.autoscaler.ports import Drain, Drained, LaunchInstances, PrepareTemplate
from holdfast.autoscaler.record import (
    READY,
    Cluster,
    Disrupted,
    Interrupted,
    Purpose,
    Recent,
    Skip,
    Spent,
)
from holdfast.autoscaler.settings import Disruption
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.snapshot.build import build
from holdfast.autoscaler.workflow import workflow
from holdfast.cloud import NoticeKind
from holdfast.kernel import Do, Done, Happened, Write
from holdfast.testing.legal import illegal
from tests.autoscaler.unit.disruption.consolidating import CALM, LONG_AGO, concluded, stepped
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, snapshot, worker
from tests.workloads import listings, node, pod

AT_S = int(NOW_S)
AGED = replace(SETTINGS, disruption=Disruption(max_age_s=86_400))
DRIFT = replace(SETTINGS, disruption=Disruption(drift=True))
YOUNG: dict[str, Any] = {"launched_s": AT_S - 3_000}
THREE = (worker("i-1", **YOUNG), worker("i-2", "b", launched_s=AT_S - 90_000), worker("i-3", **YOUNG))
ROW = Interrupted("i-2", NoticeKind.REPLACE, AT_S - 60, AT_S + 3_540, why="older than 1d")


def templated(template: str, instance_id: str = "i-1") -> Any:
    made = worker(instance_id, **YOUNG)
    return replace(made, instance=replace(made.instance, template=template))


def look(*workers: Any, **said: Any) -> Snapshot:
    return snapshot(*(workers or THREE), cpu=0.4, **said)


def test_a_worker_that_is_too_old_is_written_down_and_then_replaced() -> None:
    first = stepped(CALM, look(), AGED)
    assert [(e.kind, e.about, e.reason) for e in first.events] == [("replacing", "i-2", "older than 24h")]
    then = stepped(first.value, look(), AGED)
    (launch,) = then.value.scale_up.launches
    assert (launch.count, launch.zone, launch.purpose, launch.bound) == (1, "b", Purpose.ROTATION, True)
    assert then.value.interrupted[0].replacement == then.value.scale_up.action_id
    assert then.value.disrupted == (Disrupted("i-2", AT_S),)
    effects = stepped(then.value, look(), AGED)
    assert effects == Do((LaunchInstances(then.value.scale_up.action_id, launch),)), "the old one serves on"


def test_nothing_is_replaced_by_itself_unless_it_is_asked_for() -> None:
    rested = replace(CALM, worker_count=3, hold_code="NeitherBusyNorIdle")
    assert rotation.fold(rested, look(), SETTINGS, NOW_S) is None
    assert list(rotation.due(rested, look(), SETTINGS, NOW_S)) == []


@pytest.mark.parametrize(
    ("machine", "said", "why"),
    [
        (templated("lt-1:2"), {}, "drift: made from lt-1:2, and the pool has lt-1:3"),
        (templated("lt-9:3"), {}, "drift: made from lt-9:3, and the pool has lt-1:3"),
        (templated("lt-1:3"), {}, ""),
        (templated(""), {}, ""),
        (templated("lt-1:3"), {"templates": {}}, "the pool's settings have changed"),
        (templated("lt-1:3"), {"digests": {"default": "other"}}, "the pool's settings have changed"),
        (templated("lt-1:2"), {"pool_problems": {"default": "no image"}}, ""),
        (templated("lt-1:2"), {"templates": {}, "digests": {}}, ""),
    ],
)
def test_drift_is_another_template_than_the_pool_has_now(machine: Any, said: Any, why: str) -> None:
    found = [why for _, why in rotation.due(CALM, look(machine, **said), DRIFT, NOW_S)]
    assert why in (found[0] if found else "")
    assert bool(found) == bool(why)


def test_a_template_that_is_not_made_yet_is_made_first() -> None:
    seen = look(templated("lt-1:3"), *THREE[1:], templates={})
    ahead = stepped(replace(CALM, interrupted=(replace(ROW, instance_id="i-1"),)), seen, DRIFT)
    assert ahead == Do((PrepareTemplate("default", "d"),))


HINT = Interrupted("i-3", NoticeKind.REBALANCE, AT_S, AT_S, replacement="declined")


@pytest.mark.parametrize(
    ("cluster", "said", "settings"),
    [
        (replace(CALM, paused_until_s=AT_S + 9), {}, AGED),
        (replace(CALM, last_scale_s=AT_S - 9), {}, AGED),
        (replace(CALM, disrupted=(Disrupted("i-9", AT_S - 3_599),)), {}, AGED),
        (replace(CALM, spent=(Spent("9-a", AT_S - 9, 2, Purpose.ROTATION),)), {}, AGED),
        (replace(CALM, interrupted=(HINT,)), {}, AGED),
        (replace(CALM, skipped=(Skip("i-2", "a pod", AT_S + 9),)), {}, AGED),
        (CALM, {"troubles": ("a look failed",)}, AGED),
        (CALM, {"pending": 1, "needs": lambda coming: ()}, AGED),
        (CALM, {"stays_put": lambda i: "a pod must stay"}, AGED),
        (CALM, {"fits_on_new": lambda i: "a pod fits nowhere"}, AGED),
        (CALM, {}, replace(AGED, disruption=replace(AGED.disruption, windows=(window("0 0 1 1 * for 1m"),)))),
    ],
    ids=[
        *("paused", "cool-down", "share", "launches", "notice", "skipped"),
        *("trouble", "pending", "blocked", "no room", "window"),
    ],
)
def test_what_keeps_it_from_being_chosen(cluster: Cluster, said: Any, settings: Any) -> None:
    assert rotation.fold(cluster, look(**said), settings, NOW_S) is None


def test_one_that_an_operator_asks_for_waits_for_its_turn_but_for_no_window_and_no_cool_down() -> None:
    closed = replace(SETTINGS, disruption=Disruption(windows=(window("0 0 1 1 * for 1m"),)))
    asked = rotation.chosen(
        replace(CALM, last_scale_s=AT_S - 9), "i-3", "an operator asks", NOW_S, rotation.ASKED_S
    ).value
    assert stepped(asked, look(), closed).value.scale_up is not None
    paused = replace(asked, paused_until_s=AT_S + 9)
    assert rotation.launch(paused, look(), closed, NOW_S) == ()
    full = tuple(worker(f"i-{n}") for n in range(12))
    beyond = rotation.launch(asked, look(*full), closed, NOW_S)
    assert isinstance(beyond, Write)
    assert "more than its maximum" in beyond.events[0].reason


def test_at_the_maximum_the_new_one_comes_beside_the_old_one() -> None:
    ten = tuple(worker(f"i-{n}") for n in range(10))
    write = stepped(replace(CALM, interrupted=(replace(ROW, instance_id="i-4"),)), look(*ten), AGED)
    assert write.value.scale_up.requested == 1


def test_it_is_drained_when_its_replacement_is_ready_and_ended_when_it_is_empty() -> None:
    here = replace(
        CALM, interrupted=(replace(ROW, replacement=READY),), recent=(Recent("i-3", "default", "a", 1),)
    )
    ahead = stepped(here, look(), AGED)
    assert ahead == Do((Drain("i-2", ROW.action_id),))
    noted = workflow(AGED).settle(here, ahead.effects[0], Happened(Drained()), NOW_S)
    assert noted is not None
    ended = stepped(noted.value, look(), replace(AGED, keep_last_of_zone=False))
    assert [(e.kind, e.about) for e in ended.events] == [("terminating", "i-2")]
    stays = stepped(
        noted.value, look(troubles=("many are not ready",)), replace(AGED, keep_last_of_zone=False)
    )
    assert not isinstance(stays, Write) or "terminating" not in [e.kind for e in stays.events]
    last_of_zone = stepped(noted.value, look(), AGED)
    assert not isinstance(last_of_zone, Write) or "terminating" not in [e.kind for e in last_of_zone.events]


@pytest.mark.parametrize(
    ("replacement", "said"),
    [
        (READY, {"fits_without": lambda leaving, closed: "a pod finds no place"}),
        (READY, {"stays_put": lambda i: "a pod must stay"}),
        ("", {"fits_on_new": lambda i: "a pod finds no place"}),
    ],
)
def test_what_cannot_be_done_is_let_go_and_left_alone_for_a_while(replacement: str, said: Any) -> None:
    write = stepped(replace(CALM, interrupted=(replace(ROW, replacement=replacement),)), look(**said), AGED)
    assert [e.kind for e in write.events] == ["drainSkipped"]
    assert write.value.interrupted == ()
    assert [(skip.instance_id, skip.until_s) for skip in write.value.skipped] == [("i-2", AT_S + 3_600)]
    assert rotation.fold(write.value, look(), AGED, NOW_S) is None, "it is not chosen again at once"


def test_a_blocked_drain_and_a_deadline_that_has_passed_let_it_go_too() -> None:
    here = replace(CALM, interrupted=(replace(ROW, replacement=READY),))
    blocked = workflow(AGED).settle(
        here, Drain("i-2", ROW.action_id), Happened(Drained(blocked_by="a budget")), NOW_S
    )
    assert blocked is not None
    assert not illegal(here, blocked.value, blocked.events, NOW_S, AGED)
    assert [skip.reason for skip in blocked.value.skipped] == ["a budget"]
    late = replace(CALM, interrupted=(replace(ROW, deadline_s=AT_S - 1),))
    over = stepped(late, look(), AGED)
    assert [(e.kind, e.reason) for e in over.events] == [("noticeExpired", "replace")]
    assert [skip.instance_id for skip in over.value.skipped] == ["i-2"]


def test_pods_that_wait_do_not_wait_for_a_replacement() -> None:
    settings = replace(AGED, pending_up_s=0)
    begun = stepped(replace(CALM, interrupted=(ROW,), pending_since_s=LONG_AGO), look(), settings).value
    more = stepped(begun, look(pending=3), settings)
    assert [e.kind for e in more.events] == ["extendScaleUp"]
    assert not more.value.scale_up.by_choice


def test_whether_its_pods_would_fit_beside_a_new_one_is_asked_of_the_scheduler() -> None:
    wide = [pod("a", node="n-1", cpu="1500m"), pod("b", node="n-2", cpu="1500m")]
    seen = build(listings(node("n-1"), node("n-2"), pods=wide))
    assert seen.fits_without(frozenset({"i-1"}), frozenset()) != ""
    assert seen.fits_on_new("i-1") == ""
    huge = build(listings(node("n-1", cpu="64"), node("n-2"), pods=[pod("a", node="n-1", cpu="60")]))
    assert "fits on no other node" in huge.fits_on_new("i-1")


def test_in_observe_mode_it_is_said_what_would_be_replaced_and_nothing_is_done() -> None:
    watching = replace(AGED, observe=True)
    held = concluded(CALM, look(), watching)
    assert isinstance(held, Hold)
    assert held.why == "observing: would replace i-2, because older than 24h"
    assert isinstance(stepped(replace(CALM, cluster_uid="uid-1"), look(), watching), Done)
