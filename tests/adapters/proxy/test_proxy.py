"""Each fate does what it says, seen from both ends: what the server counted, what the client got."""

import contextlib
import gc
import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from time import monotonic, sleep
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError, ConnectionClosedError, ReadTimeoutError

from holdfast.testing.proxy import (
    HALF_ANSWER,
    PASS,
    RESET_AFTER,
    RESET_BEFORE,
    Exchange,
    Fate,
    FaultProxy,
    Kind,
    black_hole,
    latency,
    refused,
)
from tests.adapters.proxy.counting import BIG_BODY, CountingServer, counting_server, until

Proxied = Callable[..., FaultProxy]


@pytest.fixture
def server() -> Iterator[CountingServer]:
    with counting_server() as running:
        yield running


@pytest.fixture
def proxied(server: CountingServer) -> Iterator[Proxied]:
    with contextlib.ExitStack() as stack:
        yield lambda *fates: stack.enter_context(FaultProxy("127.0.0.1", server.port, fate=fates))


class Caller:
    """One keep-alive connection of a client."""

    def __init__(self, proxy: FaultProxy, timeout_s: float = 10.0) -> None:
        self.line = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=timeout_s)

    def call(self, path: str = "/", method: str = "POST", body: Any = b"body", **more: Any) -> bytes:
        self.line.request(method, path, body, **more)
        with self.line.getresponse() as answer:
            return answer.read()

    def __enter__(self) -> "Caller":
        return self

    def __exit__(self, *_: object) -> None:
        self.line.close()


def test_what_passes_is_unchanged_in_both_directions(server: CountingServer, proxied: Proxied) -> None:
    proxy = proxied()
    with Caller(proxy) as caller:
        assert caller.call("/a", body=BIG_BODY) == BIG_BODY
        assert caller.call("/b", method="GET", body=None) == b"hello"
        assert caller.call("/chunked") == b"one" + b"two" * 1000
        assert caller.call("/empty") == b""
        assert caller.call("/big", method="HEAD", body=None) == b""
        assert caller.call("/big") == BIG_BODY
        assert caller.call("/c", body=iter([b"in ", b"chunks"]), encode_chunked=True) == b"in chunks"
        assert caller.call("/until-closed") == b"as much as there is"
    assert server.requests[0] == ("POST", "/a", BIG_BODY)
    assert [path for _, path, _ in server.requests] == [
        "/a", "/b", "/chunked", "/empty", "/big", "/big", "/c", "/until-closed",
    ]  # fmt: skip


def test_exchanges_of_one_kept_connection_are_numbered_and_logged(proxied: Proxied) -> None:
    proxy = proxied(PASS, latency(0.01))
    with Caller(proxy) as caller:
        caller.call("/a")
        first = caller.line.sock
        caller.call("/b")
        caller.call("/c", method="GET", body=None)
        assert caller.line.sock is first, "the connection was kept"
    assert proxy.log == [
        (0, "POST /a HTTP/1.1", PASS),
        (1, "POST /b HTTP/1.1", latency(0.01)),
        (2, "GET /c HTTP/1.1", PASS),
    ]


def test_an_answer_is_passed_on_as_it_comes(server: CountingServer, proxied: Proxied) -> None:
    with Caller(proxied()) as caller:
        caller.line.request("GET", "/drip")
        answer = caller.line.getresponse()
        assert answer.read(5) == b"first"
        assert server.answered == 0
        server.go_on.set()
        assert answer.read() == b""


def test_a_late_request_waits_and_then_passes(server: CountingServer, proxied: Proxied) -> None:
    with Caller(proxied(latency(0.2))) as caller:
        began_s = monotonic()
        assert caller.call() == b"body"
        assert monotonic() - began_s >= 0.2
    assert len(server.requests) == 1


