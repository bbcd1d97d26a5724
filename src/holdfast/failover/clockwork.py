"""The database's time through our own clock, and who may be judged by it.

Rule 1: `boot_s` is CLOCK_BOOTTIME of the server: it never steps, and goes on during suspend.
Rule 2: over the last lease time the database's clock is believed to have run no faster than ours: if it steps
        forward, leases last as long as they were granted for (H21).
Rule 3: a lease that has more than one lease time left was stored before the clock stepped back: it lasts one
        lease time from when it was first seen (H21).
Rule 4: a server that is young, or was cut off from the database, takes no silence for a death until it has
        seen the database for one lease time (H22); nor does one that grants no leases, for as long after it;
        and no more than some primaries are revoked within a minute, else an operator is asked.
Rule 5: a database whose newest heartbeat is older than before has lost leases, though perhaps no change of a
        record: it is a copy that was behind, or a backup.  Each lease lasts one lease time from then (H30).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from holdfast.failover.ports import InstanceSeen, Look, Term


@dataclass(frozen=True, slots=True)
class Clockwork:
    """What one server knows of the database's time.  A value: each reading makes the next one."""

    term: Term
    judges_from_s: float
    """By `boot_s`: before that, no silence is judged."""
    heard_s: float
    """The newest answer of the database."""
    offsets: tuple[tuple[float, float], ...] = ()
    """`boot_s` of a reading, and how far the database's clock was ahead of ours: while they may count."""
    newest_s: float = 0.0
    """The newest heartbeat of all, as the database showed it last."""
    lost_s: float = float("-inf")
    """`boot_s` of when it was found to have lost heartbeats."""
    long: Mapping[tuple[str, str], tuple[float, float]] = field(default_factory=dict)
    """By group and instance, a lease that is too long to be true, and `boot_s` of when it was first seen."""

    @classmethod
    def begun(cls, term: Term, boot_s: float) -> "Clockwork":
        return cls(term, judges_from_s=boot_s + term.kept_s, heard_s=boot_s)

    @property
    def gap_s(self) -> float:
        """Longer without the database, and agents may not have been able to renew their leases."""
        return self.term.granted_s / 2

    def heard(self, boot_s: float, database_s: float) -> "Clockwork":
        """The database answered at `boot_s`, and its clock showed `database_s`."""
        cut_off = boot_s - self.heard_s > self.gap_s
        judges_from_s = boot_s + self.term.kept_s if cut_off else self.judges_from_s
        offset = database_s - boot_s
        oldest_s = boot_s - self.term.kept_s
        still = tuple((at_s, ahead) for at_s, ahead in self.offsets if at_s >= oldest_s and ahead < offset)
        return replace(self, judges_from_s=judges_from_s, heard_s=boot_s, offsets=(*still, (boot_s, offset)))

    def withheld(self, boot_s: float) -> "Clockwork":
        """No lease was granted until `boot_s`: that one is out tells nothing before a whole lease time."""
        return replace(self, judges_from_s=boot_s + self.term.kept_s)

    def beaten(self, boot_s: float, newest_s: float) -> "Clockwork":
        """The database shows its newest heartbeat, of all groups."""
        lost_s = boot_s if newest_s < self.newest_s else self.lost_s
        return replace(self, newest_s=newest_s, lost_s=lost_s)

    def now_s(self, boot_s: float) -> float:
        """The database's time, believed to run no faster than ours over the last lease time."""
        return boot_s + (self.offsets[0][1] if self.offsets else 0.0)

    def may_judge(self, boot_s: float) -> bool:
        return boot_s >= self.judges_from_s and boot_s - self.heard_s <= self.gap_s

    def seen(
        self, subject: str, look: Look, boot_s: float, long_until_s: float = 0.0
    ) -> tuple["Clockwork", Mapping[str, InstanceSeen]]:
        """The rows of a look as ages.  `long_until_s`: until then a lease of a pause may last."""
        now_s = self.now_s(boot_s)
        longest_s = max(self.term.kept_s, long_until_s - now_s)
        long = dict(self.long)
        instances = {}
        for row in look.rows:
            key = subject, row.instance_id
            left_s = row.lease_until_s - now_s
            if left_s > longest_s:
                until_s, first_s = long.get(key, (0.0, 0.0))
                if until_s != row.lease_until_s:
                    first_s = boot_s
                    long[key] = (row.lease_until_s, boot_s)
                left_s = longest_s - (boot_s - first_s)
            else:
                long.pop(key, None)
            if row.lease_until_s:
                left_s = max(left_s, self.term.kept_s - (boot_s - self.lost_s))
            instances[row.instance_id] = InstanceSeen(
                lease_left_s=max(0.0, left_s),
                unleased_s=max(0.0, -left_s) if row.lease_until_s else 0.0,
                silent_s=max(0.0, now_s - row.heartbeat_s) if row.heartbeat_s else float("inf"),
                session=row.session,
                report=row.report,
            )
        return replace(self, long=long), instances


@dataclass(frozen=True, slots=True)
class Revocations:
    """The groups whose primaries this server has judged by their silence and revoked within a minute.

    One that is lost again and again is a trouble of its own, and none of the fleet: it counts once, and not
    for itself.
    """

    share: float = 0.1
    """Of all groups."""
    at_least: int = 10
    window_s: float = 60.0
    at_s: Mapping[str, float] = field(default_factory=dict)

    def noted(self, boot_s: float, subject: str) -> "Revocations":
        recent = {other: at_s for other, at_s in self.at_s.items() if at_s > boot_s - self.window_s}
        return replace(self, at_s={**recent, subject: boot_s})

    def may(self, boot_s: float, groups: int, subject: str) -> bool:
        recent = [other for other, at_s in self.at_s.items() if at_s > boot_s - self.window_s]
        return sum(other != subject for other in recent) < max(self.at_least, int(self.share * groups))
