"""Talking to servers that hang, lie, are away, or are not who they claim to be."""

import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from holdfast.agent.client import Line, Lost, Servers, tls_of
from holdfast.agent.options import Problem
from holdfast.agent.wire import answered, goal
from tests.agent.wire_server import WireServer

TLS = Path(__file__).parent / "tls"
BEAT = {"epoch": 0, "report": {"watchdog_ok": True}}


class Dial(Protocol):
    def __call__(self, *urls: str, ca: Path | None = None) -> Line: ...


@pytest.fixture
def line() -> Iterator[Dial]:
    lines: list[Line] = []

    def dial(*urls: str, ca: Path | None = None) -> Line:
        lines.append(Line(Servers(urls, tls_of(urls, ca), "token")))
        return lines[-1]

    yield dial
    for each in lines:
        each.close()


@pytest.fixture
def hanging() -> Iterator[str]:
    """It accepts, as the kernel of a stopped process does, and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"


@pytest.fixture
def secure() -> Iterator[WireServer]:
    made = WireServer(tls=(TLS / "server.pem", TLS / "server.key"))
    yield made
    made.shutdown()
    made.server_close()


def test_a_server_that_hangs_leaves_time_for_the_next(line: Dial, server: WireServer, hanging: str) -> None:
    ours = line(hanging, server.url)
    began_s = time.monotonic()
    answer = ours.ask("POST", "/api/agents/a/heartbeat", BEAT, within_s=1.0)
    assert answer.http_status == 200
    assert time.monotonic() - began_s >= 0.45, "the first one had its half"
    answer = ours.ask("POST", "/api/agents/a/heartbeat", BEAT, within_s=0.5)
    assert answer.http_status == 200, "the one that answered is asked first from now on"
    assert answer.sent_s > began_s


def test_a_connection_that_the_server_has_closed_is_dialled_again(line: Dial, server: WireServer) -> None:
    ours = line(server.url)
    ours.ask("POST", "/api/agents/a/heartbeat", BEAT, within_s=5)
    assert ours.connection is not None
    assert ours.connection.sock is not None
    ours.connection.sock.shutdown(socket.SHUT_RDWR)
    assert ours.ask("POST", "/api/agents/a/heartbeat", BEAT, within_s=5).http_status == 200


def test_a_server_that_cannot_answer_now_is_lost_and_one_that_refuses_is_not(
    line: Dial, server: WireServer
) -> None:
    server.script.refuses["heartbeat"] = (503, "UNAVAILABLE")
    with pytest.raises(Lost, match="503 the test refuses"):
        line(server.url).ask("POST", "/api/agents/a/heartbeat", BEAT, within_s=5)
    server.script.refuses["heartbeat"] = (409, "STALE_SESSION")
    answer = line(server.url).ask("POST", "/api/agents/a/heartbeat", BEAT, within_s=5)
    assert (answer.http_status, answer.code) == (409, "STALE_SESSION")


def test_a_server_is_believed_only_with_a_certificate_of_its_authority(
    line: Dial, secure: WireServer
) -> None:
    answer = line(secure.url, ca=TLS / "server.pem").ask("POST", "/api/agents/a/heartbeat", BEAT, within_s=10)
    assert answer.http_status == 200
    for ca in (None, TLS / "other.pem"):
        with pytest.raises(Lost, match="its certificate is not trusted"):
            line(secure.url, ca=ca).ask("POST", "/api/agents/a/heartbeat", BEAT, within_s=10)


def test_a_file_without_certificates_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pem"
    empty.touch()
    with pytest.raises(Problem, match="--ca"):
        tls_of(("https://one",), empty)
    assert isinstance(tls_of(("https://one",), None), ssl.SSLContext)
    assert tls_of(("http://127.0.0.1",), None) is None


def test_an_answer_that_is_odd_grants_nothing() -> None:
    for odd in ({}, {"epoch": "7", "primary": 1, "lease_s": True}, {"lease_s": -3, "config": "enabled"}):
        heard = answered(odd, 1.0)
        assert (heard.epoch, heard.primary, heard.lease_s, heard.enabled) == (0, False, 0.0, False)


def test_an_address_is_cut_to_what_an_environment_can_carry() -> None:
    sent = {
        "version": 1,
        "epoch": 1,
        "do": "follow",
        "primary": {"instance_id": "i", "address": "a\0b\ud800:1"},
    }
    heard = goal(sent)
    assert heard is not None
    assert heard.address == "ab:1"
