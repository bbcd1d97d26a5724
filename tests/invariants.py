"""The invariants that this release guards, and which workflow each belongs to."""

from typing import Final, NamedTuple


class Invariant(NamedTuple):
    name: str
    sentence: str
    workflow: str
    variants: tuple[str, ...]


INVARIANTS: Final = (
    Invariant("S-A1", "one action at a time; none replaces another", "shrink", ("S1",)),
    Invariant(
        "S-A4",
        "nothing is terminated unless condemned and out of service",
        "shrink",
        ("S2", "stray", "before"),
    ),
    Invariant("S-A5", "no condemnation leaves fewer nodes than the floor", "shrink", ("H4",)),
    Invariant("L-A1", "every action ends", "shrink", ("S3",)),
    Invariant("L-A2", "no cordon outlives its action for long", "shrink", ("S3",)),
    Invariant("S-F1", "at most one primary is written down", "takeover", ("S4", "S5")),
    Invariant("S-F3", "never two instances serve at once", "takeover", ("H2",)),
    Invariant("L-F1", "a primary serves again", "takeover", ("L-F1",)),
    Invariant("S-K2", "shards that nobody may read are said loudly", "agreement", ("S-K2",)),
    Invariant("L-K1", "every worker ends with the cap that is true", "agreement", ("S9",)),
    Invariant("S-A7", "versions only grow; a write has one winner", "stores", ("S13", "H8", "H9", "S9")),
)

VARIANTS_REQUIRED: Final = ("S1", "S2", "S3", "S4", "S5", "S9", "S13", "H2", "H4", "H8", "H9")
