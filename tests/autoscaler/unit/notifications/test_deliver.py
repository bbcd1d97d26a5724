"""Bringing messages to channels that refuse or take long: within the time that there is."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

from holdfast.autoscaler.notifications.causes import Cause
from holdfast.autoscaler.notifications.deliver import Delivery
from holdfast.autoscaler.notifications.message import Message
from holdfast.autoscaler.notifications.record import CODEC, SUBJECT
from holdfast.kernel import Busy, HoldfastError, Invalid, Outcome, Unknown
from holdfast.sim.memory import MemoryItems


@dataclass
class Slow:
    """A clock, and a channel that takes so long and answers this."""

    at_s: float = 1_000.0
    takes_s: float = 0.0
    error: HoldfastError | None = None
    taken: list[Message] = field(default_factory=list)

    def now_s(self) -> float:
        return self.at_s

    def sleep(self, seconds: float) -> None:
        self.at_s += seconds

    def send(self, message: Message) -> None:
        self.at_s += self.takes_s
        if self.error is not None:
            raise self.error
        self.taken.append(message)


def one_by_one(calls: Sequence[Callable[[], Outcome]]) -> Sequence[Outcome]:
    return [call() for call in calls]


def delivery(slow: Slow, **channels: Slow) -> Delivery:
    ids = count()
    return Delivery(
        store=MemoryItems(CODEC),
        channels=channels,
        cluster="shop",
        after_s=0,
        clock=slow,
        new_id=lambda: f"id-{next(ids)}",
        random=lambda: 0.5,
        together=one_by_one,
    )


def test_every_kind_of_no_is_a_try_that_failed_and_the_others_hear_all_the_same() -> None:
    for error in (Busy("HTTP 503"), Unknown("no answer"), Invalid("HTTP 404")):
        refuses, takes = Slow(error=error), Slow()
        telling = delivery(refuses, webhook=refuses, sns=takes)

        again_s = telling.run("a", {(Cause.NO_CAPACITY, "pool gpu"): "none"}, until_s=2_000)

        assert again_s == 1_030
        assert [message.about for message in takes.taken] == ["pool gpu"]
        (told,) = telling.store.read(SUBJECT).value.notifications
        tries = {receipt.channel: (receipt.told, receipt.tries) for receipt in told.receipts}
        assert tries == {"webhook": (False, 1), "sns": (True, 1)}


def test_no_try_is_begun_when_the_time_is_over() -> None:
    slow = Slow()
    telling = delivery(slow, webhook=slow)

    assert telling.run("a", {(Cause.NO_CAPACITY, "pool gpu"): "none"}, until_s=slow.at_s) == slow.at_s
    assert slow.taken == []
    assert telling.store.read(SUBJECT).version == 0


def test_a_slow_channel_ends_the_delivery_with_the_message_that_it_takes() -> None:
    slow = Slow(takes_s=20.0)
    telling = delivery(slow, webhook=slow)

    telling.run("a", {(Cause.NO_CAPACITY, "pool gpu"): "none"}, until_s=1_015)
    assert len(slow.taken) == 1
    telling.run("a", {}, until_s=slow.at_s + 15)
    assert [message.stage for message in slow.taken] == ["begun", "over"]
    assert telling.run("a", {}, until_s=slow.at_s + 15) is None
