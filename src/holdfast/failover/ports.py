"""What failover needs from outside, in its own words.

Each effect names its fence: (a) idempotency key, (b) irrevocable with durable intent,
(c) server-side precondition, (d) self-fencing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from holdfast.cloud.machines import Instance
from holdfast.failover.group import Group
from holdfast.failover.roles import Status
from holdfast.kernel import Repository, Versioned, Write


@dataclass(frozen=True, slots=True)
class Launch:
    """Start the machine of a launch intent; the answer is a Launched or a NotLaunched.

    Twice is once.  Fence (a): the token is the idempotency key of this attempt, written with the
    intent before; a late first call of a token that was given up starts a machine that no record
    names, which is never enabled and is ended by the sweep.
    """

    replica_id: str
    token: str
    pool: str
    market: str
    template_version: str
    subject: str


@dataclass(frozen=True, slots=True)
class Terminate:
    """End a machine.

    Twice is once: a machine that is gone stays gone.  Fence (b): only a member that is condemned in the
    record, or a stray that was written down, is named, and neither is ever taken back.
    """

    instance_id: str


Effect = Launch | Terminate


@dataclass(frozen=True, slots=True)
class Launched:
    instance_id: str
    instance_type: str = ""
    az: str = ""


@dataclass(frozen=True, slots=True)
class NotLaunched:
    """The cloud refused: this attempt never became a machine."""

    code: str
    reason: str


class Machines(Protocol):
    """The cloud's machines, as failover uses them."""

    def launch(self, effect: Launch) -> Launched | NotLaunched:
        """Start one machine: each effect says what a second call does."""
        ...

    def terminate(self, effect: Terminate) -> None:
        """End one machine: each effect says what a second call does."""
        ...

    def instances(self, subject: str) -> Sequence[Instance]:
        """All that carry the group's tag, gone ones among them for as long as the cloud shows them.

        Repeatable.  Raises Busy or Unknown; never an incomplete list.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What an agent says of itself in a heartbeat; stored as it came."""

    status: str = "running"
    """running, or stopping: it asks to be relieved."""
    hook_goal: str = ""
    """What the newest hook was run for: follow, promote, demote or stop."""
    hook_epoch: int = 0
    hook_state: str = "none"
    """none, running, done or failed."""
    hook_output: str = ""
    position: str = ""
    """How far its copy has come, in the words of the hook `sync-status`."""
    lag_s: float | None = None
    sync_age_s: float | None = None
    """How old its sync report was when it sent the heartbeat; None if there never was one."""
    sync_epoch: int = 0
    """The epoch of the primary that it follows."""
    healthy: bool | None = None
    """None: not asked yet."""
    health_reason: str = ""
    highest_epoch: int = 0
    """The highest that it ever heard of, from its disk."""
    served_epoch: int = 0
    """The last one under which it served."""
    watchdog_ok: bool = True
    address: str = ""


@dataclass(frozen=True, slots=True)
class Term:
    """How long a lease is: for the agent that serves under it, and for servers that wait for its end."""

    granted_s: float
    clock_rate_margin: float = 0.01
    """How much slower than the database's clock an agent's may run."""

    @property
    def kept_s(self) -> float:
        """The database keeps a lease for longer than an agent counts it, however slowly that one counts."""
        return self.granted_s * (1 + self.clock_rate_margin)


@dataclass(frozen=True, slots=True)
class Beat:
    """One heartbeat."""

    client_id: str
    agent_id: str
    instance_id: str
    session: str
    epoch: int
    """The epoch that the agent asks a lease for."""
    report: Report
    withheld: bool = False
    """The server grants nothing at present: only what is reported is stored."""

    @property
    def may_be_granted(self) -> bool:
        """Without a watchdog at work there is no lease."""
        return self.report.watchdog_ok and not self.withheld


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The answer to a heartbeat, from the instance's own row after the commit."""

    instance_id: str
    known: bool
    session_ok: bool = False
    """False: the row belongs to another session.  Nothing of the heartbeat was stored."""
    epoch: int = 0
    primary: bool = False
    """It is the holder of this epoch."""
    lease_s: float = 0.0
    """Counted by the agent from the moment it *sent* the heartbeat.  0: do not serve."""
    status: Status | None = None
    goal_version: int = 0
    """The group's version: a goal that the agent got under a smaller one may be old."""
    stored: bool = True
    """False: another transaction held its row.  It is no answer: the agent asks again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceRow:
    """What stands beside the record, in the instance's own row; times by the database's clock."""

    instance_id: str
    epoch: int = 0
    is_primary: bool = False
    session: str = ""
    boot_id: str = ""
    lease_until_s: float = 0.0
    heartbeat_s: float = 0.0
    """0: never heard of."""
    report: Report = field(default_factory=Report)


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The rows of one group, in a transaction that began after the record was read."""

    now_s: float
    """The database's clock."""
    rows: tuple[InstanceRow, ...] = ()
    launches_left: int = 0
    """What is left of the client's launch budget."""
    ready_s: Mapping[str, float] = field(default_factory=dict)
    """By pool, how long a machine took from launch to ready, on average."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceSeen:
    """An instance at this moment; all ages by the database's clock."""

    lease_left_s: float = 0.0
    unleased_s: float = 0.0
    """Since its last lease ended; 0 while one runs, and where none is known of."""
    silent_s: float = float("inf")
    """Since its last heartbeat."""
    session: str = ""
    report: Report = field(default_factory=Report)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One look, taken after the record was read."""

    instances: Mapping[str, InstanceSeen] = field(default_factory=dict)
    may_judge: bool = True
    """False for a server that is young or was cut off from the database: it takes no silence for a death."""
    may_revoke: bool = True
    """False when too many primaries were revoked lately: a person is asked instead."""
    cloud: tuple[Instance, ...] | None = None
    """The group's machines as the cloud lists them; None: no machines are configured, or none were listed."""
    launches_left: int = 0
    ready_s: Mapping[str, float] = field(default_factory=dict)

    def of(self, instance_id: str) -> InstanceSeen:
        return self.instances.get(instance_id, NEVER_SEEN)


