"""The loop hears notices while it rests: kept first, deleted after, and no trouble ends the listening."""

import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from holdfast.app.listening import PAUSE_S, REFUSED_PAUSE_S, Listener, listening
from holdfast.autoscaler.result import TickResult
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.cli.autoscaler.loop import Loop
from holdfast.cli.autoscaler.loop.metrics import MetricsCollector
from holdfast.cloud import Notice, NoticeKind
from holdfast.kernel import Busy, HoldfastError, Invalid
from tests.cli.small_world import SmallWorld
from tests.workloads import ZONES


def message(n: int, body: object) -> dict[str, Any]:
    text = body if isinstance(body, str) else json.dumps(body)
    return {"messageId": f"m-{n}", "receiptHandle": f"r-{n}", "eventSource": "aws:sqs", "body": text}


def warning(instance_id: str, at: str = "2026-03-01T12:00:00Z") -> dict[str, Any]:
    return {
        "source": "aws.ec2",
        "detail-type": "EC2 Spot Instance Interruption Warning",
        "time": at,
        "detail": {"instance-id": instance_id, "instance-action": "terminate"},
    }


class Messages:
    """A queue that brings again what was not deleted."""

    def __init__(self, *bodies: object, error: HoldfastError | None = None) -> None:
        self.left = [message(n, body) for n, body in enumerate(bodies)]
        self.error = error

    def receive(self) -> Sequence[dict[str, Any]]:
        if self.error:
            raise self.error
        return list(self.left)

    def delete(self, messages: Sequence[dict[str, Any]]) -> None:
        self.left = [each for each in self.left if each not in messages]


Keep = Callable[[Sequence[Notice]], Sequence[Notice]]


def a_listener(queue: Messages, keep: Keep) -> tuple[Listener, threading.Event]:
    news = threading.Event()
    return Listener(queue, keep, news.set, threading.Event()), news


def test_a_notice_is_kept_then_deleted_and_wakes_the_loop() -> None:
    kept: list[Notice] = []
    queue = Messages(warning("i-1"), warning("i-2"), "no JSON at all")

    def keep(notices: Sequence[Notice]) -> Sequence[Notice]:
        kept.extend(notices)
        return notices

    listener, news = a_listener(queue, keep)

    assert listener.take() == 0.0

    assert {(each.instance_id, each.kind) for each in kept} == {
        ("i-1", NoticeKind.INTERRUPTION),
        ("i-2", NoticeKind.INTERRUPTION),
    }
    assert news.is_set()
    assert queue.left == [], "what never will be understood is dropped too"


def test_what_could_not_be_kept_comes_again() -> None:
    queue = Messages(warning("i-1"))

    def keep(notices: Sequence[Notice]) -> Sequence[Notice]:
        raise Busy("the table is throttled")

    listener, news = a_listener(queue, keep)

    assert listener.take() == PAUSE_S
    assert len(queue.left) == 1
    assert not news.is_set()


def settings_in(folder: Path) -> Settings:
    return Settings(database=str(folder / "state.db"), pools=(Pool(subnet_ids=tuple(ZONES)),))


def test_a_notice_of_a_foreign_machine_is_deleted_and_neither_inbox_nor_loop_hear_of_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    autoscaler = SmallWorld.of(3).autoscaler(settings_in(tmp_path), {})
    queue = Messages(warning("i-of-another-team"))
    listener, news = a_listener(queue, autoscaler.keep)

    assert listener.take() == 0.0

    assert (queue.left, list(autoscaler.inbox.waiting())) == ([], [])
    assert not news.is_set()
    assert "heard" not in caplog.text
    queue.left = [message(0, warning("i-of-another-team")), message(1, warning("i-0"))]
    listener.take()
    assert [each.instance_id for each in autoscaler.inbox.waiting()] == ["i-0"]
    assert news.is_set()


def test_a_queue_that_refuses_is_asked_again_more_slowly(caplog: pytest.LogCaptureFixture) -> None:
    queue = Messages(error=Invalid("sqs:ReceiveMessage: grant the role this action"))
    listener, _ = a_listener(queue, lambda notices: ())

    assert [listener.take(), listener.take()] == [REFUSED_PAUSE_S] * 2
    queue.error = None
    assert listener.take() == 0.0
    said = [record.getMessage() for record in caplog.records if "queue" in record.getMessage()]
    assert len(said) <= 2, "a trouble is said once, and once that it is over"


def test_a_defect_is_told_and_the_listening_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    queue = Messages(warning("i-1"))
    kept: list[Notice] = []

    def keep(notices: Sequence[Notice]) -> Sequence[Notice]:
        if not listener.trouble:
            raise ZeroDivisionError("a defect")
        kept.extend(notices)
        listener.stop.set()
        return notices

    class Impatient(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            return self.is_set()

    listener = Listener(queue, keep, lambda: None, Impatient())
    listener.run()

    assert [each.instance_id for each in kept] == ["i-1"], "what was not deleted has come again"
    assert "a defect" in caplog.text
    assert listener.trouble == "", "and it is over"


def test_what_keeps_it_from_listening_is_known_until_it_is_over() -> None:
    queue = Messages(error=Invalid("sqs:ReceiveMessage: the queue does not exist"))
    listener, _ = a_listener(queue, lambda notices: notices)
    listener.take()
    assert listener.trouble == "the queue of notices: sqs:ReceiveMessage: the queue does not exist"
    queue.error = None
    listener.take()
    assert listener.trouble == ""


def test_the_loop_acts_on_a_notice_long_before_its_next_turn(tmp_path: Path) -> None:
    world = SmallWorld.of(3)
    settings = settings_in(tmp_path)
    turned: list[TickResult] = []
    victim = world.machines[0].instance_id
    queue = Messages()

    def after_a_turn(result: TickResult) -> None:
        turned.append(result)
        if len(turned) == 1:
            at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            queue.left = [message(0, warning(victim, at))]
            assert listener.take() == 0.0

    loop = Loop(
        lambda: world.autoscaler(settings, {}), "run-1", 600.0, MetricsCollector("blue"), turned=after_a_turn
    )
    listener = Listener(queue, world.autoscaler(settings, {}).keep, loop.rests.wake_for_notice, loop.stop)
    loop.run(turns=2)

    assert len(turned) == 2, "and it did not wait for ten minutes"
    assert any("interrupted" in step and victim in step for step in turned[1].steps), turned[1].steps


def test_without_a_queue_nothing_listens() -> None:
    before = threading.active_count()
    with listening(None):
        assert threading.active_count() == before
