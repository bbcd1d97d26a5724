"""kinesis-local: the one Kinesis stand-in that splits and merges shards as the service does.

It has no option for the address that it listens on, so a preload keeps it on loopback;
and it takes its certificate from the folder that it was unpacked into.
"""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tools.parts.packages.npm import unpack
from tools.parts.part import CannotInstall, Part, Say
from tools.parts.ports import free_port
from tools.parts.running import Running, answers_http

PACKAGE = "kinesis-local"
SHA512 = "mFlmksPMQP/A3nT22N2E8WzUbJcbEdxkCnhNCx2lHj20CW4vzuVH8zn5ByRg5LS5es8tvnx2mY1DpbZ5kw9PPQ=="
PRELOAD = Path(__file__).parents[1] / "kinesis" / "preload.js"
SHARD_LIMIT = 5000
OLDEST_NODE = 18


@dataclass(frozen=True)
class KinesisLocal:
    """A started kinesis-local; any key pair will do."""

    running: Running
    endpoint: str
    region: str = "us-east-1"

    def stop(self) -> None:
        self.running.stop()


class KinesisLocalPart(Part):
    name = "kinesis-local"
    version = "0.6.2"
    licence = "MIT"
    purpose = "Kinesis streams that are resharded"

    def build(self, say: Say) -> None:
        _node()
        unpack(self, PACKAGE, SHA512, say)

    def start(self, *, settle_ms: int = 50) -> KinesisLocal:
        """`settle_ms`: how long a stream is being made, changed or removed."""
        self.require()
        running, port = Running(self.name), free_port()
        package = self.home / "package"
        try:
            running.start(
                self.name,
                [_node(), "-r", PRELOAD, package / "main.js"],
                env=environment(package, port, free_port(), settle_ms),
            )
            endpoint = f"http://127.0.0.1:{port}"
            running.wait_until(self.name, lambda: answers_http(f"{endpoint}/healthcheck"))
        except BaseException:
            running.stop()
            raise
        return KinesisLocal(running, endpoint)


def environment(package: Path, plain_port: int, tls_port: int, settle_ms: int) -> dict[str, str]:
    slow = ("CREATE_STREAM", "DELETE_STREAM", "SPLIT_SHARD", "MERGE_SHARDS", "UPDATE_SHARD_COUNT")
    return {
        "KINESIS_MOCK_CERT_PATH": str(package / "server.json"),
        "KINESIS_MOCK_PLAIN_PORT": str(plain_port),
        "KINESIS_MOCK_TLS_PORT": str(tls_port),
        "SHARD_LIMIT": str(SHARD_LIMIT),
        "LOG_LEVEL": "ERROR",
        **{f"{call}_DURATION": f"{settle_ms}ms" for call in slow},
    }


def _node() -> str:
    node = shutil.which("node")
    if node is None:
        raise CannotInstall(
            f"kinesis-local runs in Node.js and node is missing: install Node.js {OLDEST_NODE} or newer"
        )
    said = subprocess.run([node, "--version"], capture_output=True, text=True).stdout.strip()
    if not said.startswith("v") or int(said[1:].partition(".")[0]) < OLDEST_NODE:
        raise CannotInstall(
            f"kinesis-local needs Node.js {OLDEST_NODE} or newer and `node --version` says {said!r}: "
            f"install Node.js {OLDEST_NODE} or newer"
        )
    return node


PART = KinesisLocalPart()
