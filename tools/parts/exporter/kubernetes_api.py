"""Lists nodes and pods, and nothing else."""

import json
import ssl
import urllib.request
from dataclasses import dataclass
from typing import Any

Object = dict[str, Any]
"""A Node or a Pod as it comes over the wire."""


@dataclass(frozen=True)
class KubernetesApi:
    server: str
    ca_file: str | None = None
    token: str | None = None
    timeout_s: float = 60.0

    def nodes(self) -> list[Object]:
        return self._list("nodes")

    def pods(self) -> list[Object]:
        return self._list("pods")

    def _list(self, kind: str) -> list[Object]:
        headers = {"Accept": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        asked = urllib.request.Request(f"{self.server.rstrip('/')}/api/v1/{kind}", headers=headers)
        with urllib.request.urlopen(asked, timeout=self.timeout_s, context=self._trust()) as answer:
            # An empty list may come as null.
            return json.load(answer)["items"] or []

    def _trust(self) -> ssl.SSLContext | None:
        return ssl.create_default_context(cafile=self.ca_file) if self.server.startswith("https:") else None