NEVER_SEEN = InstanceSeen()


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A request that was answered: the same id gets the same answer, and changes nothing."""

    client_id: str
    request_id: str
    digest: str
    """Of the request's route and body: another request under the same id is refused."""
    answer: str
    """The body of the answer, as it was sent."""
    http_status: int = 200
    at_s: float = 0.0


class GroupStore(Repository[Group], Protocol):
    """Groups by `client_id/agent_id`, and the rows under which their primaries serve."""

    def commit(
        self,
        subject: str,
        found: Versioned[Group],
        write: Write[Group],
        commit_id: str,
        request: StoredRequest | None = None,
    ) -> Versioned[Group]:
        """As every repository, and in the same transaction:

        - the row of every member gets the group's epoch and its own is_primary, which guard its lease;
          a promotion (a member becomes PROMOTING) runs the body of `promote_instance_to_primary` and is
          refused (Busy) while another instance's lease runs, unless the takeover is fenced;
        - the commit that makes a takeover fenced ends the lease of its last holder, which has stopped;
        - a member that left the record keeps its row, as terminated, and so does a launch intent;
        - a member whose row is terminated is refused (Conflict): nothing leaves that status;
        - a launch intent that is new is charged to the client's launch budget; Conflict if none is left;
        - the answered request is stored; Conflict if its id is taken by another commit;
        - the group becomes due, and its change number rises.

        The same call with the same commit id is done once.  Fence: the version.
        """
        ...

    def request(self, client_id: str, request_id: str) -> StoredRequest | None:
        """The answer that was stored under this id.  Repeatable."""
        ...

    def renew(self, beats: Sequence[Beat], term: Term) -> Sequence[Grant]:
        """Store many heartbeats in one transaction, and answer each from its own row.

        Every known row with that session gets time and report.  A lease is granted only WHERE is_primary
        AND epoch AND session hold in that very row, and the report says that a watchdog is at work.  The
        row keeps it for `term.kept_s`, the answer grants `term.granted_s`.  While the group is paused,
        both last until the end of the pause, if that is later.

        Does not change the version: renewals do not disturb a change of the group, and an ended epoch
        cannot be renewed.  Twice extends twice, which is harmless.
        """
        ...

    def look(self, subject: str) -> Look:
        """The rows beside the record, in a transaction of its own.  Repeatable."""
        ...

    def take_session(self, subject: str, instance_id: str, session: str, boot_id: str) -> float:
        """Make this session the one that is heard; the seconds that another's lease still runs otherwise.

        0: taken.  The same boot takes over at once from its own older session.  Twice is once.
        """
        ...

    def clock_s(self) -> float:
        """The database's clock: a server asks it every second, to know when it was cut off.  Repeatable."""
        ...

    def newest_heartbeat_s(self) -> float:
        """The newest heartbeat of all instances, by the database's clock; 0 if there is none.

        It falls only where heartbeats are lost, and with them leases, or where that clock stepped back.
        Repeatable.
        """
        ...

    def due(self, limit: int) -> Sequence[str]:
        """Groups that need a look: their time has come, their primary's lease is out, or they have none.

        Repeatable.
        """
        ...

    def set_due(self, subject: str, version: int, after_s: float) -> None:
        """Look at the group again after so long, unless it has changed since that version.  Twice is once."""
        ...

    def claim(self, subject: str, driver: str, for_s: float) -> bool:
        """Advisory: spares two servers the same work.  Twice by the same driver extends it."""
        ...

    def changed(self, after_n: int) -> Sequence[tuple[str, int]]:
        """Groups with a change number above this one, in order.  Repeatable."""
        ...
