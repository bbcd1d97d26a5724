"""Starts the exporter beside a cluster."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from tools.parts.ports import free_port
from tools.parts.running import Running, answers_http

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class StartedExporter:
    """`address` is what Prometheus scrapes, at `/node` and at `/kube`."""

    running: Running
    address: str

    def stop(self) -> None:
        self.running.stop()


def start_exporter(server: str, *, ca_file: Path | None = None, token: str | None = None) -> StartedExporter:
    """Export the nodes and pods of the cluster behind `server`."""
    running, port = Running("exporter"), free_port()
    try:
        argv = [sys.executable, "-m", "tools.parts.exporter", "--server", server, "--port", str(port)]
        if ca_file is not None:
            argv += ["--ca-file", str(ca_file.resolve())]
        if token is not None:
            # In a file that only we can read: every user can read arguments.
            token_file = running.folder / "token"
            token_file.touch(mode=0o600)
            token_file.write_text(token)
            argv += ["--token-file", str(token_file)]
        running.start(
            "exporter", argv, env={"PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
        )
        address = f"127.0.0.1:{port}"
        running.wait_until("exporter", lambda: answers_http(f"http://{address}/health"))
    except BaseException:
        running.stop()
        raise
    return StartedExporter(running, address)
