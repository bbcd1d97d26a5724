"""A warm idle tick over 1,000 nodes and 30,000 pods, beside merely parsing the lists that it reads.

The tick is the shipped one, from the zip, with its real adapters: it lists nodes and pods in chunks
over TLS, asks DynamoDB, Prometheus and EC2, joins everything and decides that nothing is to be done.
Its 1,000 machines come through botocore, page and all, from a recorded answer.

Beside it the same bytes are parsed from memory:
- nodes and pods, by the very decoders of the tick, into the same values.  The strictest: what the
  tick does for the machines has no counterpart there;
- the same by the standard library, for orientation: that is many times slower than our decoders;
- nodes and pods again, while the tick remembers its machines;
- nodes, pods and machines, the machines by boto3's own parser.

In one process, turn by turn; what is measured is its CPU time, and the servers live in another.
"""

import tempfile
from pathlib import Path
from statistics import median
from typing import Final

from bench import Row
from bench.grounds import lists, world
from bench.grounds.zipped import unpacked

NODES, PODS = 1_000, 30_000
RATIO_MAX: Final = 2.0
ROUNDS: Final = 4

SCRIPT: Final = Path(__file__).parent / "grounds" / "ticking.py"


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_lists(folder)
        with world.started(NODES, PODS, folder) as environ:
            told = {"LISTS": name, "ROUNDS": str(ROUNDS), "NODES": str(NODES)}
            rounds = unpacked(folder).run(SCRIPT.read_text(), {**environ, **told})
    what = f"idle tick, {NODES:,} nodes, {PODS:,} pods"
    both = "parsing nodes and pods"
    return [
        _row(what, both, rounds, "tick", "two"),
        _row(what, "json.loads of nodes and pods", rounds, "tick", "two, json.loads", ratio_max=None),
        _row(f"{what}, machines remembered", both, rounds, "tick, machines remembered", "two"),
        _row(what, "parsing nodes, pods, machines", rounds, "tick", "three"),
    ]


def _row(
    what: str,
    beside: str,
    rounds: list[dict[str, float]],
    ours: str,
    theirs: str,
    *,
    ratio_max: float | None = RATIO_MAX,
) -> Row:
    return Row(
        what,
        ours_per_s=1 / median(each[ours] for each in rounds),
        beside=beside,
        beside_per_s=1 / median(each[theirs] for each in rounds),
        ratio=median(each[ours] / each[theirs] for each in rounds),
        ratio_max=ratio_max,
    )


def write_lists(folder: Path) -> None:
    """The very bytes that the server sends."""
    served = world.World(NODES, PODS)
    for kind, path in (("nodes", "/api/v1/nodes"), ("pods", "/api/v1/pods")):
        for n, page in enumerate(served.lists[path]):
            (folder / f"{kind}-{n:03d}").write_bytes(page)
    (folder / "machines").write_bytes(lists.machines(NODES, world.CLUSTER))
