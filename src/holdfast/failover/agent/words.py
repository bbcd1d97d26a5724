"""What an agent hears, and what it does: the values between the brain and its machine."""

from dataclasses import dataclass

from holdfast.failover.agent.goals import Goal, Hook
from holdfast.failover.agent.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """What the cloud says it will do to this instance."""

    kind: str
    """`rebalance`, a hint without a deadline, or `termination`."""
    action: str = ""
    """Of a termination: terminate, stop or hibernate."""
    time: str = ""
    """As the cloud wrote it."""
    deadline_s: float | None = None
    """By the agent's clock; None for a hint."""

    @property
    def key(self) -> str:
        """The same notice is read every second, and told once."""
        return f"{self.kind} {self.action} {self.time}"


# --- heard -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    enabled: bool
    goal: Goal | None = None
    heartbeat_s: float = 3.0
    term_s: float = 10.0
    serve_reads: bool = False


@dataclass(frozen=True, slots=True)
class NotRegistered:
    """No answer, or another session of this id is still served."""

    retry_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """The answer to a heartbeat."""

    sent_s: float
    """When that heartbeat was sent, by the agent's clock."""
    epoch: int
    primary: bool
    lease_s: float
    goal: Goal | None = None
    enabled: bool = True
    serve_reads: bool = False


@dataclass(frozen=True, slots=True)
class NotAnswered:
    """A heartbeat is lost: whether it was stored is unknown."""


@dataclass(frozen=True, slots=True)
class Disowned:
    """The server does not know this session: register again."""

    retry_s: float = 0.0
    """Not at once, if another process has taken this instance's place."""


@dataclass(frozen=True, slots=True)
class Told:
    """The long poll brought a goal."""

    goal: Goal


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEnded:
    hook: Hook
    run: int
    ok: bool
    output: str = ""
    position: str | None = None
    """What the hook printed as `position=…`; None if it did not."""
    lag_s: float | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """Both epochs are on disk, and will be after a crash."""

    highest: int
    served: int


@dataclass(frozen=True, slots=True)
class NotStored:
    why: str


@dataclass(frozen=True, slots=True)
class Stopped:
    """No protected process is left."""


@dataclass(frozen=True, slots=True)
class Watched:
    """Whether the watchdog counts, and can stop what it protects."""

    ok: bool


@dataclass(frozen=True, slots=True)
class Noticed:
    notice: Notice


@dataclass(frozen=True, slots=True)
class NoticeTaken:
    key: str


@dataclass(frozen=True, slots=True)
class NoticeLost:
    key: str


@dataclass(frozen=True, slots=True)
class ReleaseAsked:
    """The operator wants this agent to hand over, and to end."""


Heard = (
    Tick
    | Registered
    | NotRegistered
    | Answered
    | NotAnswered
    | Disowned
    | Told
    | HookEnded
    | Stored
    | NotStored
    | Stopped
    | Watched
    | Noticed
    | NoticeTaken
    | NoticeLost
    | ReleaseAsked
)


# --- done --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Register:
    """Ask to be known.  Twice is once: the session is the same."""


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Report, and ask for a lease of this epoch.  Twice extends twice, from its own sending each."""

    epoch: int
    report: Report


@dataclass(frozen=True, slots=True, kw_only=True)
class RunHook:
    """Run one of the user's programs.  Twice must be harmless: the user is told so."""

    hook: Hook
    run: int
    epoch: int
    primary: str = ""
    address: str = ""
    limit_s: float = 60.0
    before_s: float | None = None
    """Not to be started at this time or later: the lease under which it was asked for is over."""


@dataclass(frozen=True, slots=True)
class KillHook:
    """End the changing hook that runs, with all of its process group.  Twice is once."""


@dataclass(frozen=True, slots=True)
class StoreEpoch:
    """Write both to disk, and wait until they are there.  Twice is once."""

    highest: int
    served: int


@dataclass(frozen=True, slots=True)
class Arm:
    """From this time on the watchdog lets no protected process live.  Twice is once."""

    until_s: float
    epoch: int


@dataclass(frozen=True, slots=True)
class StopProtected:
    """Kill what is protected, now and whenever it appears, until it is disarmed.  Twice is once."""


@dataclass(frozen=True, slots=True)
class Disarm:
    """What runs serves no more, or is a standby: the watchdog lets it live.  Twice is once."""


@dataclass(frozen=True, slots=True)
class SendNotice:
    """Tell the server what the cloud announced.  Twice is once: its key is the id of the request."""

    notice: Notice


@dataclass(frozen=True, slots=True)
class Exit:
    """Nothing is left to do here."""

    why: str


Action = (
    Register | Heartbeat | RunHook | KillHook | StoreEpoch | Arm | StopProtected | Disarm | SendNotice | Exit
)