def test_a_late_request_arrives_though_its_client_has_given_up(
    server: CountingServer, proxied: Proxied
) -> None:
    with Caller(proxied(latency(1.0)), timeout_s=0.05) as caller, pytest.raises(TimeoutError):
        caller.call()
    assert server.requests == []
    until(lambda: len(server.requests) == 1, "the late request")


def test_reset_before_keeps_the_request_from_the_server(server: CountingServer, proxied: Proxied) -> None:
    with Caller(proxied(RESET_BEFORE)) as caller:
        with pytest.raises(ConnectionResetError):
            caller.call("/lost", body=BIG_BODY)
        assert server.requests == []
        assert caller.call("/next") == b"body"
    assert [path for _, path, _ in server.requests] == ["/next"]


def test_reset_after_loses_an_answer_that_the_server_gave(server: CountingServer, proxied: Proxied) -> None:
    with Caller(proxied(RESET_AFTER)) as caller:
        with pytest.raises(ConnectionResetError):
            caller.call("/done")
        assert server.requests == [("POST", "/done", b"body")]
        until(lambda: server.answered == 1, "the server finished its answer")
        assert caller.call("/next") == b"body"


def test_half_an_answer_is_its_head_and_part_of_its_body(server: CountingServer, proxied: Proxied) -> None:
    with Caller(proxied(HALF_ANSWER)) as caller:
        caller.line.request("POST", "/half", b"0123456789")
        answer = caller.line.getresponse()
        assert answer.status == 200
        assert answer.read(5) == b"01234"
        with pytest.raises(ConnectionResetError):
            answer.read()
        answer.close()
    assert len(server.requests) == 1


def test_half_an_answer_without_a_body_is_half_a_head(proxied: Proxied) -> None:
    with (
        Caller(proxied(HALF_ANSWER)) as caller,
        pytest.raises((ConnectionResetError, http.client.BadStatusLine)),
    ):
        caller.call("/empty")


def test_a_black_hole_swallows_an_answer(server: CountingServer, proxied: Proxied) -> None:
    with Caller(proxied(black_hole(delivered=True)), timeout_s=0.3) as caller, pytest.raises(TimeoutError):
        caller.call()
    until(lambda: server.answered == 1, "the server answered into the hole")


def test_a_black_hole_swallows_a_request(server: CountingServer) -> None:
    proxy = FaultProxy("127.0.0.1", server.port, fate=[black_hole(delivered=False)])
    with proxy, Caller(proxy, timeout_s=0.3) as caller, pytest.raises(TimeoutError):
        caller.call()
    assert len(proxy.log) == 1
    assert server.requests == []


def test_the_script_sees_the_number_and_the_head(server: CountingServer) -> None:
    seen: list[tuple[int, str]] = []

    def choose(n: int, head: str) -> Fate:
        seen.append((n, head))
        return RESET_BEFORE if "x-reset: yes" in head.lower() else PASS

    with FaultProxy("127.0.0.1", server.port, fate=choose) as proxy, Caller(proxy) as caller:
        caller.call("/fine")
        with pytest.raises(ConnectionResetError):
            caller.call("/reset", headers={"X-Reset": "yes"})
    assert [n for n, _ in seen] == [0, 1]
    assert seen[0][1].startswith("POST /fine HTTP/1.1\r\n")
    assert [path for _, path, _ in server.requests] == ["/fine"]


def test_a_printed_log_is_a_script_that_does_the_same_again(server: CountingServer) -> None:
    def outcomes(fates: list[Fate]) -> tuple[list[str], list[Exchange]]:
        results: list[str] = []
        with FaultProxy("127.0.0.1", server.port, fate=fates) as proxy:
            for n, fate in enumerate(fates):
                with Caller(proxy, timeout_s=0.3 if fate.kind is Kind.BLACK_HOLE else 10) as caller:
                    try:
                        results.append(caller.call(f"/{n}").decode())
                    except OSError as error:
                        results.append(type(error).__name__)
        return results, proxy.log

    fates = [PASS, RESET_AFTER, black_hole(delivered=False), latency(0.01), RESET_BEFORE, HALF_ANSWER, PASS]
    words = {
        "PASS": PASS, "RESET_AFTER": RESET_AFTER, "RESET_BEFORE": RESET_BEFORE, "HALF_ANSWER": HALF_ANSWER,
        "latency": latency, "black_hole": black_hole,
    }  # fmt: skip
    first, log = outcomes(fates)
    again, _ = outcomes(eval(repr([exchange.fate for exchange in log]), words))

    assert first == ["body", "ConnectionResetError", "TimeoutError", "body"] + [
        "ConnectionResetError"
    ] * 2 + ["body"]
    assert again == first


