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
TAKING_OVER: Final = ("takeover", "failed promotion", "switch", "launch", "departure")
AGREEING: Final = ("agreement",)
TOGETHER: Final = ("all three",)
AT_STREAMS: Final = ("all three", "agreement")
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
            *("H4: what was launched", "H4: a kubelet that is late"),
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
    Invariant(
        "S-A9",
        "hardly any machine that serves is ended by a mistake",
        (),
        ("scaling", "listings that lie"),
        ("S-A9:",),
    ),
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
    Invariant(
        "L-A5",
        "bad days: the floor is back in time, and one pool's trouble is its own",
        (),
        ("scaling",),
        ("bad day:",),
    ),
    Invariant("economy", "launches and dollars an hour stay in bounds", (), FLEETS, ("economy:",)),
    Invariant(
        "S-F1", "at most one primary is written down", TAKING_OVER, TOGETHER, ("S4:", "S5:", "S6:", "S8:")
    ),
    Invariant(
        "S-F2",
        "only what is ready is promoted",
        TAKING_OVER,
        TOGETHER,
        ("H33:", "H35:", "H36:", "H38:", "H43:"),
    ),
    Invariant(
        "S-F3",
        "never two instances serve at once",
        TAKING_OVER,
        TOGETHER,
        (
            *("H2:", "H3:", "H18:", "H21:", "H30:", "H31:", "H41:", "H45:", "H46:", "S-F3:"),
            "H39: a silent candidate",
        ),
    ),
    Invariant(
        "S-F4", "each commit of a group is a legal move", (*TAKING_OVER, "groups"), TOGETHER, ("S-F4:", "B8:")
    ),
    Invariant(
        "S-F5",
        "terminated is the cloud's word",
        ("launch", "departure"),
        TOGETHER,
        ("S7:", "S-F5:", "H1: a late first", "H42:"),
    ),
    Invariant("S-F7", "the last good copy is never ended", ("departure",), TOGETHER, ("H37:",)),
    Invariant(
        "L-F1",
        "a primary serves again",
        TAKING_OVER,
        TOGETHER,
        ("L-F1:", "H22:", "H32:", "H34:", "H39: a failed", "H40:"),
    ),
    Invariant(
        "L-F2",
        "zombies and surplus leave in time",
        ("departure",),
        TOGETHER,
        ("L-F2:", "B7:", "B10:", "B11:"),
    ),
    Invariant(
        "S-K2",
        "shards that no worker may read are said loudly",
        AGREEING,
        AT_STREAMS,
        ("S-K2:", "C3:", "C4:", "ended rows"),
    ),
    Invariant(
        "S-K3",
        "no cap falls below what a living worker needs",
        AGREEING,
        AT_STREAMS,
        ("S-K3:", "C5:", "C6:", "C7:", "fewer shards", "a starting worker"),
    ),
    Invariant("S-K4", "a quiet world commits nothing", AGREEING, AT_STREAMS, ("S-K4:", "C9:")),
    Invariant(
        "L-K1",
        "every worker ends with the cap that is true",
        AGREEING,
        AT_STREAMS,
        (
            *("S9:", "C1:", "C2:", "C8:", "S10:", "S11:"),
            *("a dead row", "the first of three", "one bad row", "two live"),
        ),
    ),
    Invariant(
        "S-A7", "versions only increase; a write has one winner", (), FLEETS, ("S13:", "H8:", "H9:", "S9:")
    ),
)

OF_NO_INVARIANT: Final = (
    *("H11:", "A.9.9:", "A6: a notice for a machine that we removed", "PENDING_UP_SEC:"),
    *("C10:", "C11:", "C12:", "C13:", "worker rows", "all restart"),
    *("H29:", "H44:", "B14:", "by choice:", "messages:"),
)
"""Variants that break a promise of their own: how fast notices are heard, and whose; how long pods wait;
whose a row is; how tables are made and lists are read; one restart at a time; what a client may launch; an
upgrade of the agent; a request that is answered twice; what is disrupted by choice; what operators are
told."""

VARIANTS_REQUIRED: Final = (
    "by choice",
    *("S1", "S2", "S3", "S4", "S5", "S9", "S10", "S11", "S13"),
    *(f"C{n}" for n in range(1, 14)),
    *("H1", "H2", "H4", "H5", "H6", "H7", "H8", "H9", "H10", "H11", "H16"),
    *(
        "S6",
        "S7",
        "S8",
        "H3",
        "H18",
        "H21",
        "H22",
        "H30",
        "H32",
        "H33",
        "H34",
        "H35",
        "H36",
        "H37",
        "H38",
        "H39",
        "H40",
    ),
    *("H29", "H31", "H41", "H42", "H43", "H44", "H45", "H46", "S-F3", "S-F4", "S-F5", "L-F1"),
    *("B7", "B8", "B10", "B11", "B14"),
    *(
        "A1",
        "A4",
        "A5",
        "A6",
        "S-A1",
        "S-A2",
        "S-A4",
        "S-A5",
        "S-A6",
        "S-A8",
        "S-A9",
        "L-A1",
        "L-A3",
        "economy",
    ),
)
