"""The only loop there is: read, look, step, act, note.

Rule 1: the record is read before the world is looked at, so no decision rests on a
        picture older than the record it changes.
Rule 2: an intention that may be carried out late is written down first.
Rule 3: what happened is noted on whatever the record has become meanwhile.  A lost race
        loses the write, not the news.
Rule 4: a lost answer is resolved by looking for our commit id, never by guessing.
Rule 5: after its own commit a turn may go on with the look that it has, if the workflow says so:
        another's commit in between makes the next one a Conflict.  What is carried out on such a
        look must follow from the record alone; everything else ends the turn, and is looked at anew.

`turn` is the loop as a generator: it yields each call that it wants made and is sent the
answer.  `advance` makes the calls in plain synchronous code, `advance_async` awaits them,
and the simulated world may die at any of them.
"""

from collections.abc import Awaitable, Callable, Generator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, TypeVar

from holdfast.kernel.errors import Busy, Conflict, HoldfastError, Unknown
from holdfast.kernel.event import Event
from holdfast.kernel.ports import Clock, NewId, Random, Repository
from holdfast.kernel.step import Ahead, Do, Happened, Outcome, Workflow
from holdfast.kernel.write import EVENTS_MAX, Versioned, Write

Record = TypeVar("Record")
Seen = TypeVar("Seen")
Effect = TypeVar("Effect")

NOTE_TRIES_MAX: Final = 12
PAUSE_FIRST_S: Final = 0.05
PAUSE_MAX_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class DriverPorts(Generic[Record, Seen, Effect]):
    """All that a turn may touch, each as a function."""

    read: Callable[[], Versioned[Record]]
    look: Callable[[], Seen]
    commit: Callable[[Versioned[Record], Write[Record], str], Versioned[Record]]
    commit_id_at: Callable[[int], str | None]
    perform: Callable[[tuple[Effect, ...]], Sequence[Outcome]]
    pause: Callable[[float], None]
    now_s: Callable[[], float]
    new_id: NewId
    random: Random

    @classmethod
    def on(
        cls,
        store: Repository[Record],
        subject: str,
        *,
        look: Callable[[], Seen],
        perform: Callable[[Effect], object],
        clock: Clock,
        new_id: NewId,
        random: Random,
    ) -> "DriverPorts[Record, Seen, Effect]":
        """Ports on one record of a repository; effects are performed one after the other."""
        return cls(
            read=lambda: store.read(subject),
            look=look,
            commit=lambda found, write, commit_id: store.commit(subject, found, write, commit_id),
            commit_id_at=lambda version: store.commit_id_at(subject, version),
            perform=lambda effects: [outcome_of(perform, effect) for effect in effects],
            now_s=clock.now_s,
            pause=clock.sleep,
            new_id=new_id,
            random=random,
        )


@dataclass(frozen=True, slots=True)
class AsyncDriverPorts(Generic[Record, Seen, Effect]):
    """The same for coroutines: what waits for the world is awaited."""

    read: Callable[[], Awaitable[Versioned[Record]]]
    look: Callable[[], Awaitable[Seen]]
    commit: Callable[[Versioned[Record], Write[Record], str], Awaitable[Versioned[Record]]]
    commit_id_at: Callable[[int], Awaitable[str | None]]
    perform: Callable[[tuple[Effect, ...]], Awaitable[Sequence[Outcome]]]
    pause: Callable[[float], Awaitable[None]]
    now_s: Callable[[], float]
    new_id: NewId
    random: Random


Ports = DriverPorts[Record, Seen, Effect] | AsyncDriverPorts[Record, Seen, Effect]
Call = Callable[[], Any]
"""One of the ports with its arguments."""
Turn = Generator[Call, Any, Ahead[Record, Effect]]


def turn(
    ports: Ports[Record, Seen, Effect], workflow: Workflow[Record, Seen, Effect]
) -> Turn[Record, Effect]:
    """Take a step, and those that follow its commits on the same look; say which was the last."""
    found: Versioned[Record] | None = yield ports.read
    assert found is not None
    asked_s = ports.now_s()
    seen: Seen = yield ports.look
    ahead = workflow.step(found.value, seen, ports.now_s())
    while isinstance(ahead, Write):
        found = yield from _commit(ports, found, ahead)
        now_s = ports.now_s()
        if found is None or now_s - asked_s >= workflow.reuse_s:
            return ahead
        following = workflow.step(found.value, seen, now_s)
        if isinstance(following, Do) and not all(map(workflow.by_record, following.effects)):
            return ahead
        ahead = following
    if isinstance(ahead, Do):
        yield from _perform(ports, workflow, ahead)
    return ahead


