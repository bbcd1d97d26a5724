"""The closing table: which figures stand behind an invariant, and which broken variants."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests import proof
from tests.autoscaler.broken import test_bad_days as destruction
from tests.autoscaler.broken import test_by_choice_catches as by_choice
from tests.autoscaler.broken import test_interleavings_catch as interleavings
from tests.autoscaler.broken import test_late_catches as late
from tests.autoscaler.broken import test_moves_catch as moves
from tests.autoscaler.broken import test_notifications_catch as messages
from tests.autoscaler.broken import test_stories_catch as stories
from tests.autoscaler.broken import test_whole_catches as whole
from tests.failover.broken import test_interleavings_catch as taking_over
from tests.failover.broken import test_rules_catch as rules
from tests.failover.unit import test_asks as registration
from tests.failover.unit import test_clockwork as clocks
from tests.invariants import INVARIANTS, OF_NO_INVARIANT, VARIANTS_REQUIRED, Invariant
from tests.leases.broken import test_catches as agreeing
from tests.leases.broken import test_guards as guards
from tests.sim import test_notices as notices
from tests.sim import test_scaling_variants as fleet
from tests.sim import test_simulation_catches as simulation
from tests.sim.bad import test_bad_days as bad_days
from tests.sim.bad import test_unseen as unseen

WIDTH_MAX = 120
TITLES = [
    *whole.VARIANTS,
    *stories.STORIES,
    *late.SCALING_UP,
    *late.EXECUTING,
    *late.TICKING,
    *moves.VARIANTS,
    moves.AGAIN,
    moves.TWICE,
    moves.LOCK,
    *interleavings.REMOVING,
    *taking_over.VARIANTS,
    *rules.VARIANTS,
    *registration.VARIANTS,
    *clocks.VARIANTS,
    *simulation.CASES,
    *fleet.VARIANTS,
    *bad_days.DAYS,
    *unseen.DAYS,
    *destruction.VARIANTS,
    *destruction.BRAKES,
    *destruction.WHOLES,
    *notices.SHELLS,
    *by_choice.VARIANTS,
    *messages.VARIANTS,
    *agreeing.CASES,
    *guards.CASES,
    guards.UNCONDITIONAL,
    guards.EARLY,
]
OF_THE_AUTOSCALER = [
    invariant for invariant in INVARIANTS if "A" in invariant.name or invariant.name == "economy"
]


@pytest.fixture(autouse=True)
def a_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Figures of a run of its own, so that nothing gets into this one's."""
    monkeypatch.setattr(proof, "folder", lambda: tmp_path)


def row_of(name: str) -> str:
    (row,) = [line for line in proof.lines(proof.collect()) if line.startswith(f"{name} ")]
    return row


def figures_of(name: str) -> list[str]:
    """Schedules, states, hours, variants and their names."""
    (invariant,) = [each for each in INVARIANTS if each.name == name]
    return row_of(name).removeprefix(f"{name} {invariant.sentence}").split()


def test_figures_of_all_subjects_that_check_an_invariant_are_added_up() -> None:
    for subject, schedules in (
        ("scale-down", 1),
        ("scale-up", 20),
        ("interruption", 300),
        ("takeover", 9_000),
    ):
        proof.prove("crash", subject, schedules=schedules, faults=1)
        proof.prove("explore", subject, states=2 * schedules)
    for _ in range(2):
        proof.prove("sim", "all three", hours=1_000, actions={}, suffered={})
        proof.prove("fleet", "scaling", hours=24, told={})
    proof.prove("fleet", "economy: no capacity", launches=0, asked=12)

    assert figures_of("S-A1") == ["321", "642", "2,048", "-"]
    assert figures_of("S-A2") == ["320", "640", "2,048", "-"]
    assert figures_of("S-A5") == ["301", "602", "2,048", "-"]
    assert figures_of("S-A6") == figures_of("economy") == ["-", "-", "2,048", "-"]
    assert figures_of("S-F1") == ["9,000", "18,000", "2,000", "-"]
    assert proof.collect()["launches_in_vain"] == {"no capacity": {"asked": 12, "launched": 0}}


def test_variants_are_counted_where_they_belong_and_shown_by_their_names() -> None:
    for title in (
        "H7: an interrupted machine counts as one that stays",
        "H7: the cordon of an interrupted node is taken for a stray",
        "S-A5: a hint empties a zone",
        "S-A5: the floor is not guarded where it can be broken",
        "a node is terminated before it is condemned",
    ):
        proof.prove("variant", title, caught_by="a test")

    assert figures_of("S-A5")[3:] == ["3", "H7", "S-A5"]
    assert figures_of("L-A2")[3:] == ["1", "H7"]
    assert figures_of("S-A4")[3:] == ["1"]


@pytest.mark.parametrize("title", TITLES)
def test_every_variant_stands_behind_one_invariant_or_a_promise_of_its_own(title: str) -> None:
    behind = [each.name for each in INVARIANTS if proof.caught_by(each, [title])]

    assert len(behind) + title.startswith(OF_NO_INVARIANT) == 1, behind


@pytest.mark.parametrize("invariant", OF_THE_AUTOSCALER, ids=lambda each: each.name)
def test_no_name_of_a_variant_is_idle(invariant: Invariant) -> None:
    if invariant.name == "S-A7":
        assert not proof.caught_by(invariant, TITLES), "those are of the repositories"
        return
    idle = [begins for begins in invariant.variants if not any(t.startswith(begins) for t in TITLES)]

    assert idle == []
    assert invariant.lived


def test_what_is_required_is_there_to_be_caught() -> None:
    of_agents = {"H3", "H44", "H45"}
    of_repositories = {"S4", "S5", "S6", "S9", "S13", "H8", "H9", "H18", "H29", "H31", "H41", "B14"}
    known = {title.partition(":")[0] for title in TITLES}

    assert set(VARIANTS_REQUIRED) - known == of_repositories | of_agents


def test_the_table_fits_a_terminal() -> None:
    for subject in {subject for invariant in INVARIANTS for subject in invariant.searched}:
        proof.prove("crash", subject, schedules=10_000_000, faults=3)
        proof.prove("explore", subject, states=10_000_000)
    proof.prove("sim", "all three", hours=1_000_000, actions={}, suffered={})
    for title in TITLES:
        proof.prove("variant", title, caught_by="a test")
    shown = list(proof.lines(proof.collect()))[: len(INVARIANTS) + 1]

    assert [line for line in shown if len(line) > WIDTH_MAX] == []


def test_a_run_that_shows_nothing_misses_everything() -> None:
    short = proof.missing(proof.collect())

    for workflow in ("scale-down", "scale-up", "interruption", "whole", "takeover", "agreement"):
        assert any(line.startswith(f"crash schedules of {workflow}: 0") for line in short), workflow
    assert "broken variant S-A6 was not caught" in short


def test_a_run_of_other_tests_adds_its_figures_and_takes_none_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proof, "BUILD", tmp_path)
    whole = {
        "states": {"scale-up": 40, "scale-down": 9},
        "hours": 8_760,
        "explored": [{"case": "a"}],
        "by": {"x": "y"},
    }
    some = {"states": {"scale-up": 70, "whole": 5}, "hours": 0, "explored": [{"case": "b"}], "by": {"x": "y"}}

    proof.keep(whole, afresh=True)
    proof.keep(some, afresh=False)

    assert json.loads((tmp_path / "proof.json").read_text()) == {
        "states": {"scale-up": 70, "scale-down": 9, "whole": 5},
        "hours": 8_760,
        "explored": [{"case": "a"}, {"case": "b"}],
        "by": {"x": "y"},
    }
