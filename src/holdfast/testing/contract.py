"""What every repository promises, as functions that fail when a promise is broken.

A `Trial` brings one implementation, a way to race calls on it, and a way to reach behind
its back.  Each promise is one function; its docstring is the promise.  The tests run
every promise on every implementation.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from holdfast.kernel.errors import Busy, Conflict, Corrupt, HoldfastError
from holdfast.kernel.event import Event
from holdfast.kernel.ports import NewId, Repository
from holdfast.kernel.write import Versioned, Write

Record = TypeVar("Record")
RACERS = 8


class Trial(Protocol[Record]):
    """One implementation under test, on storage of its own."""

    subject: str
    samples: tuple[Record, Record, Record]
    """Three different records, none of them the empty one."""
    absurdities: Sequence[tuple[str, Any]]
    """Attributes, and values that make no sense in them."""
    guarded_attributes: tuple[str, Any] | None
    """An attribute that a commit checks beside the version, and another value for it."""
    new_id: NewId

    def open(self) -> Repository[Record]:
        """Another connection to the same storage."""
        ...

    def race(self, calls: Sequence[Callable[[], Versioned[Record]]]) -> Sequence[Any]:
        """Make all calls at once; an answer or a HoldfastError each."""
        ...

    def plant(self, attribute: str, value: Any) -> None:
        """Put a value into the stored record, as something else would that knows no versions."""
        ...

    def stored(self) -> Mapping[str, Any]:
        """The stored record as it is, attribute by attribute."""
        ...

    def plant_event(self, version: int) -> None:
        """Occupy the first event of a version."""
        ...

    def lose_record(self) -> None:
        """Remove the record and leave its events."""
        ...

    def unversion(self) -> None:
        """Make the stored record look as if it had been written without versions or events."""
        ...

    def forget_tokens(self) -> None:
        """Do what ten minutes do to a store that remembers tokens for a while."""
        ...


class _Case(Generic[Record]):
    """Shorthand for the promises below."""

    def __init__(self, trial: Trial[Record]) -> None:
        self.trial, self.store, self.subject = trial, trial.open(), trial.subject

    def write(self, n: int, *kinds: str) -> Write[Record]:
        return Write(self.trial.samples[n], tuple(Event(kind, 100.0 + n) for kind in kinds or ("changed",)))

    def put(self, n: int, commit_id: str | None = None) -> Versioned[Record]:
        found = self.store.read(self.subject)
        return self.store.commit(self.subject, found, self.write(n), commit_id or self.trial.new_id())


def nothing_stored_is_the_start(trial: Trial[Record]) -> None:
    """A subject that was never written reads as the empty record at version 0, and can be written."""
    case = _Case(trial)
    assert case.store.read(case.subject).version == 0
    assert not case.store.events(case.subject)
    assert case.put(0).version == 1


def a_commit_is_read_back_at_once(trial: Trial[Record]) -> None:
    """Reads are strongly consistent: another connection sees a commit as soon as it is answered."""
    case, other = _Case(trial), trial.open()
    for n in (0, 1, 2, 0):
        done = case.put(n)
        found = other.read(case.subject)
        assert (found.value, found.version, found.commit_id) == (
            trial.samples[n],
            done.version,
            done.commit_id,
        )


def a_stale_version_is_refused(trial: Trial[Record]) -> None:
    """A write computed from the past changes nothing, even if the values have come back since."""
    case = _Case(trial)
    case.put(0)
    past = case.store.read(case.subject)
    case.put(1)
    case.put(0)  # 30 → 60 → 30: equal content, another version
    _refused(Conflict, lambda: case.store.commit(case.subject, past, case.write(2), trial.new_id()))
    assert case.store.read(case.subject).value == trial.samples[0]
    assert [logged.version for logged in case.store.events(case.subject)] == [1, 2, 3]


def racers_have_one_winner(trial: Trial[Record]) -> None:
    """Of many writers of the same thing at once, exactly one believes that it won."""
    case = _Case(trial)
    for _ in range(4):
        found = case.store.read(case.subject)
        ids = [trial.new_id() for _ in range(RACERS)]
        stores = [trial.open() for _ in ids]

        answers = trial.race(
            [
                partial(_insist, store, case, found, commit_id)
                for store, commit_id in zip(stores, ids, strict=True)
            ]
        )
        winners = [answer for answer in answers if isinstance(answer, Versioned)]
        losers = [answer for answer in answers if isinstance(answer, Conflict)]
        assert len(winners) == 1, f"{len(winners)} winners of version {found.version + 1}: {answers}"
        assert len(losers) == RACERS - 1, answers
        assert case.store.commit_id_at(case.subject, found.version + 1) == winners[0].commit_id


def _insist(
    store: Repository[Record], case: _Case[Record], found: Versioned[Record], commit_id: str
) -> Versioned[Record]:
    """Busy means that no writer won yet: try again, under the same id."""
    while True:
        try:
            return store.commit(case.subject, found, case.write(0), commit_id)
        except Busy:
            continue


def a_repeated_commit_is_done_once(trial: Trial[Record]) -> None:
    """The same commit id again answers as the first time did, and writes nothing."""
    case = _Case(trial)
    found, commit_id = case.store.read(case.subject), trial.new_id()
    first = case.store.commit(case.subject, found, case.write(0), commit_id)
    again = case.store.commit(case.subject, found, case.write(0), commit_id)
    assert (again.value, again.version, again.commit_id) == (first.value, first.version, first.commit_id)
    assert len(case.store.events(case.subject)) == 1


def a_late_repeat_knows_its_own(trial: Trial[Record]) -> None:
    """A retry after more than ten minutes finds its own commit id, also under later commits."""
    case = _Case(trial)
    found, commit_id = case.store.read(case.subject), trial.new_id()
    case.store.commit(case.subject, found, case.write(0), commit_id)
    trial.forget_tokens()
    assert case.store.commit(case.subject, found, case.write(0), commit_id).version == 1
    case.put(1)
    case.put(2)
    trial.forget_tokens()
    assert case.store.commit(case.subject, found, case.write(0), commit_id).version == 1
    assert case.store.read(case.subject).value == trial.samples[2]
    assert len(case.store.events(case.subject)) == 3


def anothers_write_is_never_ours(trial: Trial[Record]) -> None:
    """After a lost answer the commit id tells whose version it became."""
    case = _Case(trial)
    theirs = trial.new_id()
    case.put(0, theirs)
    assert case.store.commit_id_at(case.subject, 1) == theirs
    assert case.store.commit_id_at(case.subject, 2) is None
    start: Versioned[Record] = Versioned(trial.samples[1], 0, "")
    _refused(Conflict, lambda: case.store.commit(case.subject, start, case.write(0), trial.new_id()))


def record_and_events_appear_together(trial: Trial[Record]) -> None:
    """Events are stored in order with the record that they tell of; a refused write tells nothing."""
    case = _Case(trial)
    found, first, last = case.store.read(case.subject), trial.new_id(), trial.new_id()
    case.store.commit(case.subject, found, case.write(0, "first", "second", "third"), first)
    _refused(Conflict, lambda: case.store.commit(case.subject, found, case.write(1, "never"), trial.new_id()))
    case.put(2, last)
    told = [(e.version, e.n, e.commit_id, e.event.kind) for e in case.store.events(case.subject)]
    assert told == [
        (1, 0, first, "first"),
        (1, 1, first, "second"),
        (1, 2, first, "third"),
        (2, 0, last, "changed"),
    ]
    assert [e.version for e in case.store.events(case.subject, after=1)] == [2]


def what_cannot_be_told_is_not_written(trial: Trial[Record]) -> None:
    """If an event cannot be stored, neither is the record."""
    case = _Case(trial)
    case.put(0)
    trial.plant_event(2)
    found = case.store.read(case.subject)
    _refused(HoldfastError, lambda: case.store.commit(case.subject, found, case.write(1), trial.new_id()))
    assert case.store.read(case.subject).value == trial.samples[0]


def many_events_fit_one_commit(trial: Trial[Record]) -> None:
    """Ninety-nine events go into one commit, and come back in order."""
    case = _Case(trial)
    kinds = [f"kind-{n}" for n in range(99)]
    case.store.commit(case.subject, case.store.read(case.subject), case.write(0, *kinds), trial.new_id())
    assert [logged.event.kind for logged in case.store.events(case.subject)] == kinds


def events_come_back_whole(trial: Trial[Record]) -> None:
    """Kind, time, about, reason and numbers are what they were."""
    case = _Case(trial)
    event = Event(
        "drained",
        1730000000.5,
        about="i-1",
        reason="ünïcode → «ok»",
        numbers={"left": 2, "share": 0.25},
        code="Why",
    )
    case.store.commit(
        case.subject, case.store.read(case.subject), Write(trial.samples[0], (event,)), trial.new_id()
    )
    (logged,) = case.store.events(case.subject)
    assert logged.event == event
    assert logged.sort_key == "000000000001#00"


def a_writer_that_knows_no_versions_is_noticed(trial: Trial[Record]) -> None:
    """If something else changed what a commit checks beside the version, the commit is refused."""
    case = _Case(trial)
    case.put(0)
    found = case.store.read(case.subject)
    if trial.guarded_attributes is not None:
        attribute, value = trial.guarded_attributes
        assert trial.stored()[attribute] != value, "the trial must change something"
        trial.plant(attribute, value)
        _refused(Conflict, lambda: case.store.commit(case.subject, found, case.write(1), trial.new_id()))
        assert trial.stored()[attribute] == value, "what the other wrote still stands"
        found = case.store.read(case.subject)
    assert case.store.commit(case.subject, found, case.write(1), trial.new_id()).version == 2


def foreign_attributes_survive(trial: Trial[Record]) -> None:
    """What a newer release wrote beside ours is still there after we write."""
    case = _Case(trial)
    case.put(0)
    trial.plant("writtenByTomorrow", "keep me")
    case.put(1)
    case.put(2)
    assert trial.stored()["writtenByTomorrow"] == "keep me"
    assert case.store.read(case.subject).value == trial.samples[2]


def a_record_without_a_version_is_a_start(trial: Trial[Record]) -> None:
    """A record written by something that knows no versions is read, continued and versioned."""
    case = _Case(trial)
    case.put(0)
    trial.unversion()
    found = case.store.read(case.subject)
    assert (found.value, found.version) == (trial.samples[0], 0)
    assert case.put(1).version == 1
    assert case.store.read(case.subject).version == 1


def a_lost_record_goes_on_where_its_log_ends(trial: Trial[Record]) -> None:
    """If the record is gone and its log is not, versions go on: nothing in the log is overwritten."""
    case, ids = _Case(trial), [trial.new_id() for _ in range(3)]
    case.put(0, ids[0])
    case.put(1, ids[1])
    trial.lose_record()
    assert case.store.read(case.subject).version == 2
    assert case.put(2, ids[2]).version == 3
    assert [logged.commit_id for logged in case.store.events(case.subject)] == ids


def absurd_values_are_named_and_left_alone(trial: Trial[Record]) -> None:
    """A stored value that makes no sense is reported by key and attribute; nothing is overwritten."""
    case = _Case(trial)
    case.put(0)
    for attribute, value in trial.absurdities:
        good = trial.stored()[attribute]
        trial.plant(attribute, value)
        before = trial.stored()
        error = _refused(Corrupt, lambda: case.store.read(case.subject))
        assert attribute in str(error), f"{error} does not name {attribute}"
        assert case.subject in str(error), f"{error} does not name the key"
        assert trial.stored() == before or value != value  # NaN is not even equal to itself
        trial.plant(attribute, good)
    assert case.store.read(case.subject).value == trial.samples[0]


def _refused(kind: type[HoldfastError], call: Callable[[], object]) -> HoldfastError:
    try:
        answer = call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was expected, got {answer}")


PROMISES: tuple[Callable[[Trial[Any]], None], ...] = (
    nothing_stored_is_the_start,
    a_commit_is_read_back_at_once,
    a_stale_version_is_refused,
    racers_have_one_winner,
    a_repeated_commit_is_done_once,
    a_late_repeat_knows_its_own,
    anothers_write_is_never_ours,
    record_and_events_appear_together,
    what_cannot_be_told_is_not_written,
    many_events_fit_one_commit,
    events_come_back_whole,
    a_writer_that_knows_no_versions_is_noticed,
    foreign_attributes_survive,
    a_record_without_a_version_is_a_start,
    a_lost_record_goes_on_where_its_log_ends,
    absurd_values_are_named_and_left_alone,
)
