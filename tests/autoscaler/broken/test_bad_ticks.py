"""Ticks on a bad day: foreign notices, a restored table, conflicts without end, a wrong cluster."""

from typing import Any

import pytest

from holdfast.autoscaler import operator
from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.tick import Autoscaler
from holdfast.cloud import Notice, NoticeKind
from holdfast.kernel import Busy, Conflict
from tests.autoscaler.unit.tick.test_tick import NOTICE, NOW_S, Bench
from tests.cli.small_world import SmallWorld
from tests.proof import prove
from tests.variants import autoscaler_shell_without

STRANGE = Notice("i-of-another-team", NoticeKind.INTERRUPTION, int(NOW_S), int(NOW_S) + 120)


def foreign_notices_are_dropped(made: Any) -> None:
    """After one listing, before the lock and the log hear of them."""
    bench = Bench(SmallWorld.of(3), made=made)
    before = bench.store.log.last(SUBJECT)

    result = bench.tick(60, STRANGE)

    assert result.outcome == "nothing to do"
    assert bench.store.log_of_calls == ["read"], "one read, and nothing is put or locked"
    assert bench.store.log.last(SUBJECT) == before, "nor written down"
    bench.tick(60, STRANGE, NOTICE)
    assert [row.instance_id for row in bench.record.interrupted] == ["i-0"]


def test_a_notice_is_kept_if_it_cannot_be_told_whose_machine_it_is() -> None:
    world = SmallWorld.of(3)
    world.broken = Busy("throttled")
    bench = Bench(world)

    bench.tick(60, STRANGE)

    assert list(bench.inbox.notices) == [STRANGE.key]


def test_a_machine_that_the_record_names_needs_no_listing() -> None:
    world = SmallWorld.of(3)
    world.broken = Busy("throttled")
    bench = Bench(world, Cluster(joined=("i-0",)))

    bench.tick(60, NOTICE, STRANGE)

    assert set(bench.inbox.notices) == {NOTICE.key, STRANGE.key}


def test_a_machine_that_the_record_names_is_ours_though_no_listing_shows_it() -> None:
    bench = Bench(SmallWorld.of(3), Cluster(joined=("i-9",)))
    late = Notice("i-9", NoticeKind.INTERRUPTION, int(NOW_S), int(NOW_S) + 120)

    bench.tick(60, late, STRANGE)

    assert list(bench.inbox.notices) == [late.key]


def test_a_record_that_was_restored_goes_on_behind_its_log_and_says_so() -> None:
    bench = Bench(SmallWorld.of(3))
    bench.tick(60)
    yesterday = dict(bench.store.items)
    for n in range(5):
        found = bench.store.read(SUBJECT)
        bench.store.commit(SUBJECT, found, operator.pause(found.value, n + 1, "a test", NOW_S), f"today-{n}")
    last = bench.store.log.last(SUBJECT)
    bench.store.items = yesterday
    bench.world.its_nodes, bench.world.machines = [], []  # there is something to write down

    result = bench.tick(60)

    assert not result.outcome.failed
    assert result.conflicts == 1, "the first commit shows it"
    assert any("the record was restored" in problem for problem in result.problems)
    told = [logged.event.kind for logged in bench.store.events(SUBJECT, last)]
    assert told[0] == "recordRestored"
    since_s = bench.record.joined_since_s
    assert 0 < since_s == yesterday[SUBJECT]["joinedSinceEpoch"], "its log tells what has joined since"
    assert bench.tick(60).problems == ()


def test_a_restored_record_whose_log_has_expired_in_part_knows_no_more_what_has_joined() -> None:
    bench = Bench(SmallWorld.of(3))
    bench.tick(60)
    yesterday = dict(bench.store.items)
    for n in range(5):
        found = bench.store.read(SUBJECT)
        bench.store.commit(SUBJECT, found, operator.pause(found.value, n + 1, "a test", NOW_S), f"today-{n}")
    bench.store.items = yesterday
    del bench.store.log.by_subject[SUBJECT][found.version, 0]
    bench.world.its_nodes, bench.world.machines = [], []

    assert any("what happened between is not known to it" in problem for problem in bench.tick(60).problems)
    assert bench.record.joined_since_s == int(NOW_S)


def conflicts_are_paced(made: Any) -> None:
    """And a tick that only meets them is no success."""
    bench = Bench(SmallWorld.of(1), made=made)
    bench.store.commit_troubles = [Conflict("another was faster") for _ in range(10_000)]

    result = bench.tick(600)

    assert (result.outcome, result.outcome.failed) == ("busy", True)
    assert result.why.startswith("12 commits in a row were refused")
    assert result.conflicts == 12
    assert bench.store.log_of_calls.count("read") <= 14
    bench = Bench(SmallWorld.of(1), made=made)
    bench.store.commit_troubles = [Conflict("another was faster") for _ in range(10_000)]
    assert bench.tick(3).outcome == "busy", "nor is one that has no time for more of them"


def test_another_cluster_refuses_the_tick_before_anything_is_touched_and_is_told_once() -> None:
    bench = Bench(SmallWorld.of(3))
    bench.tick(60)
    bench.world.uid, bench.world.its_nodes = "another", []

    results = [bench.tick(60) for _ in range(3)]

    assert {result.outcome for result in results} == {"refused"}
    assert "if the cluster was rebuilt, run `holdfast autoscaler accept-cluster`" in results[0].why
    assert bench.world.touched == []
    told = [logged.event.kind for logged in bench.store.events(SUBJECT)]
    assert told.count("clusterRefused") == 1
    bench.world.uid = "uid-kube-system"
    bench.tick(60)
    assert [logged.event.kind for logged in bench.store.events(SUBJECT)].count("clusterBack") == 1


CLAIMS = (foreign_notices_are_dropped, conflicts_are_paced)


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_shipped_one(claim: Any) -> None:
    assert claim(Autoscaler) is None


VARIANTS = {
    "bad day: notices of foreign machines are put, locked and logged": (
        {"self._of_ours(notices)": "notices"},
        foreign_notices_are_dropped,
    ),
    "bad day: a commit that is refused is tried again for ever": (
        {"        return self._in_a_row < CONFLICTS_MAX": "        return True"},
        conflicts_are_paced,
    ),
}


@pytest.mark.parametrize("title", VARIANTS)
def test_a_tick_without(title: str) -> None:
    changes, claim = VARIANTS[title]
    with pytest.raises(AssertionError):
        claim(autoscaler_shell_without(changes))
    prove("variant", title, caught_by="a bad day")
