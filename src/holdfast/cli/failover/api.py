"""The server's interface as a command calls it: an operation in, its data or an error out."""

import json
import ssl
from typing import Any
from urllib.parse import quote, urlencode

import urllib3
from urllib3.exceptions import HTTPError, LocationValueError

from holdfast.adapters.clock import new_id
from holdfast.failover.api.operations import Operation
from holdfast.kernel import HoldfastError, Invalid, Unknown

TIMEOUT_S = 10.0


class Refused(HoldfastError):
    """The server said no: its message, with the code behind it."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{message} ({code})")
        self.code, self.message = code, message


class Api:
    """One server, asked with one token."""

    def __init__(self, server: str, token: str, ca_file: str = "") -> None:
        self.server = server.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        try:
            self._http = urllib3.PoolManager(ca_certs=ca_file or None, retries=False, timeout=TIMEOUT_S)
        except OSError as error:
            raise Invalid(
                f"ca_file = {ca_file!r}: {error.strerror}; name a file with certificates"
            ) from error

    def call(
        self, operation: Operation, body: object = None, *, request_id: str = "", **fields: object
    ) -> Any:
        """The data of the answer.  `fields`: those of the path; the others go into the query.

        Raises Refused, or Unknown if no answer came: the same `request_id` may then be sent again.
        """
        url = self._url(operation, fields)
        headers = dict(self._headers)
        if operation.changes:
            headers["X-Request-ID"] = request_id or new_id()
        sent = json.dumps(body if body is not None else {}).encode() if operation.body else None
        try:
            answer = self._http.request(operation.method, url, body=sent, headers=headers)
        except LocationValueError as error:
            raise Invalid(f"server = {self.server!r} is no address: {error}") from error
        except (HTTPError, OSError) as error:
            raise Unknown(f"{self.server} did not answer: {_plain(error)}") from error
        return _data(self.server, answer.status, answer.data)

    def _url(self, operation: Operation, fields: dict[str, object]) -> str:
        path, query = operation.path, dict[str, str]()
        for name, value in fields.items():
            if f"{{{name}}}" in path:
                path = path.replace(f"{{{name}}}", quote(str(value), safe=""))
            else:
                query[name] = str(value)
        return f"{self.server}{path}?{urlencode(query)}" if query else f"{self.server}{path}"


def _data(server: str, status: int, raw: bytes) -> Any:
    try:
        envelope = json.loads(raw)
        if envelope["status"] == "success":
            return envelope["data"]
        code, message = str(envelope["code"]), str(envelope["error"])
    except (ValueError, KeyError, TypeError):
        raise Unknown(
            f"{server} answered {status}, and not as a Holdfast server does: check `server`"
        ) from None
    raise Refused(code, message)


def _plain(error: BaseException) -> str:
    """The last cause, without the library's own words around it."""
    reason = getattr(error, "reason", None)
    causes = (reason, *error.args) if isinstance(error, HTTPError) else (reason,)
    for cause in causes:
        if isinstance(cause, BaseException):
            return _plain(cause)
    if isinstance(error, ssl.SSLError):
        said = str(error.reason or error).replace("_", " ").lower()
        return f"TLS failed ({said}): check http or https in `server`, and `ca_file`"
    return str(error).rpartition(": ")[2] or str(error)
