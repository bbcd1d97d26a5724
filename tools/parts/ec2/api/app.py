"""The WSGI application: sorts requests by the service that they are for."""

import re
import socket
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import Any

from tools.parts.ec2.api import sqs
from tools.parts.ec2.api.front import Front, Lost
from tools.parts.ec2.api.wire import Answer, Call, read_form
from tools.parts.ec2.control import Control
from tools.parts.ec2.machines.world import World

SCOPE = re.compile(r"Credential=[^/]+/\d+/(?P<region>[^/]+)/(?P<service>[^/]+)/aws4_request")
HOP_BY_HOP = ("connection", "content-length", "transfer-encoding")
StartResponse = Callable[[str, list[tuple[str, str]]], object]


class App:
    def __init__(self, world: World, control: Control) -> None:
        self.world, self.control, self.front = world, control, Front(world)

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        try:
            answer = self._answer(environ, body)
        except Lost:
            environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
            return []
        kept = [(name, value) for name, value in answer.headers if name.lower() not in HOP_BY_HOP]
        status = f"{answer.status} {HTTPStatus(answer.status).phrase}"
        start_response(status, [*kept, ("Content-Length", str(len(answer.body)))])
        return [answer.body]

    def _answer(self, environ: dict[str, Any], body: bytes) -> Answer:
        path = environ["PATH_INFO"]
        if path.startswith("/_control/"):
            return self.control.answer(environ["REQUEST_METHOD"], path, environ["QUERY_STRING"], body)
        scope = SCOPE.search(environ.get("HTTP_AUTHORIZATION", ""))
        if scope and scope["service"] == "ec2":
            return self.front.answer(Call(scope["region"], read_form(body), environ))
        if sqs.is_long_poll(environ.get("HTTP_X_AMZ_TARGET", "")):
            return sqs.receive(body, lambda brief: self._moto(environ, brief))
        return self._moto(environ, body)

    def _moto(self, environ: dict[str, Any], body: bytes) -> Answer:
        with self.world.lock:
            return self.world.moto.answer(environ, body)
