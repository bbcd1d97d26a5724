"""One commit before its judges: two records, and what was told about the difference."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from holdfast.autoscaler.record import Cluster, Disrupted, ScaleDown, ScaleUp, Swept
from holdfast.autoscaler.settings import Settings
from holdfast.kernel import Event

Action = TypeVar("Action", ScaleUp, ScaleDown)

HOUR_S: Final = 3_600
ALWAYS_TRUE: Final = "decision"
"""It says what was known and why nothing was done: it may stand beside any move, or alone."""


class Commit:
    def __init__(self, before: Cluster, after: Cluster, events: Sequence[Event], settings: Settings) -> None:
        self.before, self.after, self.settings = before, after, settings
        self.problems: list[str] = []
        self.told_s = events[0].at_s
        self.at_s = int(self.told_s)
        """The moment that it tells of: what this commit dates bears it."""
        self._told: dict[tuple[str, str], int] = {}
        self._explained: set[tuple[str, str]] = set()
        for event in events:
            said = (event.kind, event.about)
            self._told[said] = self._told.get(said, 0) + 1
            if event.at_s != self.told_s:
                self.accuse(f"{event.kind} tells of another moment than {events[0].kind} beside it")

    def accuse(self, problem: str) -> None:
        self.problems.append(problem)

    def tells(self, kind: str, about: str = "") -> int:
        """How often it says so.  An event that was asked for is explained: its judge knows the difference."""
        times = self._told.get((kind, about), 0)
        if times:
            self._explained.add((kind, about))
        return times

    @property
    def restores(self) -> bool:
        """The record goes on behind its log: what was open is given up, what was seen counts from now."""
        return bool(self.tells("recordRestored"))

    def expect(self, what: str, about: str, *kinds: str) -> None:
        """One of these must be told about it."""
        if not sum([self.tells(kind, about) for kind in kinds]):
            self.accuse(f"{what}, and no {' or '.join(kinds)} is told of it")

    def dated(self, what: str, date_s: int) -> None:
        if date_s != self.at_s:
            self.accuse(f"{what} is dated {date_s}, and it happened at {self.at_s}")

    def unexplained(self) -> Iterable[tuple[str, str]]:
        return [said for said in self._told if said not in self._explained and said[0] != ALWAYS_TRUE]


def follow(
    commit: Commit,
    what: str,
    was: Action | None,
    now: Action | None,
    *,
    begun: Callable[[Commit, Action], None],
    ended: Callable[[Commit, Action], None],
    went_on: Callable[[Commit, Action, Action], None],
) -> None:
    """An action begins, goes on under its own name, and ends; each of the three has its judge."""
    if was is now:
        return
    if was is None:
        if now is not None:
            begun(commit, now)
    elif now is None:
        ended(commit, was)
    elif was.action_id != now.action_id:
        commit.accuse(f"{what} {was.action_id} became {now.action_id}")
    elif was != now:
        went_on(commit, was, now)


def booked_within_an_hour(
    commit: Commit,
    what: str,
    before: Iterable[Swept | Disrupted],
    after: Iterable[Swept | Disrupted],
    most: int,
) -> list[str]:
    """The machines that are newly booked, dated now.  None is forgotten within the hour, and no more are
    booked than may be."""
    was, now = set(before), set(after)
    anew = {one.instance_id for one in now - was}
    for one in was - now:
        if one.instance_id not in anew and commit.told_s - one.at_s < HOUR_S:
            commit.accuse(f"{one.instance_id} was {what} within the hour, and that is forgotten")
    for one in now - was:
        commit.dated(f"that {one.instance_id} is {what}", one.at_s)
    within = [one for one in now if commit.told_s - one.at_s < HOUR_S]
    if len(within) > most:
        commit.accuse(f"{len(within)} are {what} within an hour, {most} at most")
    return sorted(anew)


def open_action(cluster: Cluster) -> ScaleUp | ScaleDown | None:
    return cluster.scale_up or cluster.scale_down