def _perform(
    ports: Ports[Record, Seen, Effect], workflow: Workflow[Record, Seen, Effect], ahead: Do[Effect]
) -> Generator[Call, Any, None]:
    """Carry the effects out, and note what became of each."""
    outcomes: Sequence[Outcome] = yield partial(ports.perform, ahead.effects)
    news = list(zip(ahead.effects, outcomes, strict=True))
    unnoted: Busy | None = None
    while news:
        try:
            news = news[(yield from _note(ports, workflow, news)) :]
        except Busy as busy:
            unnoted, news = busy, news[1:]  # the news of the other effects must not be lost with it
    if unnoted is not None:
        raise unnoted


def _commit(
    ports: Ports[Record, Seen, Effect], found: Versioned[Record], write: Write[Record]
) -> Generator[Call, Any, Versioned[Record] | None]:
    """Commit; after a lost answer, say whose version it became.  None: ours, but not read back."""
    commit_id = ports.new_id()
    try:
        done: Versioned[Record] = yield partial(ports.commit, found, write, commit_id)
        return done
    except Unknown:
        try:
            winner: str | None = yield partial(ports.commit_id_at, found.version + 1)
        except Busy as error:
            # Busy would say "certainly not written", which is just what we do not know.
            raise Unknown(f"nor could it be looked up: {error}") from error
        if winner is None:
            raise  # it may still arrive; the next commit will meet it there
        if winner != commit_id:
            raise Conflict(f"version {found.version + 1} is another's") from None
        return None


def _note(
    ports: Ports[Record, Seen, Effect],
    workflow: Workflow[Record, Seen, Effect],
    news: Sequence[tuple[Effect, Outcome]],
) -> Generator[Call, Any, int]:
    """Write down what became of the effects, however often others write in between.

    As many as one commit holds: a hundred drains must not cost a hundred commits of one
    hot record.  Returns how many were noted.
    """
    pause_s = PAUSE_FIRST_S
    for _ in range(NOTE_TRIES_MAX):
        try:
            found: Versioned[Record] = yield ports.read
            noted, write = settle_all(workflow, found.value, news, ports.now_s())
            if write is not None:
                yield from _commit(ports, found, write)
            return noted
        except Conflict:
            pass  # read again: the record says what is left to note
        except (Busy, Unknown):
            yield partial(
                ports.pause, pause_s * (1 + ports.random()) / 2
            )  # those who collided must not meet again
            pause_s = min(2 * pause_s, PAUSE_MAX_S)
    raise Busy(f"could not note {news[0][0]} in {NOTE_TRIES_MAX} tries")


def settle_all(
    workflow: Workflow[Record, Seen, Effect],
    record: Record,
    news: Sequence[tuple[Effect, Outcome]],
    now_s: float,
) -> tuple[int, Write[Record] | None]:
    """Settle one after the other, on the record that the one before left, until a write is full.

    How many were settled, and the write; None if there is nothing to note.
    """
    events: tuple[Event, ...] = ()
    for noted, (effect, outcome) in enumerate(news):
        write = workflow.settle(record, effect, outcome, now_s)
        if write is None:
            continue
        if len(events) + len(write.events) > EVENTS_MAX:
            return noted, Write(record, events)
        record, events = write.value, events + write.events
    return len(news), Write(record, events) if events else None


def outcome_of(perform: Callable[[Effect], object], effect: Effect) -> Outcome:
    """Perform it, and say what became of it."""
    try:
        return Happened(perform(effect))
    except (Conflict, Busy, Unknown) as error:
        return error


def advance(
    ports: DriverPorts[Record, Seen, Effect], workflow: Workflow[Record, Seen, Effect]
) -> Ahead[Record, Effect]:
    """Take a turn in plain code.  Raises Conflict, Busy or Unknown if it could not be taken."""
    running = turn(ports, workflow)
    resume: Callable[[], Call] = partial(running.send, None)
    while True:
        try:
            call = resume()
        except StopIteration as end:
            return _ahead(end)
        try:
            resume = partial(running.send, call())
        except HoldfastError as error:
            resume = partial(running.throw, error)


async def advance_async(
    ports: AsyncDriverPorts[Record, Seen, Effect], workflow: Workflow[Record, Seen, Effect]
) -> Ahead[Record, Effect]:
    """The same from a coroutine."""
    running = turn(ports, workflow)
    resume: Callable[[], Call] = partial(running.send, None)
    while True:
        try:
            call = resume()
        except StopIteration as end:
            return _ahead(end)
        try:
            resume = partial(running.send, await call())
        except HoldfastError as error:
            resume = partial(running.throw, error)


def _ahead(end: StopIteration) -> Ahead[Record, Effect]:
    ahead: Ahead[Record, Effect] = end.value
    return ahead
