"""The simulated fleet is lived with one guard of the shipped autoscaler taken out, and must notice."""

from typing import NamedTuple

import pytest

from tests.proof import prove
from tests.sim.fleets import busy_days
from tests.sim.variant_shell import shell_without

SEEDS, HOURS = 24, 6


class Variant(NamedTuple):
    part: str
    guard: str
    without: str
    complaint: str
    shown_by: int
    """The seed that has shown it so far; the others are lived if it does not any more."""


VARIANTS = {
    "H1: no sweep looks for what a late launch brought": Variant(
        "workflow", "        sweep.claim(cluster, snapshot, settings, now_s),\n", "", "S-A3", 25
    ),
    "H1: a node takes pods though no record names its machine, in the simulated fleet": Variant(
        "sweep",
        "for i in sorted(snapshot.unopened & named) if",
        "for i in sorted(snapshot.unopened) if",
        "S-A2",
        21,
    ),
    "H5: a node is deleted when its machine was not listed once": Variant(
        "sweep",
        "if terminated or (absent and now_s - since_s[ghost.instance_id] >= settings.absent_s):",
        "if terminated or ghost.state is None:",
        "H5",
        4,
    ),
    "H7: a cordon that a person made is lifted with ours": Variant(
        "execute",
        "still = node.spec.unschedulable if found else False",
        "still = False",
        "L-A2",
        6,
    ),
    "A4: what never joins is waited for": Variant(
        "scale_up",
        "elif late_s > (ADMISSION_S if worker is None or worker.node_name else 0):",
        "elif late_s > 10**9:",
        "L-A1",
        9,
    ),
    "S-A6: what must stay is not asked once a drain has begun": Variant(
        "execute",
        "_called_off(node, begun=begun) or self._blocker(pods, begun=begun)",
        "_called_off(node, begun=begun)",
        "S-A6",
        10,
    ),
}


@pytest.mark.parametrize("title", VARIANTS)
def test_a_fleet_without(title: str) -> None:
    variant = VARIANTS[title]
    shell = shell_without(variant.part, {variant.guard: variant.without})

    seeds = dict.fromkeys((variant.shown_by, *range(SEEDS)))
    days = (busy_days(seed, HOURS, shell).complaints for seed in seeds)
    said = next((complaints for complaints in days if complaints), ())

    assert any(variant.complaint in complaint for complaint in said), said or "nothing was noticed"
    prove("variant", title, caught_by="the simulated fleet")
