"""The shipped modules with one guard taken out: each is caught by a story that comes out well without."""

from functools import partial
from typing import Any

import pytest

from holdfast.leases.worker import live as shipped_live
from holdfast.leases.worker.live import LiveWorker
from holdfast.leases.worker.start import StartWorker
from tests.leases.broken import stories
from tests.leases.broken.stories import Live, Start, Story
from tests.proof import prove
from tests.variants import broken

LIVE, START = "worker.live", "worker.start"


def variant(module: str, changes: dict[str, str]) -> tuple[Live, Start]:
    """Both kinds of worker, on a part whose module has these snippets replaced."""
    made: Any = broken(f"holdfast.leases.{module}", changes)
    if module == LIVE:
        return made.LiveWorker, StartWorker
    if module == START:
        return LiveWorker, made.StartWorker
    if module == "agreement":
        return partial(LiveWorker, workflow=made.WORKFLOW), StartWorker
    if module == "starting":
        start: Any = broken("holdfast.leases.worker.start", {})
        start.starting = made
        return LiveWorker, partial(start.StartWorker, workflow=made.WORKFLOW)
    live: Any = broken("holdfast.leases.worker.live", {})
    name = module.rpartition(".")[2]
    if name == "counting":
        live.count = made.count
    else:
        assert hasattr(shipped_live, name), name
        setattr(live, name, made)
    return live.LiveWorker, StartWorker


CASES: dict[str, tuple[str, dict[str, str], Story]] = {
    "C1: the loser of a write uses its own number": (
        START,
        {
            "                last = conflict\n                continue\n": (
                "                assert self.counted\n                return Cap(self._vote(self.counted))\n"
            )
        },
        stories.the_loser_of_a_write_uses_what_stands_there,
    ),
    "C2: only a restart brings a new cap": (
        LIVE,
        {"        self._apply(self.found.value)\n": "        self._beats or self._apply(self.found.value)\n"},
        stories.a_reshard_reaches_workers_that_do_not_restart,
    ),
    "S10: workers that run are not told": (
        LIVE,
        {"        self._apply(self.found.value)\n": ""},
        stories.a_reshard_reaches_workers_that_do_not_restart,
    ),
    "C4: shards beyond the limit are left unread silently": (
        "agreement",
        {"    if view.unread:\n": "    if not view.shards:\n"},
        stories.shards_beyond_the_limit_are_said,
    ),
    "C5: parents that are still read are not counted": (
        "worker.counting",
        {"max(ports.shards.open_shards(), lease_table.readable)": "ports.shards.open_shards()"},
        stories.parents_that_are_still_read_count,
    ),
    "C6: an owner that does not answer is one worker, live": (
        LIVE,
        {
            "            self._counting = counting  # what was known before": (
                "            self._counting = replace(counting, expected=1)  # what was known before"
            )
        },
        stories.an_unknown_number_of_workers_is_not_one,
    ),
    "C6: an owner that does not answer is one worker, at the start": (
        START,
        {
            "            return None\n        return View(": (
                "            return View(counted.shards, 1)\n        return View("
            )
        },
        stories.an_unknown_number_is_never_written,
    ),
    "C7: more workers than expected lower the cap in a rollout": (
        "votes",
        {"min(workers, counting.expected) if counting.gathered": "workers if counting.gathered"},
        stories.a_surge_does_not_lower_the_cap,
    ),
    "C8: who is expected counts, not who lives": (
        "votes",
        {"min(workers, counting.expected) if counting.gathered else counting.expected": "counting.expected"},
        stories.a_dead_worker_is_noticed_though_it_is_still_expected,
    ),
    "C9: each worker writes what it sees, and votes are not asked": (
        "agreement",
        {
            "    every = (vote, *(row.view for row in others))\n": "    every = (vote,)\n",
            "    if not steady or any(row.agreement != cap.agreement for row in others):\n": (
                "    if False:\n"
            ),
        },
        stories.two_that_differ_do_not_take_turns,
    ),
    "C13: a stored number that makes no sense is obeyed": (
        "agreement",
        {
            "    if cap.stored is not None:\n        return cap.view if": (
                "    if False:\n        return cap.view if"
            )
        },
        stories.a_stored_number_that_does_not_follow_is_recomputed,
    ),
    "S11: time in which a worker did not look kills the others": (
        "membership",
        {"min(gap_max_s, mono_s - members.looked_s)": "mono_s - members.looked_s"},
        stories.no_table_for_a_while_kills_none,
    ),
    "a dead row is believed for ever": (
        "membership",
        {" if seen.unmoved_s < ttl_s}": "}"},
        stories.a_dead_worker_is_noticed_though_it_is_still_expected,
    ),
    "the first of three takes all": (
        "votes",
        {" if counting.gathered else counting.expected": ""},
        stories.the_first_of_three_does_not_take_all,
    ),
    "one bad row stops the count": (
        LIVE,
        {
            "        problems = [*table.problems,": (
                "        assert not table.problems\n        problems = [*table.problems,"
            )
        },
        stories.one_bad_row_stops_no_worker,
    ),
    "two live under one id": (
        LIVE,
        {"        if not self._refused:\n": "        if True:\n"},
        stories.the_older_of_two_under_one_id_stops,
    ),
    "fewer shards are believed at once": (
        "votes",
        {"    if counting.fewer != seen:\n": "    if False:\n", "< apart_s:": "< 0:"},
        stories.shards_between_two_counts_are_not_believed,
    ),
    "a starting worker lowers the cap of living ones": (
        "starting",
        {"    if any(row.beats for row in seen.others):\n": "    if False:\n"},
        stories.a_start_beside_live_workers_lowers_nothing,
    ),
    "S-K4: what is said of unread shards is said again and again": (
        "agreement",
        {"seen.unread is not None and bool(seen.unread) != bool(cap.unread):": "seen.unread is not None:"},
        stories.a_quiet_world_is_silent,
    ),
}


@pytest.mark.parametrize("title", CASES)
def test_without_its_guard_the_story_goes_wrong(title: str) -> None:
    module, changes, story = CASES[title]
    assert story(LiveWorker, StartWorker), "the shipped ones must come out well"

    try:
        well = story(*variant(module, changes))
    except AssertionError:
        well = False

    assert not well, "nothing was noticed"
    prove("variant", title, caught_by=story.__name__)
