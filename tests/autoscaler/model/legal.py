"""The judge of moves, for searches: one pair of records comes up in many schedules, and is judged once."""

from collections.abc import Callable, Hashable

from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.settings import Settings
from holdfast.kernel import Event, Write
from holdfast.testing.legal import illegal

Lawful = Callable[[Cluster, Write[Cluster], float], str]
"""The record before, what is written over it, and when: says what is not allowed, or nothing."""


def any_move(before: Cluster, write: Write[Cluster], now_s: float) -> str:
    """Allows everything: where it is shown what the other judges catch by themselves."""
    return ""


def unremembering(settings: Settings) -> Lawful:
    def judge(before: Cluster, write: Write[Cluster], now_s: float) -> str:
        return "; ".join(illegal(before, write.value, write.events, now_s, settings))

    return judge


def lawful(settings: Settings, number: Callable[[Hashable], int]) -> Lawful:
    """The same; remembers by the numbers of the records, which a search gives them anyway."""
    judge_afresh = unremembering(settings)
    known: dict[tuple[int, int, tuple[Event, ...]], str] = {}

    def judge(before: Cluster, write: Write[Cluster], now_s: float) -> str:
        key = (number(before), number(write.value), write.events)
        problems = known.get(key)
        if problems is None:
            problems = known[key] = judge_afresh(before, write, now_s)
        return problems

    return judge
