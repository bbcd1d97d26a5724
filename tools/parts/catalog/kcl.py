"""The Kinesis Client Library itself, with one small consumer of ours.

What a KCL does with the cap that it is told cannot be imitated: it is seen on the real one.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tools.parts.packages.maven import compiled, fetch_jars, java_program
from tools.parts.part import Part, Say

SOURCES = Path(__file__).parents[1] / "kcl"
CONSUMER = SOURCES / "Consumer.java"
HEAP_MB = 192


@dataclass(frozen=True)
class Fleet:
    """Where the workers of one app read, and where they keep their leases."""

    kinesis_endpoint: str
    dynamodb_endpoint: str
    stream_name: str
    app_name: str

    def environment(self, worker_id: str) -> Mapping[str, str]:
        return {
            "KINESIS_ENDPOINT": self.kinesis_endpoint,
            "DYNAMODB_ENDPOINT": self.dynamodb_endpoint,
            "STREAM_NAME": self.stream_name,
            "APP_NAME": self.app_name,
            "WORKER_ID": worker_id,
            "PATH": os.environ["PATH"],
        }


class KclPart(Part):
    name = "kcl"
    version = "2.7.2"
    licence = "Apache-2.0"
    purpose = "the Kinesis Client Library, as a consumer"

    def build(self, say: Say) -> None:
        java_program(self)
        jars = fetch_jars(self, SOURCES / "pom.xml", SOURCES / "jars.sha256", say)
        compiled(self, CONSUMER, jars)

    def command(self, max_leases: str | int) -> list[str]:
        """What starts one worker; its cap is the last word, its settings are in the environment."""
        self.require()
        jars = self.home / "jars"
        path = f"{compiled(self, CONSUMER, jars)}:{jars}/*"
        heap = [f"-Xmx{HEAP_MB}m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        return [java_program(self), *heap, "-cp", path, "Consumer", str(max_leases)]


PART = KclPart()
