"""A failover server on a loopback port and a SQLite file, in this process."""

import asyncio
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import urllib3
import uvicorn

from holdfast.app.failover.stores import open_stores
from holdfast.failover.api.operations import Operation
from holdfast.failover.settings import Settings
from holdfast.failover.tenants import Client, TokenKind
from holdfast.server.heads import BoundedHeads
from holdfast.server.serve import Server
from holdfast.server.tokens import issue

YEAR_S = 365 * 86_400.0


@dataclass
class Answer:
    http_status: int
    data: Any
    code: str | None
    error: str | None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Running:
    server: Server
    url: str
    http: urllib3.PoolManager
    folder: Path

    def client(self, client_id: str, requests_per_second_max: int = 200) -> str:
        """Make a client; its operator's token."""
        now_s = self.server.time.now_s()
        secret, token = issue(TokenKind.OPERATOR, now_s=now_s, expires_in_s=YEAR_S, client_id=client_id)
        client = Client(client_id=client_id, requests_per_second_max=requests_per_second_max)
        assert self.server.stores.tenants.add_client(client, token)
        return secret

    def token(self, kind: TokenKind, expires_in_s: float = YEAR_S, **ids: str) -> str:
        secret, token = issue(kind, now_s=self.server.time.now_s(), expires_in_s=expires_in_s, **ids)
        self.server.stores.tenants.add_token(token)
        return secret

    def raw(
        self, method: str, path: str, *, token: str = "", body: bytes | None = None, headers: Any = ()
    ) -> Answer:
        sent = {"Authorization": f"Bearer {token}"} if token else {}
        found = self.http.request(method, f"{self.url}{path}", body=body, headers={**sent, **dict(headers)})
        envelope = json.loads(found.data)
        assert set(envelope) == {"status", "data", "error", "code"}, envelope
        assert (found.status == 200) == (envelope["status"] == "success"), envelope
        return Answer(
            found.status, envelope["data"], envelope["code"], envelope["error"], dict(found.headers)
        )

    def call(
        self, operation: Operation, token: str = "", body: Any = None, request_id: str = "", **fields: object
    ) -> Answer:
        path, query = operation.path, []
        for name, value in fields.items():
            if f"{{{name}}}" in path:
                path = path.replace(f"{{{name}}}", str(value))
            else:
                query.append(f"{name}={value}")
        sent = json.dumps(body if body is not None else {}).encode() if operation.body else None
        headers = {"X-Request-ID": request_id} if request_id else {}
        target = f"{path}?{'&'.join(query)}" if query else path
        return self.raw(operation.method, target, token=token, body=sent, headers=headers)


SETTINGS = Settings(lease_s=2.0, heartbeat_s=0.5, request_timeout_s=0.5, threads=4, drivers=2)


@contextmanager
def running(
    folder: Path, settings: Settings = SETTINGS, database: str = "", port: int = 0
) -> Iterator[Running]:
    """On a SQLite file in the folder, unless another database is named."""
    settings = replace(
        settings,
        database=database or f"sqlite:{folder / 'failover.db'}",
        high_water_file=str(folder / "highwater"),
    )
    # asyncio sends small answers at once only on sockets that say that they are TCP.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", port))
        stores = open_stores(settings)
        server = Server(settings, stores)
        config = uvicorn.Config(
            server.application(), http=BoundedHeads, log_config=None, access_log=False, lifespan="on"
        )
        shell = uvicorn.Server(config)
        shell.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=lambda: loop.run_until_complete(shell.serve([listening])))
        thread.start()
        while not shell.started:
            assert thread.is_alive(), "the server has ended"
            threading.Event().wait(0.01)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        try:
            yield Running(server, url, urllib3.PoolManager(retries=False, timeout=10.0), folder)
        finally:
            shell.should_exit = True
            thread.join(timeout=20)
            loop.close()
        assert not thread.is_alive()
