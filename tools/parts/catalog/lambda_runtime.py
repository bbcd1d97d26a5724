"""AWS Lambda without AWS: the runtime interface emulator and AWS's own Python client of it.

The emulator is the program that AWS ships inside its container images; it comes here
out of the wheel of aws-sam-cli.  It starts the runtime, hands it events, counts the
deadline and restarts it after a crash or a timeout, as the service does.
"""

import json
import os
import platform
import shutil
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tools.parts.packages.venv import make_venv, unpack_wheels
from tools.parts.part import CannotInstall, Part, Say
from tools.parts.ports import free_port
from tools.parts.running import Running, answers_http

INVOCATIONS = "/2015-03-31/functions/function/invocations"
PROGRAMS = {"x86_64": "aws-lambda-rie-x86_64", "aarch64": "aws-lambda-rie-arm64"}
ANSWER_GRACE_S = 120.0


@dataclass(frozen=True)
class LambdaRuntime:
    """One execution environment of one function."""

    running: Running
    endpoint: str
    timeout_s: int
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def invoke(self, event: Any) -> Any:
        """The handler's answer; an error comes back as `errorType` and `errorMessage`, as from Lambda.

        Like an execution environment of Lambda it takes one event at a time: calls from
        several threads wait for each other.  (The emulator crashes when they do not.)
        For invocations that overlap, start it twice.
        """
        body = json.dumps(event).encode()
        asked = urllib.request.Request(self.endpoint + INVOCATIONS, data=body, method="POST")
        with self._one_at_a_time:
            try:
                with urllib.request.urlopen(asked, timeout=self.timeout_s + ANSWER_GRACE_S) as answer:
                    return _payload(answer.read())
            except urllib.error.HTTPError as error:
                return _payload(error.read())

    def log(self) -> str:
        """What the emulator and the handler have printed so far."""
        return self.running.log("emulator").read_text(errors="replace")

    def stop(self) -> None:
        self.running.stop()


class LambdaRuntimePart(Part):
    name = "lambda"
    version = "1.170.0"
    licence = "Apache-2.0"
    purpose = "AWS Lambda's runtime for one handler"

    @property
    def program(self) -> Path:
        return self.home / "aws-lambda-rie"

    def build(self, say: Say) -> None:
        machine = platform.machine()
        if machine not in PROGRAMS:
            raise CannotInstall(
                f"the emulator is built for {' and '.join(PROGRAMS)}, this machine is {machine}"
            )
        say("taking the emulator out of its wheel")
        wheel = self.home / "wheel"
        unpack_wheels(wheel, "lambda-emulator.txt")
        shutil.copy(wheel / "samcli/local/rapid" / PROGRAMS[machine], self.program)
        self.program.chmod(0o755)
        shutil.rmtree(wheel)
        say("installing the runtime's client")
        make_venv(self.home / "venv", "lambda-runtime.txt")

    def start(
        self,
        handler: str,
        code_paths: Sequence[str | Path],
        env: Mapping[str, str] | None = None,
        *,
        timeout_s: int = 30,
        function_name: str = "holdfast",
    ) -> LambdaRuntime:
        """Serve `package.module.function`, found on `code_paths`, which hold all that it imports."""
        self.require()
        running, port = Running(self.name), free_port()
        try:
            running.start(
                "emulator",
                [
                    self.program,
                    f"--runtime-interface-emulator-address=127.0.0.1:{port}",
                    f"--runtime-api-address=127.0.0.1:{free_port()}",
                    self.home / "venv/bin/python",
                    *("-m", "awslambdaric", handler),
                ],
                env={
                    "AWS_LAMBDA_FUNCTION_NAME": function_name,
                    "AWS_LAMBDA_FUNCTION_TIMEOUT": str(timeout_s),
                    "AWS_REGION": "us-east-1",
                    "AWS_DEFAULT_REGION": "us-east-1",
                    "PYTHONPATH": os.pathsep.join(str(Path(path).resolve()) for path in code_paths),
                    "PYTHONDONTWRITEBYTECODE": "1",
                    **(env or {}),
                },
            )
            endpoint = f"http://127.0.0.1:{port}"
            running.wait_until("emulator", lambda: answers_http(endpoint))
        except BaseException:
            running.stop()
            raise
        return LambdaRuntime(running, endpoint, timeout_s)


def _payload(body: bytes) -> Any:
    """JSON as the runtime gave it, but for a timeout, which the emulator reports as a bare sentence.

    An emulator that is stopped may still send the head of an answer, and then nothing.
    """
    if not body:
        raise ConnectionAbortedError("the function closed the connection without an answer")
    said = body.decode(errors="replace")
    if said.startswith("Task timed out"):
        return {"errorType": "Sandbox.Timedout", "errorMessage": said}
    return json.loads(said)


PART = LambdaRuntimePart()