def test_many_clients_are_numbered_one_at_a_time(server: CountingServer) -> None:
    outcomes: list[bool] = []
    inside: list[int] = []

    def choose(n: int, head: str) -> Fate:
        inside.append(n)
        sleep(0.001)  # long enough for another to come in, if it could
        assert inside == [n]
        inside.clear()
        return PASS if n % 2 else RESET_AFTER

    def client(name: int) -> None:
        for n in range(10):
            with Caller(proxy) as caller:
                try:
                    caller.call(f"/{name}/{n}")
                    outcomes.append(True)
                except ConnectionResetError:
                    outcomes.append(False)

    with FaultProxy("127.0.0.1", server.port, fate=choose) as proxy:
        clients = [threading.Thread(target=client, args=(name,)) for name in range(8)]
        for thread in clients:
            thread.start()
        for thread in clients:
            thread.join()

    assert [exchange.n for exchange in proxy.log] == list(range(80))
    assert len({exchange.request_line for exchange in proxy.log}) == 80
    assert sorted(outcomes) == [False] * 40 + [True] * 40
    assert len(server.requests) == 80


def test_a_server_that_hangs_up_looks_like_one(proxied: Proxied) -> None:
    with Caller(proxied()) as caller, pytest.raises(ConnectionResetError):
        caller.call("/hang-up")


def test_a_server_that_is_not_there_looks_like_a_broken_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    with FaultProxy("127.0.0.1", port) as proxy, Caller(proxy) as caller, pytest.raises(ConnectionResetError):
        caller.call()


def test_a_script_that_fails_is_told_at_the_end(server: CountingServer) -> None:
    def choose(n: int, head: str) -> Fate:
        raise LookupError("no fate for this one")

    proxy = FaultProxy("127.0.0.1", server.port, fate=choose)
    with Caller(proxy) as caller, pytest.raises(ConnectionResetError):
        caller.call()
    with pytest.raises(LookupError, match="no fate"):
        proxy.close()
    assert server.requests == []


def begin(caller: Caller, proxy: FaultProxy, path: str) -> None:
    """Send a request and wait until the proxy has it, but not for the answer."""
    caller.line.request("POST", path, b"")
    until(lambda: proxy.log[-1].request_line.startswith(f"POST {path} "), f"{path} arrived")


def test_closing_ends_every_thread_and_connection(server: CountingServer) -> None:
    """An idle client, one that waits for ever, one in delay, one in the middle of an answer."""
    with contextlib.ExitStack() as stack:
        fates = [PASS, black_hole(delivered=True), latency(3600), PASS]
        proxy = stack.enter_context(FaultProxy("127.0.0.1", server.port, fate=fates))
        idle, waiting, delayed, reading = (stack.enter_context(Caller(proxy)) for _ in range(4))
        silent = stack.enter_context(socket.create_connection(("127.0.0.1", proxy.port)))
        idle.call("/idle")
        begin(waiting, proxy, "/hole")
        begin(delayed, proxy, "/late")
        begin(reading, proxy, "/drip")
        until(lambda: len(server.requests) == 3, "two passed and one delivered into the hole")

        proxy.close()

        left = [thread.name for thread in threading.enumerate() if thread.name.startswith("fault-proxy-")]
        assert left == []
        for line in (idle.line.sock, silent):
            assert line is not None
            assert line.recv(1) == b""
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", proxy.port))
        proxy.close()
    gc.collect()  # an unclosed socket would warn now, and a warning is an error here


