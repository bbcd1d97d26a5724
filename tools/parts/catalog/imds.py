"""The scripted metadata service alone, for agents that need no EC2 around them."""

import base64
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.parts.imds.client import ask
from tools.parts.part import Part, Say
from tools.parts.ports import free_port
from tools.parts.running import Running, answers_http

SOURCE = Path(__file__).parents[3]


@dataclass(frozen=True)
class Imds:
    """A started metadata service."""

    running: Running
    url: str
    control: str

    def put(self, instance_id: str, *, user_data: bytes | None = None, **facts: Any) -> str:
        """Play this instance (fields as in `Metadata`); returns where its service answers."""
        encoded = base64.b64encode(user_data).decode() if user_data is not None else None
        self._do("put", instance_id=instance_id, user_data=encoded, **facts)
        return self.endpoint(instance_id)

    def endpoint(self, instance_id: str) -> str:
        return f"{self.url}/{instance_id}"

    def own_port(self, instance_id: str) -> str:
        """A port that plays this instance alone, for programs that cannot take a path prefix."""
        return str(self._do("listen", instance_id=instance_id)["endpoint"])

    def interrupt(self, instance_id: str, *, in_s: float = 120, action: str = "terminate") -> str:
        """Give the spot notice; returns the fixed time it names."""
        return str(self._do("interrupt", instance_id=instance_id, in_s=in_s, action=action)["time"])

    def rebalance(self, instance_id: str) -> str:
        """Recommend a rebalance; returns the fixed time of the notice."""
        return str(self._do("rebalance", instance_id=instance_id)["time"])

    def remove(self, instance_id: str) -> None:
        """The instance is gone: nothing answers for it any more."""
        self._do("remove", instance_id=instance_id)

    def stop(self) -> None:
        self.running.stop()

    def _do(self, verb: str, **wanted: Any) -> Any:
        return ask("POST", f"{self.control}/_control/{verb}", json.dumps(wanted).encode())


class ImdsPart(Part):
    name = "imds"
    version = "1"
    licence = "Apache-2.0"
    purpose = "scripted instance metadata (IMDSv2)"

    @property
    def installed(self) -> bool:
        return True

    def build(self, say: Say) -> None:
        """Nothing but Python is needed."""

    def start(self) -> Imds:
        self.require()
        running, port, control_port = Running(self.name), free_port(), free_port()
        try:
            argv = [sys.executable, "-m", "tools.parts.imds", "--port", str(port)]
            env = {"PYTHONPATH": str(SOURCE)}
            running.start(self.name, [*argv, "--control-port", str(control_port)], env=env)
            control = f"http://127.0.0.1:{control_port}"
            running.wait_until(self.name, lambda: answers_http(f"{control}/_control/health"))
        except BaseException:
            running.stop()
            raise
        return Imds(running, f"http://127.0.0.1:{port}", control)


PART = ImdsPart()
