"""Where a follower goes on after each answer, and how long it rests; what its store makes of a stream."""

import msgspec
import pytest

from holdfast.adapters.kubernetes.watch.course import PAUSE_MAX_S, RETRY_AFTER_MAX_S, Course
from holdfast.adapters.kubernetes.watch.frames import Bookmark, Changed, Event, Failed, decode, lines
from holdfast.adapters.kubernetes.watch.store import Store
from holdfast.cloud.kubernetes import Meta, Pod
from holdfast.kernel import Invalid

AT_7 = Course("7")
DECODER = msgspec.json.Decoder(Event[Pod])


def named(name: str, version: int) -> Pod:
    return Pod(metadata=Meta(name=name, namespace="shop", resource_version=str(version)))


def test_it_begins_by_a_stream_or_by_a_list_and_goes_on_from_its_version() -> None:
    assert Course().query(4)["sendInitialEvents"] == "true"
    assert not Course().lists
    assert Course(streams=False).lists
    assert AT_7.query(4) == {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": "7",
        "timeoutSeconds": "4",
    }


@pytest.mark.parametrize(
    ("before", "status", "after"),
    [
        (AT_7, 0, Course("7", failures=1)),
        (AT_7, 429, Course("7", failures=1)),
        (AT_7, 410, Course("", failures=1)),
        (AT_7, 500, Course("7", failures=1, refusals=1)),
        (Course("7", failures=1, refusals=1), 504, Course("", failures=2)),
        (Course("7", failures=1, refusals=1), 429, Course("7", failures=2)),
        (Course(), 422, Course(streams=False)),
        (Course(failures=1), 0, Course(streams=False, failures=2)),
        (Course(), 503, Course(failures=1)),
    ],
)
def test_after_a_failure(before: Course, status: int, after: Course) -> None:
    assert before.failed(status) == after


def test_success_forgets_failures() -> None:
    assert Course("7", streams=False, failures=9, refusals=1).at("8") == Course("8", streams=False)


def test_pauses_grow_to_a_limit_and_are_never_shorter_than_the_server_asks() -> None:
    assert AT_7.pause_s(0.5) == 0
    pauses = [Course("7", failures=n).pause_s(0.5) for n in range(1, 40)]
    assert pauses == sorted(pauses)
    assert pauses[0] == 0.2
    assert pauses[-1] == PAUSE_MAX_S
    assert Course("7", failures=1).pause_s(0.0) < Course("7", failures=1).pause_s(1.0)
    assert Course("7", failures=1).pause_s(0.5, 9.0) == 9.0
    assert Course("7", failures=1).pause_s(0.5, 9_999.0) == RETRY_AFTER_MAX_S


def test_lines_are_put_together_from_pieces() -> None:
    assert list(lines([b'{"a"', b":1}\n{", b"}\n\n{half"])) == [b'{"a":1}', b"{}"]


def test_frames() -> None:
    pod = b'{"metadata":{"name":"a","namespace":"shop","resourceVersion":"9"}}'
    assert decode(b'{"type":"ADDED","object":%s}' % pod, DECODER) == Changed(named("a", 9))
    assert decode(b'{"type":"DELETED","object":%s}' % pod, DECODER) == Changed(named("a", 9), gone=True)
    assert decode(b'{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"9"}}}', DECODER) == Bookmark(
        "9"
    )
    end = b'{"resourceVersion":"9","annotations":{"k8s.io/initial-events-end":"true"}}'
    assert decode(b'{"type":"BOOKMARK","object":{"metadata":%s}}' % end, DECODER) == Bookmark("9", True)
    error = b'{"type":"ERROR","object":{"kind":"Status","metadata":{},"code":410,"message":"too old"}}'
    assert decode(error, DECODER) == Failed(410, "too old")
    for wrong in (b"<html>", b"[]", b'{"type":"ADDED","object":7}', b'{"type":"NEWS","object":{}}'):
        with pytest.raises(Invalid, match="not Kubernetes' own form"):
            decode(wrong, DECODER)


def test_an_initial_list_is_seen_whole_or_not_at_all() -> None:
    store: Store[Pod] = Store()
    store.replace([named("old", 1)], "5")
    store.begin()
    assert store.take(Changed(named("a", 7))) is None
    assert [pod.metadata.name for pod in store.things.values()] == ["old"]
    assert not store.is_whole
    assert store.take(Bookmark("8", ends_initial=True)) is None
    assert [pod.metadata.name for pod in store.things.values()] == ["a"]
    assert (store.is_whole, store.resource_version) == (True, "8")
    change = store.take(Changed(named("a", 9), gone=True))
    assert change is not None
    assert (change.before, change.after) == (named("a", 7), None)
    assert (store.things, store.resource_version) == ({}, "9")