def test_a_client_that_asks_before_it_sends_is_told_to_go_on(
    server: CountingServer, proxied: Proxied
) -> None:
    with socket.create_connection(("127.0.0.1", proxied().port), timeout=10) as line:
        line.sendall(b"POST /asked HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n")
        assert line.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        line.sendall(b"body")
        answer = b""
        while not answer.endswith(b"\r\n\r\nbody"):
            piece = line.recv(1000)
            assert piece, answer
            answer += piece
        assert answer.startswith(b"HTTP/1.1 200 ")
    assert server.requests == [("POST", "/asked", b"body")]


def aws(service: str, proxy: FaultProxy, *, attempts: int, read_timeout_s: float = 10) -> Any:
    config = Config(retries={"total_max_attempts": attempts, "mode": "standard"}, read_timeout=read_timeout_s)
    return boto3.session.Session(  # type: ignore[call-overload]
        aws_access_key_id="test", aws_secret_access_key="test", region_name="eu-west-1"
    ).client(service, endpoint_url=proxy.endpoint, config=config)


def test_an_aws_client_of_one_attempt_is_told_that_the_answer_was_lost(
    server: CountingServer, proxied: Proxied
) -> None:
    proxy = proxied(PASS, RESET_AFTER)
    with contextlib.closing(aws("dynamodb", proxy, attempts=1)) as client:
        assert client.list_tables()["TableNames"] == ["one"]
        with pytest.raises(ConnectionClosedError):
            client.list_tables()
    assert len(server.requests) == 2


def test_an_aws_client_reads_a_refusal_as_the_services_own(server: CountingServer, proxied: Proxied) -> None:
    proxy = proxied(refused("AccessDeniedException"), PASS)
    with contextlib.closing(aws("dynamodb", proxy, attempts=1)) as client:
        with pytest.raises(ClientError) as told:
            client.list_tables()
        assert told.value.response["Error"]["Code"] == "AccessDeniedException"
        assert client.list_tables()["TableNames"] == ["one"]
    assert len(server.requests) == 1, "the server never heard of the first"
    assert eval(repr(proxy.log[0].fate), {"refused": refused}) == proxy.log[0].fate


def test_an_aws_client_in_a_black_hole_gives_up_by_its_own_clock(
    server: CountingServer, proxied: Proxied
) -> None:
    impatient = aws("dynamodb", proxied(black_hole(delivered=True)), attempts=1, read_timeout_s=0.3)
    with contextlib.closing(impatient) as client, pytest.raises(ReadTimeoutError):
        client.list_tables()
    until(lambda: server.answered == 1, "the server answered into the hole")


def test_an_aws_client_that_retries_hides_that_the_server_did_it_twice(
    server: CountingServer, proxied: Proxied
) -> None:
    proxy = proxied(RESET_AFTER, PASS)
    with contextlib.closing(aws("dynamodb", proxy, attempts=2)) as client:
        assert client.list_tables()["TableNames"] == ["one"]
    assert len(server.requests) == 2
    assert [exchange.fate for exchange in proxy.log] == [RESET_AFTER, PASS]


def test_an_aws_upload_asks_before_it_sends(server: CountingServer, proxied: Proxied) -> None:
    heads: list[str] = []

    def choose(n: int, head: str) -> Fate:
        heads.append(head.lower())
        return PASS

    with (
        FaultProxy("127.0.0.1", server.port, fate=choose) as proxy,
        contextlib.closing(aws("s3", proxy, attempts=1)) as client,
    ):
        client.put_object(Bucket="bucket", Key="key", Body=b"content")
    assert "expect: 100-continue" in heads[0]
    assert len(server.requests) == 1
    assert b"content" in server.requests[0][2]
