"""A warm idle tick over 1,000 nodes and 30,000 pods, beside merely parsing the lists that it reads.

The tick is the shipped one, from the zip, with its real adapters: it lists nodes and pods in chunks
over TLS, asks DynamoDB, Prometheus and EC2, joins everything and decides that nothing is to be done.
Beside it the same bytes are parsed from memory into the same values, by the same decoders.

Twice: with the machines from memory, beside parsing nodes and pods; and with the machines listed too,
beside parsing all three, the machines by boto3's own parser.  In one process, turn by turn; what
is measured is its CPU time, and the servers live in another.
"""

import tempfile
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench import Row, _lists, _world
from bench._zipped import unpacked

NODES, PODS = 1_000, 30_000
RATIO_MAX: Final = 2.0
ROUNDS: Final = 4

SCRIPT: Final = Path(__file__).with_name("_ticking.py")


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_lists(folder)
        with _world.started(NODES, PODS, folder) as environ:
            told = {"LISTS": name, "ROUNDS": str(ROUNDS), "NODES": str(NODES)}
            rounds = unpacked(folder).run(SCRIPT.read_text(), {**environ, **told})
    what = f"idle tick, {NODES:,} nodes, {PODS:,} pods"
    return [
        _row(what, "parsing both lists", [each[:2] for each in rounds]),
        _row(f"{what}, {NODES:,} machines", "parsing the three lists", [each[2:] for each in rounds]),
    ]


def _row(what: str, beside: str, rounds: list[Any]) -> Row:
    ours_s, parsing_s = (sum(side) for side in zip(*rounds, strict=True))
    return Row(
        what,
        ours_per_s=2 * ROUNDS / ours_s,
        beside=beside,
        beside_per_s=2 * ROUNDS / parsing_s,
        ratio=median(one / other for one, other in rounds),
        ratio_max=RATIO_MAX,
    )


def _write_lists(folder: Path) -> None:
    """The very bytes that the server sends."""
    world = _world.World(NODES, PODS)
    for kind, path in (("nodes", "/api/v1/nodes"), ("pods", "/api/v1/pods")):
        for n, page in enumerate(world.lists[path]):
            (folder / f"{kind}-{n:03d}").write_bytes(page)
    (folder / "machines").write_bytes(_lists.machines(NODES, _world.CLUSTER))
