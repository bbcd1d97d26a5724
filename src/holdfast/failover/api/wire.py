"""What is sent and answered, field by field.

Unknown fields are refused: a misspelt one must not be ignored in silence.  Ids have one shape on every
route, because databases disagree on which names are alike (case, trailing blanks, length).
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from holdfast.failover.group import ID_SHAPE

ID_PATTERN = r"^[A-Za-z0-9._:-]{1,64}$"
END = r"\Z"
TEXT_MAX, OUTPUT_MAX = 512, 4_096
NUMBER_END = 2**53
"""From here on numbers in JSON are no longer exact."""

Id = Annotated[
    str,
    Meta(
        pattern=ID_PATTERN.replace("$", END),  # Python's `$` lets a line's end follow, JSON Schema's does not
        description=ID_SHAPE,
    ),
]
Text = Annotated[str, Meta(max_length=TEXT_MAX)]
Output = Annotated[str, Meta(max_length=OUTPUT_MAX)]
Count = Annotated[int, Meta(ge=0, le=NUMBER_END)]
Seconds = Annotated[float, Meta(ge=0, le=10 * 365 * 86_400)]
Lifetime = Annotated[float, Meta(ge=1, le=10 * 365 * 86_400)]
"""Of a token: one that has expired when it is shown opens nothing."""
Priority = Annotated[int, Meta(ge=0, le=1_000)]
Mode = Literal["auto_switch", "manual_replica", "off"]


def fix(says: str) -> str:
    """What the decoder expects, as a request to the caller."""
    plain = says.replace("`", "").replace(" | null", "")
    plain = plain.replace("Number out of range", "give a finite number")
    return plain.replace("Expected ", "give ").replace(", got ", ", not ")


class Request(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A body that an operation takes."""


class Register(Request):
    agent_id: Id
    instance_id: Id
    session: Id
    boot_id: Id
    highest_epoch: Count = 0
    served_epoch: Count = 0
    instance_type: Text = ""
    region: Text = ""
    az: Text = ""
    address: Text = ""
    priority: Priority = 100
    never_promote: bool = False
    is_primary: bool = False
    """Taken, and grants nothing: a role is given by the group's rules alone."""


class Report(Request):
    """How the instance is doing, by its own account."""

    status: Literal["running", "stopping"] = "running"
    hook_goal: Literal["", "follow", "promote", "serve", "demote", "stop"] = ""
    hook_epoch: Count = 0
    hook_state: Literal["none", "running", "done", "failed"] = "none"
    hook_output: Output = ""
    position: Text = ""
    lag_s: Seconds | None = None
    sync_age_s: Seconds | None = None
    sync_epoch: Count = 0
    healthy: bool | None = None
    health_reason: Text = ""
    highest_epoch: Count = 0
    served_epoch: Count = 0
    watchdog_ok: bool = False
    address: Text = ""


class Heartbeat(Request):
    instance_id: Id
    session: Id
    epoch: Count
    report: Report = msgspec.field(default_factory=Report)


class RebalanceNotice(Request):
    instance_id: Id
    session: Id
    notice_time: Text = ""
    """When AWS noticed it, as IMDS says it.  A hint has no deadline."""


class TerminationNotice(Request):
    instance_id: Id
    session: Id
    action: Literal["terminate", "stop", "hibernate"] = "terminate"
    deadline_in_s: Seconds = 100.0
    """How long the instance may still work, by its own clock."""


class NewClient(Request):
    client_id: Id
    name: Text = ""
    launches_per_hour_max: Count = 20
    requests_per_second_max: Count = 200


class NewToken(Request):
    expires_in_s: Lifetime = 365 * 86_400.0


class NewAgent(Request):
    agent_id: Id
    settings: "Settings" = msgspec.field(default_factory=lambda: Settings())


class NewEnrolment(Request):
    instance_id: Id | None = None
    """Only this instance may use it; none: any one instance, once."""
    expires_in_s: Lifetime = 3_600.0


class Settings(Request):
    """What is left out stays as it is."""

    mode: Mode | None = None
    auto_switch_enabled: bool | None = None
    manual_replica_enabled: bool | None = None
    auto_terminate_enabled: bool | None = None
    terminate_wait_seconds: Seconds | None = None
    zombie_retention_days: Annotated[float, Meta(ge=0, le=3_650)] | None = None
    standbys: Annotated[int, Meta(ge=0, le=15)] | None = None
    max_lag_s: Seconds | None = None
    max_lag_emergency_s: Seconds | None = None
    catch_up_s: Seconds | None = None
    promote_timeout_s: Annotated[float, Meta(ge=1, le=86_400)] | None = None
    unhealthy_s: Seconds | None = None
    serve_reads: bool | None = None


class ChangeSettings(Settings):
    dry_run: bool = False


class Switch(Request):
    to: Id | None = None
    """The candidate; none: the best one."""
    accept_data_loss: bool = False
    dry_run: bool = False


class Promote(Request):
    emergency: bool = False
    accept_data_loss: bool = False
    dry_run: bool = False


class Pause(Request):
    for_s: Annotated[float, Meta(ge=1, le=30 * 86_400)]
    why: Annotated[str, Meta(min_length=1, max_length=TEXT_MAX)]
    dry_run: bool = False


class Resume(Request):
    dry_run: bool = False


class Gone(Request):
    """The operator's word that a machine is no more, where no cloud can be asked."""

    why: Annotated[str, Meta(min_length=1, max_length=TEXT_MAX)]
    dry_run: bool = False


class Revive(Request):
    """The operator's word that a zombie may be promoted again: its trouble is mended."""

    why: Annotated[str, Meta(min_length=1, max_length=TEXT_MAX)]
    dry_run: bool = False


class Sweep(Request):
    dry_run: bool = False


class Recover(Request):
    accept_data_loss: bool = False
    primary: Id | None = None
    """Who served last, where the reports do not tell."""
    dry_run: bool = False


class Envelope(msgspec.Struct, kw_only=True):
    """Every answer."""

    status: Literal["success", "error"]
    data: Any = None
    error: str | None = None
    code: str | None = None


def success(data: object) -> Envelope:
    return Envelope(status="success", data=data)
