"""Messages over real HTTP: signed so that a receiver can check them, each bad answer told for what it is."""

import base64
import hashlib
import hmac
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress

import pytest
import urllib3

from holdfast.adapters.webhook import Webhook, key_of
from holdfast.kernel import Busy, Invalid, Unknown
from tests.receiver import Receiver, receiving

SECRET = "whsec_" + base64.b64encode(b"a secret of sorts").decode()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


def test_a_receiver_can_check_who_sent_it(receiver: Receiver) -> None:
    Webhook(receiver.url, secret=SECRET, now_s=lambda: 1_700_000_000).post({"text": "zu spät"}, "msg_1")
    ((headers, body),) = receiver.got
    assert json.loads(body) == {"text": "zu spät"}
    signed = f"msg_1.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.new(b"a secret of sorts", signed, hashlib.sha256).digest()).decode()
    assert headers["webhook-signature"] == f"v1,{expected}"
    assert headers["webhook-id"] == "msg_1"


def test_without_a_secret_nothing_is_signed(receiver: Receiver) -> None:
    Webhook(receiver.url).post({}, "msg_1")
    assert "webhook-signature" not in receiver.got[0][0]


@pytest.mark.parametrize(
    ("status", "means"), [(500, Busy), (429, Busy), (404, Invalid), (302, Invalid), (410, Invalid)]
)
def test_an_answer_is_told_for_what_it_is(receiver: Receiver, status: int, means: type[Exception]) -> None:
    receiver.status, receiver.body = status, b"no \x1b[31m"
    with pytest.raises(means, match=f"127.0.0.1 answers HTTP {status}") as said:
        Webhook(receiver.url).post({}, "msg_1")
    assert "secret-path" not in str(said.value)
    assert len(receiver.got) == 1, "no redirect is followed, and nothing is tried twice"


def test_a_receiver_that_hangs_is_left(receiver: Receiver) -> None:
    receiver.hangs_s = 1.0
    with pytest.raises(Unknown, match="gave no answer"):
        Webhook(receiver.url, timeout_s=0.1).post({}, "msg_1")


def test_a_receiver_that_answers_byte_by_byte_is_left_in_time(receiver: Receiver) -> None:
    receiver.drips_s = 0.05  # 38 bytes: two seconds
    asked_s = time.monotonic()
    with pytest.raises(Unknown, match=r"gave no answer in 0\.2 s"):
        Webhook(receiver.url, timeout_s=0.2).post({}, "msg_1")
    assert time.monotonic() - asked_s < 1.5


@pytest.mark.parametrize("status", [200, 500])
def test_of_an_answer_without_end_only_the_beginning_is_read(status: int) -> None:
    """The status counts; what is said beside it must not fill the memory."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        sent: list[int] = []

        def answer() -> None:
            asked, _ = server.accept()
            with asked:
                asked.recv(9_999)
                asked.sendall(f"HTTP/1.1 {status} So\r\n\r\n".encode())
                with suppress(OSError):
                    while sum(sent) < 1 << 30:
                        sent.append(asked.send(b"y" * 65_536))

        answering = threading.Thread(target=answer)
        answering.start()
        with nullcontext() if status == 200 else pytest.raises(Busy, match=r"answers HTTP 500: y{80}$"):
            Webhook(f"http://127.0.0.1:{server.getsockname()[1]}/").post({}, "msg_1")
        answering.join()
        assert sum(sent) < 64 << 20


def test_a_receiver_that_is_not_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    with pytest.raises(Busy, match=r"127\.0\.0\.1 cannot be reached: Connection refused$"):
        Webhook(f"http://127.0.0.1:{port}/").post({}, "msg_1")


def test_a_secret_that_makes_no_sense_is_not_shown() -> None:
    assert key_of("plain text") == b"plain text"
    with pytest.raises(Invalid, match="no base64") as said:
        key_of("whsec_%%%")
    assert "%%%" not in str(said.value)


@pytest.mark.parametrize(
    ("error", "means"),
    [
        (urllib3.exceptions.HTTPError("no answer from /secret-path"), Unknown),
        (urllib3.exceptions.LocationParseError("https://hooks.example.com/secret-path"), Unknown),
        (OSError("no route to /secret-path"), Unknown),
        (urllib3.exceptions.ConnectTimeoutError("/secret-path"), Busy),
    ],
)
def test_no_error_shows_more_of_an_address_than_its_host(
    error: Exception, means: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: object, **said: object) -> None:
        raise error

    monkeypatch.setattr(urllib3.PoolManager, "request", fails)
    with pytest.raises(means, match=r"hooks\.example\.com") as said:
        Webhook("https://hooks.example.com/secret-path").post({}, "msg_1")
    assert "secret-path" not in str(said.value)
