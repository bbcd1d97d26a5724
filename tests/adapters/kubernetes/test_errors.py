"""Every answer of the API server becomes one error: not done, not allowed, or unknown."""

import socket
import threading

import pytest

from holdfast.adapters.kubernetes.auth.access import Access
from holdfast.adapters.kubernetes.calls import EVICT_POD, LIST_BUDGETS, LIST_NODES, PATCH_NODE
from holdfast.adapters.kubernetes.client import Client
from holdfast.adapters.kubernetes.errors import Answer, Denied, Throttled, status_of, translate_answer
from holdfast.kernel import Busy, Conflict, HoldfastError, Invalid, Unknown
from tests.adapters.kubernetes.kubernetes_stub import TOKEN, Said, saying

RBAC = {"message": 'pods "web" is forbidden: User "limited" cannot create resource "pods/eviction"'}
WEBHOOK = {"message": 'admission webhook "policy.example" denied the request: not on Fridays'}


@pytest.mark.parametrize(
    ("status", "reading", "writing"),
    [
        (400, Invalid, Invalid),
        (403, Denied, Denied),
        (404, Invalid, Invalid),
        (408, Busy, Unknown),
        (409, Conflict, Conflict),
        (422, Invalid, Invalid),
        (429, Throttled, Throttled),
        (500, Busy, Unknown),
        (503, Busy, Unknown),
        (504, Busy, Unknown),
        (302, Invalid, Invalid),
    ],
)
def test_a_status_has_one_meaning_for_reads_and_one_for_writes(
    status: int, reading: type[HoldfastError], writing: type[HoldfastError]
) -> None:
    assert type(translate_answer(LIST_NODES, Answer(status, b"{}"), writes=False)) is reading
    assert type(translate_answer(PATCH_NODE, Answer(status, b"{}"), writes=True)) is writing


def test_a_throttled_call_tells_when_to_come_again() -> None:
    with saying(Said(429, b"Too many requests, please try again later.", {"Retry-After": "7"})) as stub:
        with pytest.raises(Busy, match=r"try again later.*Retry-After: 7 s"):
            stub.api().nodes()
        assert len(stub.asked) == 1, "nothing here tries again"


def test_a_missing_right_is_told_with_the_rule_that_is_missing() -> None:
    with saying(Said(403, RBAC)) as stub, pytest.raises(Denied) as denied:
        stub.api().client.read(EVICT_POD, "/x")
    fix = "grant verb `create` on `pods/eviction` in the core API group: see deploy/kubernetes/rbac.yaml"
    assert fix in str(denied.value)
    assert "limited" in str(denied.value)
    assert "in the API group `policy`" in LIST_BUDGETS.fix


def test_an_admission_rule_is_not_taken_for_a_missing_right() -> None:
    with (
        saying(Said(403, WEBHOOK)) as stub,
        pytest.raises(Denied, match=r"not on Fridays.*admission") as denied,
    ):
        stub.api().client.read(EVICT_POD, "/x")
    assert "grant" not in str(denied.value)


def test_what_is_no_status_is_shown_by_its_first_words() -> None:
    assert status_of(Answer(502, b"<html>Bad gateway" + b"." * 9000)).message.startswith("<html>Bad gateway.")
    assert len(status_of(Answer(502, b"x" * 9000)).message) < 1000


def test_an_answer_does_not_show_its_body() -> None:
    assert "secret" not in repr(Answer(200, b"a pod's secret environment"))


def test_a_redirection_is_not_followed_because_the_token_would_be_taken_along() -> None:
    with saying(Said(200)) as elsewhere, saying(Said(302, headers={"Location": elsewhere.url})) as stub:
        with pytest.raises(Invalid, match="302"):
            stub.api().nodes()
        assert not elsewhere.asked


def test_a_client_that_is_not_let_in_signs_in_again_once_and_goes_on() -> None:
    tokens = iter(["old", "new"])
    with saying(Said(401), Said(200, {"items": []})) as stub:
        client = Client(lambda: stub.access(next(tokens)))
        assert client.read(LIST_NODES, "/api/v1/nodes") == b'{"items":[]}'
        assert stub.shown == ["old", "new"]


def test_a_client_that_is_not_let_in_twice_is_denied_and_told_where_the_token_is_from() -> None:
    with saying(Said(401, {"message": "Unauthorized"})) as stub:
        with pytest.raises(Denied, match=r"list nodes: 401 Unauthorized.*again by a test.*renew") as denied:
            stub.api().nodes()
        assert len(stub.asked) == 2
    assert TOKEN not in str(denied.value)


def test_a_write_that_was_not_let_in_is_repeated_because_it_was_not_carried_out() -> None:
    with saying(Said(401), Said(200, {"metadata": {"name": "n"}})) as stub:
        stub.api().delete_node("n", "uid-1")
        assert stub.asked == ["DELETE /api/v1/nodes/n"] * 2
        assert stub.bodies[0] == stub.bodies[1] != b""


def test_a_server_that_is_not_there_is_busy_even_for_a_write() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    client = Client(lambda: Access(url, "a test", None, lambda: TOKEN))
    with pytest.raises(Busy, match="Kubernetes API unreachable: "):
        client.ask(PATCH_NODE, "PATCH", "/x", body={}, writes=True)


@pytest.mark.parametrize(("writes", "meaning"), [(False, Busy), (True, Unknown)], ids=["read", "write"])
def test_a_server_that_hangs_up_leaves_a_write_unknown(writes: bool, meaning: type[HoldfastError]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)

        thread = threading.Thread(target=hang_up)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        client = Client(lambda: Access(url, "a test", None, lambda: TOKEN))
        with pytest.raises(meaning, match="patch nodes") as raised:
            client.ask(PATCH_NODE, "PATCH", "/x", writes=writes)
        thread.join()
    assert type(raised.value) is meaning


@pytest.mark.parametrize("token", [f"{TOKEN}\nX: y", f"{TOKEN} {TOKEN}", f"{TOKEN}é", f"{TOKEN}\x00"])
def test_a_token_that_no_header_can_carry_is_refused_without_being_shown(token: str) -> None:
    with saying(Said(200)) as stub:
        with pytest.raises(Invalid, match="store it bare") as refused:
            Client(lambda: stub.access(token)).read(LIST_NODES, "/x")
        assert not stub.asked
    assert TOKEN not in str(refused.value)


def test_nothing_that_can_be_printed_shows_the_token() -> None:
    with saying(Said(500, {"message": "no"})) as stub:
        api = stub.api()
        with pytest.raises(Busy) as busy:
            api.nodes()
        for shown in (repr(api), str(api.client), repr(stub.access()), repr(busy.value)):
            assert TOKEN not in shown
