"""One question of a follower at a time, by a scripted server and a clock of its own: when it is in step."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.adapters.kubernetes.watch import follower as shipped
from holdfast.adapters.kubernetes.watch.course import PACE, RELIST_S
from holdfast.adapters.kubernetes.watch.follower import Follower
from holdfast.adapters.kubernetes.watch.watches import KINDS
from holdfast.cloud.kubernetes import Pod
from holdfast.kernel import Busy

Piece = tuple[float, dict[str, Any] | None]
"""After so many seconds this comes; None: nothing that is whole."""
INITIAL_END = {"k8s.io/initial-events-end": "true"}


def bookmark(version: str, annotations: Mapping[str, str] | None = None) -> dict[str, Any]:
    mark = {"resourceVersion": version, "annotations": dict(annotations or {})}
    return {"type": "BOOKMARK", "object": {"metadata": mark}}


END: Piece = (0.1, bookmark("7", INITIAL_END))


def added(name: str, version: str) -> dict[str, Any]:
    meta = {"name": name, "namespace": "shop", "resourceVersion": version}
    return {"type": "ADDED", "object": {"metadata": meta}}


@dataclass
class Scripted:
    """A client whose every stream sends these pieces, and ends so long after the last."""

    now_s: float = 10_000.0
    pieces: tuple[Piece, ...] = ()
    ends_s: float = 0.0
    status: int = 200
    asked: list[Mapping[str, str]] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None
    """When it is asked."""
    taken: Callable[[], None] = lambda: None
    """When a stream has begun, and after each of its pieces."""

    def stream(self, call: object, path: str, query: Mapping[str, str], *, silence_max_s: float) -> Any:
        self.asked.append(query)
        assert silence_max_s == PACE.silence_max_s, "what is half dead is known by its silence"
        self.meanwhile()
        return SimpleNamespace(status=self.status, pieces=self._sent, close=lambda: None)

    def _sent(self) -> Iterator[bytes]:
        self.taken()
        for after_s, piece in self.pieces:
            self.now_s += after_s
            yield json.dumps(piece).encode() + b"\n" if piece is not None else b""
            self.taken()
        self.now_s += self.ends_s


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    made = Scripted()
    monkeypatch.setattr(shipped, "time", SimpleNamespace(monotonic=lambda: made.now_s))
    return made


@pytest.fixture
def following() -> Follower[Any]:
    kind = next(each for each in KINDS if each.of is Pod)
    return Follower(kind, lambda change: None, lambda told: None, PACE)


def asks(following: Follower[Any], server: Any, *pieces: Piece, ends_s: float = 0.0) -> None:
    server.pieces, server.ends_s = pieces, ends_s
    following.ask(server)


def in_step(following: Follower[Any]) -> bool:
    return following.fed.in_step


def test_it_is_in_step_when_the_initial_list_is_whole(following: Follower[Any], server: Scripted) -> None:
    asks(following, server, (0.1, added("web", "5")), (0.1, bookmark("6")), ends_s=60.0)
    assert not in_step(following), "it broke off, however long it took"
    assert following.things() == []

    asks(following, server, (0.1, added("web", "5")), END)
    assert in_step(following)
    assert [each.metadata.name for each in following.things()] == ["web"]


def test_a_word_is_as_old_as_the_wait_for_it(following: Follower[Any], server: Scripted) -> None:
    """A process that was stopped meanwhile must not take it for new."""
    asks(following, server, (0.1, added("web", "5")), (300.0, END[1]))

    assert following.fed.heard_s == pytest.approx(10_000.1)


def test_a_watch_that_ends_in_time_has_missed_nothing(following: Follower[Any], server: Scripted) -> None:
    asks(following, server, END)
    asks(following, server, (2.0, bookmark("9")), ends_s=2.0)

    assert in_step(following)
    assert server.asked[-1]["resourceVersion"] == "7"
    asks(following, server, ends_s=4.0)
    assert server.asked[-1]["resourceVersion"] == "9"


def test_a_watch_that_ends_too_soon_was_cut(following: Follower[Any], server: Scripted) -> None:
    asks(following, server, END)
    asks(following, server, (0.5, bookmark("9")), ends_s=1.0)
    assert not in_step(following)

    asks(following, server, (0.5, added("web", "10")), ends_s=1.0)
    assert not in_step(following), "a change says nothing of those that were missed"
    asks(following, server, (0.5, bookmark("11")), ends_s=1.0)
    assert not in_step(following)
    asks(following, server, ends_s=4.0)
    assert in_step(following)


def test_after_a_failure_it_is_in_step_again_at_the_first_bookmark(
    following: Follower[Any], server: Scripted
) -> None:
    asks(following, server, END)
    asks(following, server, ends_s=0.5)
    seen: list[bool] = []
    server.taken = lambda: seen.append(in_step(following))

    asks(following, server, (0.5, added("web", "8")), (0.5, bookmark("9")), (0.5, added("api", "10")))
    assert seen == [False, False, True, True], "a change says nothing of those that were missed"


def test_what_is_listed_anew_is_doubted_meanwhile(following: Follower[Any], server: Scripted) -> None:
    asks(following, server, END)
    seen: list[bool] = []
    server.meanwhile = lambda: seen.append(in_step(following))

    server.now_s += RELIST_S + 1
    asks(following, server, END)
    following.begin_anew()
    assert not in_step(following), "at once"
    asks(following, server, END)
    assert seen == [False, False]
    assert in_step(following)
    assert [asked.get("sendInitialEvents") for asked in server.asked] == ["true"] * 3


def test_a_version_that_is_gone_begins_anew(following: Follower[Any], server: Scripted) -> None:
    asks(following, server, END)
    gone = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "message": "too old"}}
    asks(following, server, (0.1, gone), ends_s=4.0)

    assert not in_step(following)
    asks(following, server, END)
    assert server.asked[-1]["sendInitialEvents"] == "true"
    assert in_step(following)


def test_a_way_that_fails_again_and_again_is_looked_for_anew(
    following: Follower[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped, "CONNECT_AGAIN", 1)
    stop, connected, asked = threading.Event(), list[int](), list[int]()

    def fails(*args: object, **said: object) -> None:
        asked.append(1)
        if len(asked) == 2:
            stop.set()
        raise Busy("no route")

    def connect() -> Any:
        connected.append(1)
        return SimpleNamespace(stream=fails)

    following.run(connect, stop)
    assert len(connected) == 2
