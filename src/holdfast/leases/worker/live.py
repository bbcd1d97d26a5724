"""A live worker: it beats, watches the beats of others, votes and agrees, once a pulse.

Nothing here waits: what drives the pulses is a thread, or the simulated world.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final

from holdfast.kernel import Busy, Conflict, Do, Done, DriverPorts, Invalid, Unknown, Versioned, Wait, Workflow
from holdfast.kernel.driver import advance
from holdfast.leases import agreement, membership, rows, votes
from holdfast.leases.alarm import Alarm, leases_to_hold, unread_now
from holdfast.leases.cap import Cap, View, coordinator, refuse_reserved
from holdfast.leases.membership import Members
from holdfast.leases.ports import Effect, NotKnown, Seen, WriteRow
from holdfast.leases.rows import Rows, WorkerRow
from holdfast.leases.settings import Settings
from holdfast.leases.votes import Counting
from holdfast.leases.worker.counting import Counted, WorkerPorts, count

TURNS_MAX: Final = 12
"""A pulse ends in two turns, or three if something changed; more only where others keep changing it."""
DUE: Final = 0.9
"""Of the time between two beats: a pulse that comes a little early beats all the same."""


class Superseded(Invalid):
    """Another process has joined under this worker's id; this one must stop."""


class LiveWorker:
    def __init__(
        self,
        ports: WorkerPorts,
        settings: Settings,
        *,
        apply: Callable[[Cap], None] = lambda cap: None,
        workflow: Workflow[Cap, Seen, Effect] = agreement.WORKFLOW,
    ) -> None:
        """`apply` puts a cap into force in this process.  Raises Invalid for an id that cannot be a row's."""
        refuse_reserved(settings.worker_id)
        self.ports, self.settings, self.workflow = ports, settings, workflow
        self.incarnation = ports.new_id()
        self.found: Versioned[Cap] | None = None
        """The agreed record, as it was read last."""
        self.row: WorkerRow | None = None
        """This worker's row as it stands; None before it has joined."""
        self.counted: Counted | None = None
        self.told: int | None = None
        """What its KCL was told, for the row."""
        self.holds: int | None = None
        """How many leases it holds, where its own consumer knows; else the lease table is asked."""
        self.problems: tuple[str, ...] = ()
        """What is wrong and stops nothing: rows that make no sense, counts that could not be had."""
        self._apply = apply
        self._members, self._counting, self._alarm = Members(), Counting(), Alarm()
        self._began_s = ports.mono_s()
        self._counted_s: float | None = None
        self._beat_s: float | None = None
        self._beats, self._refused = 0, False
        self._key = ""
        self._uncounted: tuple[str, ...] = ()
        self._votes: dict[str, tuple[str, View, int]] = {}
        self._failed: Busy | Unknown | None = None
        self._driver = DriverPorts.on(
            ports.store,
            coordinator(settings.app_name),
            look=self._look,
            perform=self._write,
            clock=ports.clock,
            new_id=ports.new_id,
            random=ports.random,
        )
        self._driver = replace(self._driver, read=self._read)

    @property
    def living(self) -> tuple[WorkerRow, ...]:
        """The rows of all that are alive, this one among them."""
        others = self._members.living(self.settings.member_ttl_s)
        own = (self.row,) if self.row else ()
        return (*own, *(row for key, row in others.items() if key != self._key))

    def pulse(self) -> None:
        """Look, vote, agree, beat.  Raises Superseded, or Busy or Unknown if this pulse was in vain."""
        for _ in range(TURNS_MAX):
            self._failed = None
            try:
                ahead = advance(self._driver, self.workflow)
            except Conflict:
                continue  # another was faster: read again, decide again
            if self._failed is not None:
                raise self._failed
            if isinstance(ahead, Wait | Done):
                return
            quiet = isinstance(ahead, Do) and not any(effect.news for effect in ahead.effects)
            if quiet and not self._refused:
                return

    def leave(self) -> None:
        """Delete this worker's row: others need not wait until it is dead.  Twice is once."""
        if self.row is not None:
            with suppress(Conflict):  # another process has the id now, and its row stays
                self.ports.store.delete_row(self.row)
            self.row = None

    def _read(self) -> Versioned[Cap]:
        self.found = self.ports.store.read(coordinator(self.settings.app_name))
        return self.found

    def _look(self) -> Seen:
        settings, mono_s = self.settings, self.ports.mono_s()
        found = self.found
        assert found is not None
        table = self.ports.store.rows()
        own = self._own(table)
        self._members = membership.look(
            self._members, table.own, self.ports.mono_s(), gap_max_s=2 * settings.heartbeat_s
        )
        problems = [*table.problems, *self._count(mono_s)]
        self.problems = tuple(problems)
        others = tuple(row for row in self.living if row.key != self._key)
        counting = votes.gather(
            self._counting, len(others) + 1, mono_s - self._began_s, join_grace_s=settings.join_grace_s
        )
        self._counting = counting
        holds = self.holds
        if holds is None and self.counted is not None and self.counted.lease_table.rows:
            holds = self.counted.lease_table.holds.get(settings.worker_id, 0)
        votes_now = {row.key: (row.incarnation, row.view, row.agreement) for row in others}
        steady, self._votes = votes_now == self._votes, votes_now
        seen = Seen(
            key=self._key,
            incarnation=self.incarnation,
            vote=votes.vote(counting, len(others) + 1, settings.max_leases_limit),
            row=own,
            beats=self._beats,
            others=others,
            steady=steady,
            due=self._beat_s is None or mono_s - self._beat_s >= DUE * settings.heartbeat_s,
            holds=holds,
            told=self.told,
            version=found.version,
            commit_id=found.commit_id,
        )
        return self._with_alarm(seen, found.value, mono_s)

    def _own(self, table: Rows) -> WorkerRow | None:
        """This worker's row as it stands; raises Superseded if it is another process's by now.

        A scan may be old, so it takes a refused beat as well to believe that.
        """
        who = {"app_name": self.settings.app_name, "stream_name": self.settings.stream_name}
        rows.refuse_foreign(table, table=self.settings.meta_table_name, **who)
        if self.row is None:
            self._key = rows.own_key(table, self.settings.app_name, self.settings.worker_id)
        stands = table.own.get(self._key)
        if stands is None or stands.incarnation == self.incarnation or self.row is None:
            return stands
        if not self._refused:
            self._beat_s = None
            return self.row
        self.row = None
        raise Superseded(
            f"worker_id {self.settings.worker_id!r}: another process has joined under this id, and the "
            "newer one stays: give every worker an id of its own"
        )

    def _count(self, mono_s: float) -> tuple[str, ...]:
        """Count if it is time; what could not be counted stays as it was."""
        if self._counted_s is not None and mono_s - self._counted_s < self.settings.count_s:
            return self._uncounted
        self._counted_s = mono_s
        try:
            self.counted = count(self.ports)
        except Busy as busy:
            return self._told_of_counting(str(busy))
        except Invalid as invalid:
            if self._counting.shards is None:
                raise  # it has never worked, and will not by itself
            return self._told_of_counting(str(invalid))
        counting = votes.count_shards(
            self._counting, self.counted.shards, mono_s, apart_s=self.settings.fewer_shards_s
        )
        expected = self.counted.expected
        if isinstance(expected, NotKnown):
            self._counting = counting  # what was known before stays: an error is not another number
            return self._told_of_counting(expected.why)
        self._counting = replace(counting, expected=expected)
        return self._told_of_counting()

    def _told_of_counting(self, *problems: str) -> tuple[str, ...]:
        self._uncounted = problems
        return problems

    def _with_alarm(self, seen: Seen, cap: Cap, mono_s: float) -> Seen:
        """Once the expected workers came, or did not: whether shards stay unread."""
        gathered = self._counting.gathered or self._counting.expected is None
        if cap.view is None or seen.row is None or not gathered:
            return seen
        living = (seen.row, *seen.others)
        lease_rows = self.counted.lease_table.rows if self.counted else 0
        self._alarm = self._alarm.seen(unread_now(cap.view, lease_rows, living), mono_s)
        lasted = self._alarm.lasted_s(mono_s) >= self.settings.member_ttl_s
        return replace(
            seen,
            unread=self._alarm.unread if lasted else None,
            leases=leases_to_hold(cap.view.shards, lease_rows, living),
        )

    def _write(self, effect: WriteRow) -> None:
        """The cap is in force before the row says so."""
        assert self.found is not None
        self._apply(self.found.value)
        self._beats += 1
        try:
            self.ports.store.write_row(effect, self.ports.clock.now_s())
        except Conflict:
            self._refused = True
            raise
        except (Busy, Unknown) as error:
            self._failed = error
            raise
        self.row, self._beat_s, self._refused = effect.row, self.ports.mono_s(), False
