"""Measures ticks and the parsing of what they read, turn by turn in one process; see `bench.idle_tick`.

Run from the unpacked zip.  `result` is one row a round, of CPU seconds by side.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
from botocore.loaders import Loader
from botocore.model import ServiceModel
from botocore.parsers import create_parser

from holdfast.adapters.kubernetes.lists import Page
from holdfast.autoscaler.ports import Cloud
from holdfast.autoscaler.tick import Autoscaler
from holdfast.cloud import Instance
from holdfast.cloud.kubernetes import KubeNode, Pod
from holdfast.lambda_handler import MODELS, wired_by

os.environ["AWS_DATA_PATH"] = f"{sys.path[0]}/{MODELS}"
FOLDER, ROUNDS = Path(os.environ["LISTS"]), int(os.environ["ROUNDS"])
NODES, PODS = ([path.read_bytes() for path in sorted(FOLDER.glob(f"{kind}-*"))] for kind in ("nodes", "pods"))
MACHINES = (FOLDER / "machines").read_bytes()
DECODE_NODES = msgspec.json.Decoder(Page[KubeNode]).decode
DECODE_PODS = msgspec.json.Decoder(Page[Pod]).decode
STOCK: Any = ServiceModel(Loader().load_service_model("ec2", "service-2"))
PARSER: Any = create_parser("ec2")


def parse_two() -> object:
    return [DECODE_NODES(page) for page in NODES], [DECODE_PODS(page) for page in PODS]


def load_two() -> object:
    """By the standard library, into plain dictionaries, with everything that is never read."""
    return [json.loads(page) for page in NODES], [json.loads(page) for page in PODS]


def parse_three() -> object:
    answer = {"body": MACHINES, "headers": {}, "status_code": 200}
    return parse_two(), PARSER.parse(answer, STOCK.operation_model("DescribeInstances").output_shape)


class Remembered:
    """The cloud, but for the list of machines, which was asked for once."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud, self._instances = cloud, cloud.instances()

    def instances(self) -> Sequence[Instance]:
        return self._instances

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cloud, name)


def tick(autoscaler: Autoscaler) -> None:
    result = autoscaler.tick("bench", until_s=time.time() + 300)
    workers = len(result.snapshot.workers) if result.snapshot else 0
    if (result.outcome, workers) != ("idle", int(os.environ["NODES"])):
        raise RuntimeError(f"that was no idle tick over all nodes but {result} over {workers}")


def cpu_s(act: Callable[[], object]) -> float:
    before_s = time.process_time()
    act()
    return time.process_time() - before_s


def rounds() -> list[dict[str, float]]:
    whole = wired_by(os.environ)
    remembered: Any = Remembered(whole.cloud)
    remembering = replace(whole, cloud=remembered)
    sides: dict[str, Callable[[], object]] = {
        "tick": lambda: tick(whole),
        "two": parse_two,
        "tick, machines remembered": lambda: tick(remembering),
        "three": parse_three,
    }
    for act in sides.values():
        act()
    measured = []
    for _ in range(ROUNDS):
        row = dict.fromkeys(sides, 0.0)
        for side in (*sides, *reversed(sides)):
            row[side] += cpu_s(sides[side]) / 2
        measured.append(row)
    loaded_s = cpu_s(load_two)  # last, and once: it takes ten times as long, and leaves much garbage
    return [{**row, "two, json.loads": loaded_s} for row in measured]


result = rounds()
