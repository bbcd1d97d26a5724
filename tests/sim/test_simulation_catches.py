"""The simulated world is lived with one guard taken out, and must notice."""

from collections.abc import Callable
from typing import Any

import pytest

from holdfast.sim.living import live
from holdfast.sim.scenarios import Agreeing, Scaling, TakingOver, taking_over
from tests.proof import prove
from tests.sim.variant_shell import shell_without
from tests.variants import broken

HOURS, SEEDS = 24, 40
SHOWN_BY = {Agreeing.name: 0, TakingOver.name: 0, Scaling.name: 13}
"""The seed that has shown it so far; the others are lived if it does not any more."""


def first_complaint(name: str, workflow: Any) -> str:
    """What the first seed that breaks says; empty if none does."""
    seeds = dict.fromkeys((SHOWN_BY[name], *range(SEEDS)))
    lives = (live(seed, HOURS, workflows={name: workflow}, only={name}) for seed in seeds)
    return next((lived.complaint() for lived in lives if lived.complaint()), "")


CASES: dict[str, tuple[str, str, dict[str, str], str]] = {
    "S-K2: a cap that leaves shards unread is not said": (
        Agreeing.name,
        "holdfast.leases.agreement",
        {"    if not view.unread:\n": "    if view.shards:\n"},
        "S-K2",
    ),
    "H2: the promotion does not wait for the old lease, in the simulated world": (
        TakingOver.name,
        "holdfast.failover.takeover",
        {"if not takeover.fenced and left_s > 0:": "if not takeover.fenced and left_s > 1_000_000:"},
        "serve at once",
    ),
    "S3: the cordon of an ended action is forgotten, in the simulated world": (
        Scaling.name,
        "workflow",
        {"tidying = scale_down.tidy_up(cluster, snapshot, now_s)": "tidying = None"},
        "L-A2",
    ),
}


@pytest.mark.parametrize("title", CASES)
def test_living_without(title: str) -> None:
    name, module, changes, complaint = CASES[title]
    made: dict[str, Callable[[], Any]] = {
        Scaling.name: lambda: shell_without(module, changes),
        TakingOver.name: lambda: broken(module, changes).workflow(taking_over.POLICY),
        Agreeing.name: lambda: broken(module, changes).WORKFLOW,
    }

    said = first_complaint(name, made[name]())

    assert complaint in said, said or "nothing was noticed"
    assert "replay: holdfast sim --seed" in said
    prove("variant", title, caught_by="the simulated world")
