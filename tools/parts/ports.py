"""Loopback ports that no two processes of this machine are given at once, and none is given twice.

A part binds its port a while after it was chosen.  Until then the system could give the same one to a
connection, and another test process to another part: both would take the part that came first for theirs.
"""

import os
import random
import socket

RANGE = range(10_000, 32_768)
"""Below the ports that the system gives to connections."""
TRIES = 2_000
_MINE: set[int] = set()


def free_port() -> int:
    """A loopback port that no process listens on, this process's own for as long as it lives."""
    for _ in range(TRIES):
        port = random.choice(RANGE)
        if port not in _MINE and (claim := _claim(port)):
            if _is_free(port):
                _MINE.add(port)
                claim.detach()  # open for as long as this process lives
                return port
            claim.close()
    raise OSError(f"{TRIES} ports of {RANGE.start} to {RANGE.stop - 1} were tried, and none is free")


def _claim(port: int) -> socket.socket | None:
    """A name that one process can have at a time, and that ends with it; None if another has it."""
    claim = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        claim.bind(f"\0holdfast-port-{port}-of-{os.getuid()}")
    except OSError:
        claim.close()
        return None
    return claim


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
