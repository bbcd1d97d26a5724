"""The head of a request has a limit: a stranger must not fill the memory before its token is looked at.

The parser itself keeps a header until it is whole, however long that is.
"""

from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEAD_MAX: Final = 65_536
TOO_LARGE: Final = f"the head of the request has more than {HEAD_MAX} bytes: send less"


class BoundedHeads(HttpToolsProtocol):
    """Counts what comes while no body is expected, and hangs up on a head that does not end."""

    _head_bytes = 0
    _in_body = False

    def data_received(self, data: bytes) -> None:
        if not self._in_body:
            self._head_bytes += len(data)
        super().data_received(data)
        if not self._in_body and self._head_bytes > HEAD_MAX and not self.transport.is_closing():
            self.send_400_response(TOO_LARGE)

    def on_headers_complete(self) -> None:
        self._in_body, self._head_bytes = True, 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._in_body = False
        super().on_message_complete()
