"""What signing in comes to: where the API server is, and how each side proves itself to the other."""

import ssl
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Access:
    """Where the API server is, how it proves itself to us, and we to it."""

    url: str
    how: str
    """The way we signed in, as told to people: never a secret."""
    trust: ssl.SSLContext | None = field(repr=False)
    """Also holds our certificate, if we have one.  None: plain HTTP, on this machine only."""
    token: Callable[[], str] = field(repr=False)
    """Asked before each request, because tokens rotate.  Empty: the certificate is all we show."""
    tls_name: str = ""
    """The name in the server's certificate, where it is not the one in the address."""
    expired: Callable[[], bool] = field(default=lambda: False, repr=False)
    """Asked before each request: whether it is time to sign in again."""


SignIn = Callable[[], Access]
"""Looks up the way anew, each time from its source."""
