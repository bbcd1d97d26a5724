"""A live worker's writes a day, beside those of the real KCL for one lease, both with their own defaults.

Counted at the stand-in, over the same half minute: a worker's row counts its beats, the agreed row its
versions (a commit is two writes: the row and its event), a KCL's row its renewals.
"""

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from bench import Row
from bench.grounds.stream import APP, STREAM, ground
from tools.parts.catalog.kcl import PART as KCL
from tools.parts.catalog.kcl import Fleet

FOR_S: Final = 35.0
DAY_S: Final = 86_400
KCL_FAILOVER_MS: Final = "10000"
"""The KCL's own default."""
KCL_APP: Final = "shop-kcl"
SHARD: Final = "shardId-000000000000"


def run() -> list[Row]:
    with ground(1) as stands:
        client = stands.client()
        fleet = Fleet(stands.kinesis, stands.dynamodb, STREAM, KCL_APP)
        kcl = {**fleet.environment("kcl"), "FAILOVER_MS": KCL_FAILOVER_MS}
        ours = stands.environment(KDS_WORKER_COUNT="1")
        argv = [sys.executable, "-m", "holdfast.cli", "leases", "exec", "--", "sleep", "600"]
        with _running(argv, ours), _running(KCL.command(1), kcl):
            _wait_until_owned(client)
            before, begun_s = _counts(client), time.monotonic()
            time.sleep(FOR_S)
            after, took_s = _counts(client), time.monotonic() - begun_s
        client.close()
    worker, lease = ((b - a) / took_s * DAY_S for a, b in zip(before, after, strict=True))
    what = "a live worker's writes"
    return [Row(what, worker, "a KCL's for one lease", lease, worker / lease, 1.0, " a day")]


def _counts(client: Any) -> tuple[int, int]:
    """Writes so far of our worker, and of the KCL for its lease."""
    beats = _number(client, f"{STREAM}_meta", {"worker_id": {"S": "worker-1"}}, "heartbeat")
    agreed = _number(client, f"{STREAM}_meta", {"worker_id": {"S": f"{APP}_coordinator"}}, "version")
    return beats + 2 * agreed, _number(client, KCL_APP, {"leaseKey": {"S": SHARD}}, "leaseCounter")


def _number(client: Any, table: str, key: Mapping[str, Any], name: str) -> int:
    item = client.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item", {})
    return int(item.get(name, {"N": "0"})["N"])


def _wait_until_owned(client: Any) -> None:
    """Both have begun: a KCL with a fresh table takes half a minute."""
    deadline_s = time.monotonic() + 300
    while time.monotonic() < deadline_s:
        tables = client.list_tables()["TableNames"]
        if {KCL_APP, f"{STREAM}_meta"} <= set(tables) and all(_counts(client)):
            return
        time.sleep(0.5)
    raise TimeoutError("the KCL has not taken its lease")


@contextmanager
def _running(argv: Sequence[str], environ: Mapping[str, str]) -> Iterator[None]:
    quiet = subprocess.DEVNULL
    with subprocess.Popen(argv, env=dict(environ), stdout=quiet, stderr=quiet) as process:
        try:
            yield
        finally:
            process.terminate()
