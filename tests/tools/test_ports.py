"""A chosen port is one process's own, before anything listens on it."""

import socket
import subprocess
import sys

from tests.tidy.repository import ROOT
from tools.parts import ports
from tools.parts.ports import free_port

GIVE = "from tools.parts.ports import free_port; print(*(free_port() for _ in range(200)))"


def test_no_port_is_given_twice_nor_to_two_processes() -> None:
    mine = [free_port() for _ in range(200)]
    others = [
        subprocess.Popen([sys.executable, "-c", f"{GIVE}; input()"], cwd=ROOT, stdin=-1, stdout=-1, text=True)
        for _ in range(2)
    ]
    given = list(mine)
    for other in others:
        assert other.stdout is not None
        given += map(int, other.stdout.readline().split())
    for other in others:
        other.communicate("\n")
    assert len(set(given)) == len(given) == 600
    assert set(given) <= set(ports.RANGE)


def test_a_port_that_another_has_claimed_or_listens_on_is_passed_over() -> None:
    port = free_port()
    assert ports._claim(port) is None
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert not ports._is_free(taken.getsockname()[1])
