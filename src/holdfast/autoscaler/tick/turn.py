"""A shell: one tick in progress, turn by turn."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from holdfast.autoscaler import identity, lock
from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.decide import Hold
from holdfast.autoscaler.execute import Executor, drains, pause_s
from holdfast.autoscaler.ports import Effect
from holdfast.autoscaler.reasons import TickOutcome
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.restored import read_on
from holdfast.autoscaler.result import TickResult
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.snapshot.build import build
from holdfast.autoscaler.workflow import Ahead, conclude, workflow
from holdfast.cloud.kubernetes import instance_id_of
from holdfast.kernel import (
    Busy,
    Conflict,
    Do,
    Done,
    DriverPorts,
    Unknown,
    Versioned,
    Wait,
    Workflow,
    Write,
    advance,
)

if TYPE_CHECKING:
    from holdfast.autoscaler.tick import Autoscaler

TROUBLES_MAX: Final = 6
"""So often in a row may the store or the world be busy before a tick leaves it to the next one."""
CONFLICTS_MAX: Final = 12
"""So often in a row may a commit be refused before a tick says that it gets nothing done."""


class Turn:
    """One tick in progress."""

    def __init__(
        self, autoscaler: "Autoscaler", owner: str, until_s: float, told: Callable[[str], None]
    ) -> None:
        self._auto, self._owner, self._until_s, self._told = autoscaler, owner, until_s, told
        a = autoscaler
        self._executor = Executor(a.settings, a.cloud, a.kubernetes, a.inbox, a.clock, a.together)
        self._ports: DriverPorts[Cluster, Snapshot, Effect] = DriverPorts(
            read=self._read,
            look=self._look,
            commit=self._commit,
            commit_id_at=lambda version: a.store.commit_id_at(SUBJECT, version),
            perform=self._executor.perform,
            now_s=a.clock.now_s,
            pause=a.clock.sleep,
            new_id=a.new_id,
            random=a.random,
        )
        locked = lock.locked(workflow(a.settings), owner=owner, ttl_s=a.settings.lock_ttl_s)
        self._workflow: Workflow[Cluster, Snapshot, Effect] = replace(locked, step=self._step)
        self._locked_step = locked.step
        self._stepped: Ahead | None = None
        """What the last step asked for."""
        self._steps: list[str] = []
        self._last_told: tuple[str, ...] = ()
        self._done = 0
        """Commits that were made."""
        self._conflicts = self._in_a_row = 0
        self.held = False
        """Whether the lock was ours at some time during this tick."""
        self.known_notices: frozenset[str] = frozenset()
        """The notices that the last look knew."""
        self._known = Cluster()
        self._version = 0
        """Of the record, as it was last read."""
        self._snapshot: Snapshot | None = None
        self._watched = False
        """Whether the last look rests on what was watched."""
        self._follows = False
        """Whether the next step follows a commit of this turn."""

    def run(self) -> TickResult:
        troubles, trouble, rounds = 0, "no time was left to begin with", 0
        while not self.is_late():
            told = self._done
            try:
                ahead = advance(self._ports, self._workflow)
            except Conflict as error:
                trouble = str(error)
                if self._lost_race(told):
                    continue
                return self.ended(TickOutcome.BUSY, f"{CONFLICTS_MAX} commits in a row were refused: {error}")
            except (Busy, Unknown) as error:
                troubles, trouble = troubles + 1, str(error)
                if troubles >= TROUBLES_MAX:
                    return self.ended(TickOutcome.BUSY, str(error))
                self._rest(0.5 * 2**troubles * (0.5 + self._auto.random()))
                continue
            troubles, trouble, self._in_a_row = 0, "", 0
            if isinstance(ahead, Done):
                return self._idle()
            if isinstance(ahead, Wait):
                return self.ended(TickOutcome.WAITING, ahead.why, ahead.until_s)
            if isinstance(ahead, Do):
                self._tell(ahead)
                rounds = 1 if self._done > told else rounds + 1
                if (self._done == told or drains(ahead.effects)) and not self._pause(ahead.effects, rounds):
                    break
        # Time that was spent on calls that fail is no work: the operator must hear of it.
        if trouble:
            return self.ended(TickOutcome.BUSY, trouble)
        return self.ended(TickOutcome.OUT_OF_TIME, "the next tick goes on")

    def _lost_race(self, done_before: int) -> bool:
        """Count it, and give way for a while.  False: so many in a row are no race, or none that we win."""
        self._conflicts += 1
        self._in_a_row = self._in_a_row + 1 if self._done == done_before else 1
        if self._in_a_row > 1:
            self._rest(min(0.1 * 2**self._in_a_row, 5.0) * (0.5 + self._auto.random()))
        return self._in_a_row < CONFLICTS_MAX

    def take_lock(self) -> str:
        """Before the first look: of many that were called at once, one works.  Who has it, if not we."""
        a = self._auto
        for _ in range(TROUBLES_MAX):
            found = self._found()
            now_s, ttl_s = a.clock.now_s(), a.settings.lock_ttl_s
            if lock.is_held(found.value, self._owner, now_s, ttl_s=ttl_s, urgent=True):
                return found.value.lock.owner
            try:
                a.store.commit(SUBJECT, found, lock.take(found.value, self._owner, now_s, ttl_s), a.new_id())
            except Conflict:
                continue
            except (Busy, Unknown):
                self._rest(0.2 + a.random())
                continue
            self.held = True
            return ""
        return "others"

    def release_lock(self) -> None:
        """Best effort: a lock that is not given back runs out."""
        a = self._auto
        if not self.held:
            return
        try:
            found = a.store.read(SUBJECT)
            write = lock.release(found.value, self._owner, a.clock.now_s())
            if write is not None:
                a.store.commit(SUBJECT, found, write, a.new_id())
        except (Conflict, Busy, Unknown):
            pass

    def is_late(self) -> bool:
        return self._auto.clock.now_s() >= self._until_s

    def _idle(self) -> TickResult:
        """Nothing is left to do: say why nothing is begun, with the figures of now."""
        assert self._snapshot is not None
        a = self._auto
        if refusal := identity.refusal(self._known, self._snapshot.cluster_uid):
            return self.ended(TickOutcome.REFUSED, refusal)
        decision = conclude(self._known, self._snapshot, a.settings, a.clock.now_s())
        due_s = decision.until_s if isinstance(decision, Hold) else 0.0
        return self.ended(TickOutcome.IDLE, decision.why, due_s, code=decision.code)

    def ended(self, outcome: TickOutcome, why: str, retry_at_s: float = 0.0, *, code: str = "") -> TickResult:
        seen_problems = self._snapshot.problems if self._snapshot else ()
        problems = tuple(dict.fromkeys((*self._executor.problems, *seen_problems)))
        seen = (self._known, self._snapshot) if self._snapshot else (None, None)
        steps = tuple(self._steps)
        return TickResult(outcome, why, code, steps, retry_at_s, problems, self._conflicts, *seen)

    def _read(self) -> Versioned[Cluster]:
        asked_s = self._auto.clock.now_s()  # before: a process that sleeps over the answer has an old record
        found = self._found()
        self._executor.read_s = asked_s
        self._known, self._version, self._follows = found.value, found.version, False
        self.held = self.held or found.value.lock.owner == self._owner
        return found

    def _found(self) -> Versioned[Cluster]:
        a = self._auto
        found, problem = read_on(a.store, a.clock.now_s(), a.new_id)
        if problem:
            self._executor.problems.append(problem)
        return found

    def _step(self, cluster: Cluster, snapshot: Snapshot, now_s: float) -> Ahead:
        """On the newest look of this turn: what must not rest on a picture is looked at anew."""
        self._stepped = self._locked_step(cluster, self._snapshot or snapshot, now_s)
        if self._follows and isinstance(self._stepped, Do):
            return self._stepped  # the driver ends the turn here, if a look is needed: rule 5
        if self._watched and self._needs_lists(cluster, self._stepped):
            seen = self._look(anew=True)
            self._stepped = self._locked_step(cluster, seen, self._auto.clock.now_s())
        return self._stepped

    def _commit(self, found: Versioned[Cluster], write: Write[Cluster], commit_id: str) -> Versioned[Cluster]:
        done = self._auto.store.commit(SUBJECT, found, write, commit_id)
        self._done += 1
        self._known, self._follows = done.value, True
        self.held = self.held or done.value.lock.owner == self._owner
        if write is self._stepped:
            self._tell(write)
        if self._snapshot is not None:
            self._executor.announce(write.events, self._snapshot)
        return done

    def _needs_lists(self, cluster: Cluster, ahead: Ahead) -> bool:
        from holdfast.autoscaler.watch.anew import must_look_anew  # a function watches nothing

        return must_look_anew(cluster, ahead)

    def _look(self, *, anew: bool = False) -> Snapshot:
        a = self._auto
        picture = None if anew or a.picture is None else a.picture.current(self._version)
        self._watched = picture is not None
        listings = a.look(self._owner, self._known, picture)
        self._executor.names = {instance_id_of(node): node.metadata.name for node in listings.nodes}
        self._executor.budgets = listings.budgets
        self.known_notices = frozenset(notice.key for notice in listings.notices)
        self._snapshot = build(listings)
        return self._snapshot

    def _tell(self, ahead: Write[Cluster] | Do[Effect]) -> None:
        from holdfast.autoscaler.report.preview import in_words  # an idle tick has nothing to tell

        steps = in_words(ahead)
        if steps == self._last_told:
            return  # another round of the same drain
        self._last_told = steps
        for step in steps:
            self._steps.append(step)
            self._told(step)

    def _pause(self, effects: Sequence[Effect], rounds: int) -> bool:
        """Between two rounds.  False: it is time to end."""
        a = self._auto
        seconds = pause_s(effects, a.settings.after_cordon_s, rounds)
        if a.pause is not None:
            return a.pause(self._time_left_s(seconds), drains(effects))
        self._rest(seconds)
        return True

    def _rest(self, seconds: float) -> None:
        self._auto.clock.sleep(self._time_left_s(seconds))

    def _time_left_s(self, wanted_s: float) -> float:
        return max(0.0, min(wanted_s, self._until_s - self._auto.clock.now_s()))
