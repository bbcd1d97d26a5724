"""What is watched is right again soon after every trouble, and is not offered while it may be wrong.

Times are those of a server whose second is short; what the real one does is in tests/real.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from holdfast.adapters.kubernetes.api import NODES, PODS
from holdfast.adapters.kubernetes.watch import follower, watches
from holdfast.adapters.kubernetes.watch.watches import KINDS, PicturedApi, Watches
from holdfast.cloud.kubernetes import Pod
from holdfast.kernel import Busy
from tests.adapters.kubernetes.watch.watched_server import PACE, WatchedServer, serving
from tests.proof import prove
from tests.variants import broken

PATIENCE_S = 60.0
"""For what hangs."""
STALE_S = PACE.fed_s + 1.0
"""What happened longer ago than this is in every picture that is offered."""


def eventually(holds: Callable[[], bool], what: str) -> None:
    until_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until_s, f"never: {what}"
        time.sleep(0.01)


@contextmanager
def followed(server: WatchedServer, made: Any = Watches) -> Iterator[tuple[Any, list[Any]]]:
    """Watches of this server, in step with it, and the changes that they tell."""
    changes: list[Any] = []
    following = made(lambda before, after: changes.append((before, after)), lambda told: None, PACE)
    following.start(server.client)
    try:
        eventually(lambda: following.current(1) is not None, "it is current")
        yield following, changes
    finally:
        following.stop.set()


def pods_of(following: Any) -> list[str] | None:
    """Their names; None: it is not current."""
    pictured = following.current(1)
    return None if pictured is None else sorted(pod.metadata.name for pod in pictured[Pod])


@pytest.mark.parametrize("offers_streams", [True, False])
def test_changes_are_followed(offers_streams: bool) -> None:
    with serving(WatchedServer(offers_streams)) as server:
        server.put(PODS, "first")
        with followed(server) as (following, changes):
            assert pods_of(following) == ["first"]
            server.put(PODS, "second")
            server.put(NODES, "n-1")
            eventually(lambda: pods_of(following) == ["first", "second"], "the second is there")
            server.delete(PODS, "first")
            eventually(lambda: pods_of(following) == ["second"], "the first is gone")
            eventually(lambda: any(after and after.metadata.name == "n-1" for _, after in changes), "a node")
        told = [(before and before.metadata.name, after and after.metadata.name) for before, after in changes]
        assert told.count((None, None)) == len(KINDS), "once for each kind that was listed"
        assert {(None, "second"), (None, "n-1"), ("first", None)} <= set(told)
        lists = [asked for asked in server.asked if "watch=" not in asked]
        assert bool(lists) is not offers_streams, "page by page only where there is no stream"
        resumed = [asked for asked in server.asked if "resourceVersion=1" in asked and "watch=" in asked]
        assert resumed
        assert all("allowWatchBookmarks=true" in asked for asked in resumed)


def throttle(server: WatchedServer) -> None:
    server.throttles = 6
    server.cut()


def restart(server: WatchedServer) -> None:
    """The next one has lost its history."""
    server.version += 1_000
    server.compact()


TROUBLES: dict[str, Callable[[WatchedServer], None]] = {
    "cut": WatchedServer.cut,
    "stalled": lambda server: server.stalled.set(),
    "compacted": WatchedServer.compact,
    "throttled": throttle,
    "restarted": restart,
}


def right_again(trouble: str, made: Any = Watches) -> None:
    """Pods come and go; whatever is offered has everything that is older than STALE_S."""
    with serving(WatchedServer()) as server:
        server.put(PODS, "before")
        with followed(server, made) as (following, _):
            TROUBLES[trouble](server)
            server.delete(PODS, "before")
            server.put(PODS, "after")
            changed_s = time.monotonic()
            while server.stalled.is_set():
                asked_s = time.monotonic()
                offered = pods_of(following)
                if asked_s > changed_s + STALE_S:
                    assert offered in (None, ["after"]), f"{trouble}: stale"
                    server.stalled.clear()
                time.sleep(0.01)
            eventually(lambda: pods_of(following) == ["after"], f"{trouble}: right again")


@pytest.mark.parametrize("trouble", TROUBLES)
def test_after_each_trouble_the_picture_is_right_again_and_never_offered_stale(trouble: str) -> None:
    right_again(trouble)


def test_all_is_listed_anew_now_and_then_whatever_the_watches_say(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(WatchedServer()) as server, followed(server) as (following, _):
        listings = following.listings
        monkeypatch.setattr(follower, "RELIST_S", 0.0)
        eventually(lambda: following.listings >= listings + len(KINDS), "without any trouble")


def test_a_picture_of_another_cluster_is_not_used_and_begun_anew() -> None:
    with serving(WatchedServer()) as server, followed(server) as (following, _):
        pictured = following.current(1)
        assert pictured is not None
        assert PicturedApi(server.client(), following, pictured).cluster_uid() == "uid-kube-system"
        listings = following.listings
        server.objects["/api/v1/namespaces"]["kube-system"]["metadata"]["uid"] = "another"

        with pytest.raises(Busy, match="not of the cluster another"):
            PicturedApi(server.client(), following, pictured).cluster_uid()

        assert following.current(1) is None
        eventually(lambda: following.listings >= listings + len(KINDS), "all was listed anew")
        eventually(lambda: following.current(1) is not None, "it is of use again")


def test_where_the_way_leads_to_another_cluster_that_one_is_followed_from_then_on() -> None:
    with serving(WatchedServer()) as old, serving(WatchedServer()) as new:
        old.put(PODS, "of the old")
        new.put(PODS, "of the new")
        new.objects["/api/v1/namespaces"]["kube-system"]["metadata"]["uid"] = "another"
        way = [old]
        following = Watches(lambda before, after: None, lambda told: None, PACE)
        following.start(lambda: way[0].client())
        eventually(lambda: pods_of(following) == ["of the old"], "it is current")
        pictured = following.current(1)
        assert pictured is not None
        way[0] = new

        with pytest.raises(Busy, match="not of the cluster another"):
            PicturedApi(new.client(), following, pictured).cluster_uid()

        eventually(lambda: pods_of(following) == ["of the new"], "the new one is followed")
        following.stop.set()


def test_what_keeps_it_from_following_is_known_until_it_is_over() -> None:
    with serving(WatchedServer()) as server, followed(server) as (following, _):
        assert following.trouble == ""
        server.throttles = 1_000_000
        server.cut()
        eventually(lambda: "are not followed now" in following.trouble, "it is told")
        assert "429 too many" in following.trouble
        server.throttles = 0
        eventually(lambda: following.trouble == "", "it is over")


def test_a_defect_in_what_hears_the_changes_is_told_and_what_is_watched_is_doubted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def hear(before: Any, after: Any) -> None:
        raise ZeroDivisionError

    with serving(WatchedServer()) as server:
        following = Watches(hear, lambda told: None, PACE)
        following.start(server.client)
        eventually(lambda: caplog.text.count("a defect: ") >= len(KINDS), "each is told")
        following.stop.set()
        assert following.doubt()
        assert "ZeroDivisionError" in caplog.text


def no_older_than_the_record(made: Any = Watches) -> None:
    """A record that has just changed is newer than what the watches said before."""
    with serving(WatchedServer()) as server, followed(server, made) as (following, _):
        eventually(lambda: following.current(7) is not None, "the version is known for a while")
        assert following.current(8) is None, "as young as this moment"
        eventually(lambda: following.current(8) is not None, "all have said something since")


def test_no_picture_is_older_than_the_record_beside_it() -> None:
    no_older_than_the_record()


CURRENT = "holdfast.adapters.kubernetes.watch.current"
VARIANTS: dict[str, tuple[dict[str, str], Callable[[Any], None]]] = {
    "watch: a watch that is silent counts as current": (
        {
            "        if not each.in_step:": "        if not each.heard_s:",
            "        if now_s - each.heard_s > pace.fed_s:": "        if False:",
        },
        lambda made: right_again("stalled", made),
    ),
    "watch: a picture may be older than the record": (
        {"        if each.heard_s < since_s + pace.lag_s:": "        if False:"},
        no_older_than_the_record,
    ),
}


@pytest.mark.parametrize("title", VARIANTS)
def test_watches_without(title: str, monkeypatch: pytest.MonkeyPatch) -> None:
    changes, claim = VARIANTS[title]
    monkeypatch.setattr(watches, "doubt", broken(CURRENT, changes).doubt)
    with pytest.raises(AssertionError):
        claim(Watches)
    prove("variant", title, caught_by="a server that is followed")
