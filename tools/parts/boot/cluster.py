"""Where nodes join: the port, and a cluster that is only a folder."""

import json
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from tools.parts.boot.whole import create_whole, write_whole

Node = dict[str, Any]
"""A Node as Kubernetes writes it."""

OWNER = "boot.holdfast/instance"
"""The annotation that says which instance registered the node; it stands in for k3s' node password."""


SILENT_NODE = {
    "type": "Ready",
    "status": "Unknown",
    "reason": "NodeStatusUnknown",
    "message": "Kubelet stopped posting node status.",
}


class NotJoined(Exception):
    """The cluster did not take the node; the message says why.  Trying again may help."""


@dataclass(frozen=True)
class KubernetesApi:
    """An API server, and how to speak to it."""

    url: str
    ca_file: str
    token: str


@dataclass(frozen=True)
class Join:
    """What an agent must ask for, and where its node then appears."""

    server: str
    """The only K3S_URL that answers as a k3s server."""
    token: str
    """The only token it accepts."""
    api: KubernetesApi | None = None
    """Without one, nodes are recorded in a folder."""


class Cluster(Protocol):
    def join(self, node: Node) -> None:
        """Register the node; for the same instance again, its kubelet is back.  Raises NotJoined."""

    def stop_kubelet(self, node: Node) -> None:
        """The instance is gone: its Node stays, and does not stay Ready."""


def admit(join: Join, server: str, token: str) -> None:
    """Raise NotJoined unless this server would let an agent with this token in."""
    if not server:
        raise NotJoined("--server is required: no K3S_URL was given")
    if server.rstrip("/") != join.server.rstrip("/"):
        raise NotJoined(f"failed to get CA certs from {server}: {_reach(server)}")
    if not token:
        raise NotJoined("--token is required: no K3S_TOKEN was given")
    if _secret(token) != _secret(join.token):
        raise NotJoined(f"failed to validate the token at {server}: 401 Unauthorized")


def _reach(server: str) -> str:
    """What happens when an agent tries a server that is not the cluster's."""
    where = urlsplit(server)
    try:
        with socket.create_connection((where.hostname or "", where.port or 443), timeout=1):
            return "what answers there is not this cluster's server"
    except OSError as error:
        return str(error)


def _secret(token: str) -> str:
    """The password inside a full token (`K10<hash>::<user>:<password>`), or the token itself."""
    return token.rsplit(":", 1)[-1] if token.startswith("K10") else token


class RecordedCluster:
    """Nodes as JSON files: one each, until it is deleted."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def join(self, node: Node) -> None:
        file = self._file(node)
        try:
            create_whole(file, json.dumps(node))
        except FileExistsError:
            refuse_another_owner(json.loads(file.read_text()), node)
            self._set_conditions(file, [])

    def stop_kubelet(self, node: Node) -> None:
        file = self._file(node)
        if file.exists():
            self._set_conditions(file, [SILENT_NODE])

    def _set_conditions(self, file: Path, conditions: list[dict[str, str]]) -> None:
        known: Node = json.loads(file.read_text())
        known["status"]["conditions"] = conditions
        write_whole(file, json.dumps(known))

    def _file(self, node: Node) -> Path:
        return self._folder / f"{node['metadata']['name']}.json"


def refuse_another_owner(known: Node, node: Node) -> None:
    """A name stays with its first instance until the Node is deleted."""
    owner = known["metadata"].get("annotations", {}).get(OWNER)
    if owner != node["metadata"]["annotations"][OWNER]:
        name = node["metadata"]["name"]
        raise NotJoined(f"node password rejected: {name} is already known and belongs to {owner}")
