"""What our code costs beside the thing it is built on, as ratios measured in one run.

Here belong benchmarks: modules with a `run() -> list[Row]`, found by themselves.  Figures a
second depend on the machine and stand here for orientation; the ratios are the claim.
What must merely be true is a test, not a benchmark.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One comparison."""

    what: str
    ours_per_s: float
    beside: str
    """What we are compared with."""
    beside_per_s: float
    ratio: float
    """How many times longer ours takes."""
    ratio_max: float | None = None
    """None: told, not demanded."""
    unit: str = "/s"
    """Of both figures, where they are not so many a second."""

    @property
    def missed(self) -> bool:
        return self.ratio_max is not None and self.ratio > self.ratio_max
