"""Probes over real HTTP: what is said is passed on whole, and a client that says nothing holds nothing up."""

import socket
import urllib.error
import urllib.request
from http import HTTPStatus

import pytest

from holdfast.adapters.probes import JSON, METRICS, Answer, answering
from tools.parts.ports import free_port


def asked(port: int, path: str) -> tuple[int, str, str]:
    """Status, kind and body."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.headers["Content-Type"], refused.read().decode()


def test_each_path_is_answered_with_its_status_its_kind_and_its_body() -> None:
    answers = {
        "/metrics": Answer("zone_ü 1\n", METRICS),
        "/ready": Answer('{"ready": false}', JSON, HTTPStatus.SERVICE_UNAVAILABLE),
    }
    port = free_port()
    with answering(
        lambda path: answers.get(path, Answer("no\n", status=HTTPStatus.NOT_FOUND)), "127.0.0.1", port
    ):
        assert asked(port, "/metrics?name=zone") == (200, METRICS, "zone_ü 1\n")
        assert asked(port, "/ready") == (503, JSON, '{"ready": false}')
        assert asked(port, "/") == (404, "text/plain; charset=utf-8", "no\n")


def test_a_client_that_says_nothing_holds_up_no_other_and_not_the_end() -> None:
    port = free_port()
    with answering(lambda path: Answer("ok\n"), "127.0.0.1", port):
        with socket.create_connection(("127.0.0.1", port)):
            assert asked(port, "/health")[0] == 200
        silent = socket.create_connection(("127.0.0.1", port))
    silent.close()


def test_a_port_that_is_taken_is_refused_at_once_and_free_again_after_the_end() -> None:
    port = free_port()
    with (
        answering(lambda path: Answer("ok\n"), "127.0.0.1", port),
        pytest.raises(OSError, match="in use"),
        answering(lambda path: Answer(""), "127.0.0.1", port),
    ):
        pass
    with answering(lambda path: Answer("again\n"), "127.0.0.1", port):
        assert asked(port, "/")[2] == "again\n"
