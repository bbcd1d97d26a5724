"""The invariants that this release guards, and which tests check each: no more than their judges look at."""

from typing import Final, NamedTuple


class Invariant(NamedTuple):
    name: str
    sentence: str
    searched: tuple[str, ...]
    """Subjects of the crash and explore tests whose judge looks at it."""
    lived: tuple[str, ...]
    """Simulated worlds whose judge looks at it."""
    variants: tuple[str, ...]
    """How the titles of the broken variants begin that are caught by it."""


SCALING_UP: Final = ("scale-up", "interruption", "whole")
LEAVING: Final = ("scale-down", "interruption", "whole")
SCALING: Final = ("scale-down", *SCALING_UP)
TOGETHER: Final = ("all three",)
FLEETS: Final = ("all three", "scaling")

INVARIANTS: Final = (
    Invariant("S-A1", "one action at a time; none replaces another", SCALING, FLEETS, ("S1:", "S-A1:")),
    Invariant(
        "S-A2",
        "one success for each request; a surplus takes no pods",
        SCALING_UP,
        FLEETS,
        (
            "S-A2:",
            "H1: a node takes pods",
            "H4: what was launched",
            "H10:",
            "A6: the replacement",
            "A6: a hint that becomes certain",
            "A6: whether an interrupted node",
        ),
    ),
    Invariant(
        "S-A3",
        "every machine of ours is recorded, or goes",
        SCALING_UP,
        FLEETS,
        ("A1:", "H1: no sweep", "A4: what did not join"),
    ),
    Invariant(
        "S-A4",
        "nothing ends unless condemned and out of service",
        SCALING,
        FLEETS,
        ("S2:", "S-A4:", "H5:", "H16:", "a stray cordon is lifted", "a node is terminated before"),
    ),
    Invariant(
        "S-A5",
        "no condemnation breaks the floor or empties a zone",
        LEAVING,
        FLEETS,
        ("S-A5:", "H4: a removed node", "H7: an interrupted machine counts"),
    ),
    Invariant("S-A6", "critical pods are never evicted", (), FLEETS, ("S-A6:",)),
    Invariant("S-A8", "each commit is a legal move, and is told", SCALING, FLEETS, ("S-A8:",)),
    Invariant("L-A1", "every action ends", SCALING, FLEETS, ("L-A1:", "A4: what never joins")),
    Invariant(
        "L-A2",
        "no cordon outlives its action; those of others stay",
        LEAVING,
        FLEETS,
        ("S3:", "A5:", "H7: the cordon of an interrupted", "H7: a cordon that a person"),
    ),
    Invariant("L-A3", "pods that wait and find no room bring a scale-up", SCALING_UP, FLEETS, ("L-A3:",)),
    Invariant("L-A4", "below the floor the fleet scales up", SCALING_UP, FLEETS, ("H6:", "L-A4:")),
    Invariant("economy", "launches and dollars an hour stay in bounds", (), FLEETS, ("economy:",)),
    Invariant("S-F1", "at most one primary is written down", ("takeover",), TOGETHER, ("S4:", "S5:")),
    Invariant("S-F3", "never two instances serve at once", ("takeover",), TOGETHER, ("H2:",)),
    Invariant("L-F1", "a primary serves again", ("takeover",), TOGETHER, ("L-F1:",)),
    Invariant("S-K2", "shards that no worker may read are said loudly", ("agreement",), TOGETHER, ("S-K2:",)),
    Invariant("L-K1", "every worker ends with the cap that is true", ("agreement",), TOGETHER, ("S9:",)),
    Invariant(
        "S-A7", "versions only increase; a write has one winner", (), FLEETS, ("S13:", "H8:", "H9:", "S9:")
    ),
)

OF_NO_INVARIANT: Final = ("H11:", "A.9.9:", "A6: a notice for a machine that we removed", "PENDING_UP_SEC:")
"""Variants that break a promise of their own: how fast notices are heard, and whose; how long pods wait."""

VARIANTS_REQUIRED: Final = (
    *("S1", "S2", "S3", "S4", "S5", "S9", "S13"),
    *("H1", "H2", "H4", "H5", "H6", "H7", "H8", "H9", "H10", "H11", "H16"),
    *("A1", "A4", "A5", "A6", "S-A1", "S-A2", "S-A4", "S-A5", "S-A6", "S-A8", "L-A1", "L-A3", "economy"),
)
