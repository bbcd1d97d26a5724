"""The simulated world is lived with one guard taken out, and must notice."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from holdfast.leases.worker.live import LiveWorker
from holdfast.sim.failover import scale
from holdfast.sim.living import live
from holdfast.sim.scenarios import Agreeing, Scaling, TakingOver
from tests.proof import prove
from tests.sim.variant_shell import shell_without
from tests.variants import broken, failover_without

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
        {
            "    after = Cap(view, cap.agreement + 1, view.unread or cap.unread, cap.restarting)\n": (
                "    after = Cap(view, cap.agreement + 1, cap.unread, cap.restarting)\n"
            )
        },
        "S-K2",
    ),
    "H37: the last good copy is ended, in the simulated world": (
        TakingOver.name,
        "departure",
        {"    if primary is None or not is_serving(situation):\n        return False\n": "    return True\n"},
        "S-F7",
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
        TakingOver.name: lambda: failover_without({module: changes}).workflow(scale.POLICY),
        Agreeing.name: lambda: partial(LiveWorker, workflow=broken(module, changes).WORKFLOW),
    }

    said = first_complaint(name, made[name]())

    assert complaint in said, said or "nothing was noticed"
    assert "replay: holdfast sim --seed" in said
    prove("variant", title, caught_by="the simulated world")
