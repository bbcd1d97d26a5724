"""Makes etcd forget, as an apiserver asks it to every five minutes."""

import http.client
import json
import socket
from pathlib import Path
from typing import Any

ANY_KEY = "AA=="
"""In base64, as the gateway takes keys.  Nothing has this one: only the answer's header is of use."""


def compact(etcd_socket: Path) -> int:
    """All that was before the newest revision is gone when this returns.  That revision."""
    newest = int(_ask(etcd_socket, "range", {"key": ANY_KEY})["header"]["revision"])
    _ask(etcd_socket, "compaction", {"revision": str(newest), "physical": True})
    return newest


def _ask(etcd_socket: Path, what: str, body: dict[str, Any]) -> Any:
    connection = _OnSocket(etcd_socket)
    try:
        connection.request("POST", f"/v3/kv/{what}", json.dumps(body))
        answer = connection.getresponse()
        said = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"etcd, {what}: {answer.status} {said.decode(errors='replace')}")
        return json.loads(said)
    finally:
        connection.close()


class _OnSocket(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=120)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(str(self._path))
