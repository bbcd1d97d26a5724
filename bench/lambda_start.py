"""A cold start of the function, beside what no function on boto3 can do without.

Ours: import the handler and run a whole idle tick: settings read, five services asked over HTTP or
TLS (DynamoDB, EC2, SSM, Prometheus, the Kubernetes API), a decision, metrics and log written.
Beside: import boto3 and make its three clients, without a call.  Both in fresh processes that see the
unpacked zip, and boto3 beside it as Lambda has it; what is measured is the CPU time of the process
from its first line on, so that servers and the interpreter's own start do not count.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Final

from bench import Row
from bench.grounds import world
from bench.grounds.zipped import Zipped, unpacked
from tools.package_lambda import SIZE_MAX

RATIO_MAX: Final = 1.3
ROUNDS: Final = 9
"""Each is ours, bare, bare, ours: a machine that slows down slows both."""

OURS: Final = """
from holdfast.lambda_handler import handler

class Context:
    aws_request_id = "bench"
    def get_remaining_time_in_millis(self):
        return 300_000

answer = handler({"source": "aws.events", "detail-type": "Scheduled Event"}, Context())
assert answer["outcome"] == "idle", answer
result = time.process_time() - begun_s
"""
BARE: Final = """
import boto3

for service in ("dynamodb", "ec2", "ssm"):
    boto3.client(service)
result = time.process_time() - begun_s
"""


def run() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder, world.started(3, 30, Path(folder)) as environ:
        zipped = unpacked(Path(folder))
        for script in (OURS, OURS, BARE):
            zipped.run(script, environ)  # writes the record, and whatever is not compiled yet
        rounds = [_round(zipped, environ) for _ in range(ROUNDS)]
    ours_s, bare_s = (sum(side) for side in zip(*rounds, strict=True))
    start = Row(
        "cold start: handler and idle tick",
        ours_per_s=2 * ROUNDS / ours_s,
        beside="boto3 and its three clients",
        beside_per_s=2 * ROUNDS / bare_s,
        ratio=median(one / other for one, other in rounds),
        ratio_max=RATIO_MAX,
    )
    size, most = zipped.size / 1e3, SIZE_MAX / 1e3
    return [start, Row("zip without boto3", size, "the most that it may be", most, size / most, 1.0, " kB")]


def _round(zipped: Zipped, environ: Mapping[str, str]) -> tuple[float, float]:
    ours_s = zipped.run(OURS, environ)
    bare_s = zipped.run(BARE, environ) + zipped.run(BARE, environ)
    return ours_s + zipped.run(OURS, environ), bare_s
