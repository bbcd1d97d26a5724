"""MiniStack: DynamoDB, EventBridge, SSM and SQS on one loopback port.

Conditional writes are atomic and transactions honour their tokens, which is why it,
and not moto, stands in for DynamoDB.  It pins botocore, so it lives in an environment
of its own.
"""

from dataclasses import dataclass

from tools.parts.packages.venv import make_venv
from tools.parts.part import Part, Say
from tools.parts.ports import free_port
from tools.parts.running import Running, answers_http


@dataclass(frozen=True)
class Ministack:
    """A started MiniStack."""

    running: Running
    endpoint: str

    def stop(self) -> None:
        self.running.stop()


class MinistackPart(Part):
    name = "ministack"
    version = "1.5.33"
    licence = "MIT"
    purpose = "DynamoDB, EventBridge, SSM, SQS"

    def build(self, say: Say) -> None:
        make_venv(self.home / "venv", "ministack.txt")

    def start(self) -> Ministack:
        self.require()
        running, port = Running(self.name), free_port()
        try:
            running.start(
                self.name,
                [self.home / "venv/bin/ministack"],
                env={"GATEWAY_PORT": str(port), "BIND_HOST": "127.0.0.1", "HOME": str(running.folder)},
            )
            endpoint = f"http://127.0.0.1:{port}"
            running.wait_until(self.name, lambda: answers_http(f"{endpoint}/_ministack/health"))
        except BaseException:
            running.stop()
            raise
        return Ministack(running, endpoint)


PART = MinistackPart()
