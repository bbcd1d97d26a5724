"""All instances that one server plays, and the session tokens it has given out."""

import base64
import secrets
import threading
import time
from collections.abc import Callable

from tools.parts.imds.metadata import Metadata, look_up, tree

TTL_S_MAX = 21600


class Book:
    """Instances by id.  Every method may be called from any thread."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._lock = threading.Lock()
        self._instances: dict[str, Metadata] = {}
        self._tokens: dict[str, tuple[str, float]] = {}

    def put(self, metadata: Metadata) -> None:
        with self._lock:
            self._instances[metadata.instance_id] = metadata

    def remove(self, instance_id: str) -> None:
        """From now on nothing answers for this instance."""
        with self._lock:
            self._instances.pop(instance_id, None)

    def get(self, instance_id: str) -> Metadata | None:
        with self._lock:
            return self._instances.get(instance_id)

    def interrupt(self, instance_id: str, action: str, at: str) -> None:
        with self._lock:
            self._instances[instance_id].instance_action = (action, at)

    def rebalance(self, instance_id: str, at: str) -> None:
        with self._lock:
            self._instances[instance_id].rebalance_at = at

    def issue_token(self, instance_id: str, ttl_s: int) -> str:
        token = base64.urlsafe_b64encode(secrets.token_bytes(40)).decode()
        with self._lock:
            self._tokens[token] = (instance_id, self._now_s() + ttl_s)
        return token

    def accepts(self, instance_id: str, token: str | None) -> bool:
        """Whether the token is this instance's and has not run out."""
        with self._lock:
            owner, until_s = self._tokens.get(token or "", ("", 0.0))
            return owner == instance_id and self._now_s() < until_s

    def read(self, instance_id: str, path: str) -> bytes | None:
        """What is at `/latest/<path>`, if anything."""
        with self._lock:
            metadata = self._instances[instance_id]
            if path.rstrip("/") == "user-data":
                return metadata.user_data
            text = look_up(tree(metadata), path)
            return None if text is None else text.encode()
