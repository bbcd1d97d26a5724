"""EC2 (with SSM, SQS, IAM and the rest of moto) on one loopback port.

moto alone forgets client tokens and knows no capacity, no rates, no lag and no events;
`tools/parts/ec2` adds them.  The metadata service of every instance comes with it, and
`boot` makes the instances run their user data.
"""

import json
import subprocess
from dataclasses import asdict
from pathlib import Path

from tools.parts.boot.cluster import Join
from tools.parts.boot.start import Boot, start_boot
from tools.parts.ec2.behaviour import Behaviour
from tools.parts.ec2.client import REGION, Ec2Control
from tools.parts.packages.venv import make_venv
from tools.parts.part import Part, Say
from tools.parts.ports import free_port
from tools.parts.running import Running, answers_http

SOURCE = Path(__file__).parents[3]


class Ec2(Ec2Control):
    """A started EC2 stand-in."""

    def __init__(self, running: Running, endpoint: str, python: Path) -> None:
        super().__init__(endpoint, REGION)
        self.running, self._python = running, python

    @property
    def log_file(self) -> Path:
        """The log of all that was done, as JSON lines."""
        return self.running.folder / "ec2.jsonl"

    def boot(self, join: Join) -> Boot:
        """From now on instances that reach running execute their user data and may join."""
        return start_boot(self.running, self._python, self.endpoint, join)

    def stop(self) -> None:
        self.running.stop()


class Ec2Part(Part):
    name = "ec2"
    version = "5.2.5"
    licence = "Apache-2.0"
    purpose = "EC2, SSM, SQS, IAM: moto with tokens, capacity, rates, events"

    def build(self, say: Say) -> None:
        programs = make_venv(self.home / "venv", "moto.txt")
        # Thousands of modules: compiled once, every later start takes half the time.
        subprocess.run([programs / "python", "-m", "compileall", "-q", self.home / "venv"], check=False)

    def start(
        self,
        *,
        behaviour: Behaviour | None = None,
        rates: bool = True,
        seed: int = 0,
        queue_url: str | None = None,
        queue_endpoint: str | None = None,
    ) -> Ec2:
        """Start with these manners; every one of them can be changed later."""
        self.require()
        running, port, python = Running(self.name), free_port(), self.home / "venv/bin/python"
        argv = [str(python), "-m", "tools.parts.ec2", "--port", str(port), "--imds-port", str(free_port())]
        argv += ["--log", str(running.folder / "ec2.jsonl"), "--seed", str(seed)]
        argv += ["--behaviour", json.dumps(asdict(behaviour or Behaviour()))]
        try:
            running.start(
                self.name, argv + ([] if rates else ["--no-rates"]), env={"PYTHONPATH": str(SOURCE)}
            )
            ec2 = Ec2(running, f"http://127.0.0.1:{port}", python)
            running.wait_until(self.name, lambda: answers_http(f"{ec2.endpoint}/_control/health"))
            if queue_url:
                ec2.deliver_to(queue_url, queue_endpoint)
        except BaseException:
            running.stop()
            raise
        return ec2


PART = Ec2Part()
