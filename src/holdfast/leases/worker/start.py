"""A worker that agrees once, when it starts: `InitializeMaxLeasesPerWorker` of the seed.

Who loses a create or an update reads again and decides again.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from holdfast.kernel import (
    Busy,
    Conflict,
    DriverPorts,
    Invalid,
    Unknown,
    Versioned,
    Wait,
    Workflow,
    Write,
)
from holdfast.kernel.driver import advance
from holdfast.leases import rows, starting
from holdfast.leases.cap import Cap, View, coordinator, refuse_reserved
from holdfast.leases.ports import Effect, NotKnown, Seen, WriteRow
from holdfast.leases.rows import Rows
from holdfast.leases.settings import Settings
from holdfast.leases.worker import log_lines
from holdfast.leases.worker.counting import Counted, WorkerPorts, count
from holdfast.leases.worker.log_lines import LogLine

TRIES_MAX: Final = 30
PAUSE_FIRST_S: Final = 0.05
PAUSE_MAX_S: Final = 2.0


class StartWorker:
    def __init__(
        self,
        ports: WorkerPorts,
        settings: Settings,
        *,
        say: Callable[[LogLine], None] = lambda line: None,
        workflow: Workflow[Cap, Seen, Effect] = starting.WORKFLOW,
    ) -> None:
        """Raises Invalid for a worker id that cannot be a row's."""
        refuse_reserved(settings.worker_id)
        self.ports, self.settings, self.say, self.workflow = ports, settings, say, workflow
        self.counted: Counted | None = None
        self.problems: tuple[str, ...] = ()
        """Rows that make no sense, and stop nothing."""
        self._found: Versioned[Cap] | None = None
        self._table: Rows | None = None
        """Looked at once: a row that comes meanwhile makes our own write a Conflict."""
        self._said: View | None = None
        self._saved = self._settled = False
        driver = DriverPorts.on(
            ports.store,
            coordinator(settings.app_name),
            look=self._look,
            perform=self._write,
            clock=ports.clock,
            new_id=ports.new_id,
            random=ports.random,
        )
        self._driver = replace(driver, read=self._read, commit=self._commit)

    def run(self) -> Cap:
        """What is agreed, once this worker's row says so too.

        Raises Invalid with the fix if it can never be, and Busy if it could not be in so many tries.
        """
        settings, pause_s = self.settings, PAUSE_FIRST_S
        self.say(log_lines.initializing(settings.stream_name, settings.app_name, settings.worker_id))
        last: Busy | Unknown | Conflict = Busy("it was never tried")
        for _ in range(TRIES_MAX):
            try:
                ahead = advance(self._driver, self.workflow)
            except Conflict as conflict:
                last = conflict
                continue
            except (Busy, Unknown) as error:
                last = error
                # Those who collided must not meet again.
                self.ports.clock.sleep(pause_s * (1 + self.ports.random()) / 2)
                pause_s = min(2 * pause_s, PAUSE_MAX_S)
                continue
            if isinstance(ahead, Wait):
                raise self._unknown(ahead)
            if self._saved:
                return self._done()
        raise Busy(
            f"{settings.app_name}: the cap could not be agreed on in {TRIES_MAX} tries: {last}; "
            "start the worker again, and if that lasts, look at the limits of the stream and of the table"
        )

    def _done(self) -> Cap:
        assert self._found is not None
        assert self._found.value.view is not None
        self.say(log_lines.initialized(self._found.value.view))
        return self._found.value

    def _unknown(self, ahead: Wait) -> Invalid:
        expected = self.counted.expected if self.counted else None
        return Invalid(f"{ahead.why}: {expected.why}" if isinstance(expected, NotKnown) else ahead.why)

    def _read(self) -> Versioned[Cap]:
        self._found = self.ports.store.read(coordinator(self.settings.app_name))
        return self._found

    def _look(self) -> Seen:
        assert self._found is not None
        settings = self.settings
        if self.counted is None or not self._settled:
            self.counted = count(self.ports)
        table = self._table = self._table or self.ports.store.rows()
        who = {"app_name": settings.app_name, "stream_name": settings.stream_name}
        rows.refuse_foreign(table, table=settings.meta_table_name, **who)
        self.problems = table.problems
        key = rows.own_key(table, settings.app_name, settings.worker_id)
        vote = self._vote(self.counted)
        seen = Seen(
            key=key,
            incarnation="",
            vote=vote,
            row=table.own.get(key),
            others=tuple(row for other, row in table.own.items() if other != key),
            due=not self._saved,
            version=self._found.version,
            commit_id=self._found.commit_id,
        )
        self._told(seen, self._found.value)
        return seen

    def _vote(self, counted: Counted) -> View | None:
        if isinstance(counted.expected, NotKnown):
            return None
        return View(counted.shards, counted.expected, self.settings.max_leases_limit)

    def _told(self, seen: Seen, cap: Cap) -> None:
        """The seed's lines, each when what it says has become true."""
        if seen.vote is not None and seen.vote != self._said:
            self._said = seen.vote
            self.say(log_lines.retrieved(seen.vote))
        if not self._settled and cap.view is not None and starting.next_view(cap, seen) is None:
            self.say(log_lines.unchanged(cap.view))
            self._settled = True

    def _commit(self, found: Versioned[Cap], write: Write[Cap], commit_id: str) -> Versioned[Cap]:
        old, new = found.value.view, write.value.view
        assert new is not None
        if old is not None:
            self.say(log_lines.detected(found.value, old, new))
        self.say(log_lines.calculated(new))
        subject = coordinator(self.settings.app_name)
        try:
            done = self.ports.store.commit(subject, found, write, commit_id)
        except Conflict:
            self.say(log_lines.overtaken())
            raise
        self.say(log_lines.updated(self.settings.app_name, new))
        self._settled = True
        return done

    def _write(self, effect: WriteRow) -> None:
        try:
            self.ports.store.write_row(effect, self.ports.clock.now_s())
        except (Conflict, Unknown):
            self._table = None
            raise
        self._saved = True
