"""The table of operations: method, path, who may call it, what it takes.

Rule 1: an agent's token speaks for one instance of one agent; its ids in path and body must be those.
Rule 2: an operator's token speaks for one client; everything else does not exist for it.
Rule 3: only the administrator's token makes clients and sees no group.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from holdfast.failover.api import wire
from holdfast.failover.api.codes import Code


class Caller(Enum):
    ANYONE = "anyone"
    ENROLMENT = "an agent, with its own token or with a one-time enrolment"
    AGENT = "an agent, for its own instance"
    OPERATOR = "an operator of one client"
    ADMIN = "the administrator of the server"


@dataclass(frozen=True, slots=True)
class Query:
    """A parameter behind the path: an id if it is a text, else a number from 0 up."""

    name: str
    type: type
    default: object
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    name: str
    method: str
    path: str
    caller: Caller
    what: str
    body: type[wire.Request] | None = None
    query: tuple[Query, ...] = ()
    codes: tuple[Code, ...] = ()
    """Refusals of its own, beside those that every operation may give."""
    body_max: int = 16_384
    secret: bool = False
    """Its answer holds a secret, so it is not stored: the same request again makes, or takes, another one."""

    @property
    def changes(self) -> bool:
        return self.method != "GET"


COMMON: Final = (Code.INVALID_REQUEST, Code.RATE_LIMITED, Code.UNAVAILABLE)
WITH_TOKEN: Final = (Code.UNAUTHENTICATED, Code.FORBIDDEN, Code.NOT_FOUND)
CHANGING: Final = (
    Code.VERSION_CONFLICT, Code.REQUEST_ID_REUSED, Code.PAYLOAD_TOO_LARGE, Code.RECOVERING,
)  # fmt: skip

GROUP: Final = "/api/agents/{agent_id}"
WAIT_MAX_S: Final = 30.0

REGISTER = Operation(
    name="register", method="POST", path="/api/agents/register", caller=Caller.ENROLMENT, body=wire.Register,
    what="Make an instance known. It grants no role.", codes=(Code.SESSION_HELD,), secret=True,
)  # fmt: skip
HEARTBEAT = Operation(
    name="heartbeat", method="POST", path=f"{GROUP}/heartbeat", caller=Caller.AGENT, body=wire.Heartbeat,
    what="Report, and renew the lease of a primary.", codes=(Code.STALE_SESSION,),
)  # fmt: skip
GOAL = Operation(
    name="goal", method="GET", path=f"{GROUP}/goal", caller=Caller.AGENT,
    what="What the instance has to do; with `version`, wait for a newer goal.",
    query=(
        Query("instance_id", str, None, "the instance"),
        Query("version", int, 0, "the newest goal that the agent knows"),
        Query("wait", float, 0.0, f"wait so many seconds for a newer one, at most {WAIT_MAX_S:.0f}"),
    ),
)  # fmt: skip
REBALANCE = Operation(
    name="rebalance_notice", method="POST", path=f"{GROUP}/rebalance-notice", caller=Caller.AGENT,
    body=wire.RebalanceNotice, what="A hint that the instance may be reclaimed: prepares a standby.",
    codes=(Code.STALE_SESSION,),
)  # fmt: skip
TERMINATION = Operation(
    name="termination_notice", method="POST", path=f"{GROUP}/termination-notice", caller=Caller.AGENT,
    body=wire.TerminationNotice, what="The instance will be reclaimed: a standby takes over.",
    codes=(Code.STALE_SESSION,),
)  # fmt: skip

CLIENTS = Operation(
    name="clients", method="GET", path="/api/clients", caller=Caller.ADMIN, what="All clients."
)
NEW_CLIENT = Operation(
    name="new_client", method="POST", path="/api/clients", caller=Caller.ADMIN, body=wire.NewClient,
    what="Make a client; answers its first operator token, once.", codes=(Code.INVALID_STATE,), secret=True,
)  # fmt: skip
NEW_TOKEN = Operation(
    name="new_token", method="POST", path="/api/tokens", caller=Caller.OPERATOR, body=wire.NewToken,
    what="A further operator token of this client; the old ones stay valid until they expire or are removed.",
    secret=True,
)  # fmt: skip
TOKENS = Operation(
    name="tokens", method="GET", path="/api/tokens", caller=Caller.OPERATOR,
    what="The client's tokens, without their secrets.",
)  # fmt: skip
END_TOKEN = Operation(
    name="end_token", method="DELETE", path="/api/tokens/{token_id}", caller=Caller.OPERATOR,
    what="End a token at once.",
)  # fmt: skip
AGENTS = Operation(
    name="agents", method="GET", path="/api/agents", caller=Caller.OPERATOR, what="All groups of the client."
)
NEW_AGENT = Operation(
    name="new_agent", method="POST", path="/api/agents", caller=Caller.OPERATOR, body=wire.NewAgent,
    what="Make a group.", codes=(Code.INVALID_STATE, Code.INVALID_CONFIGURATION),
)  # fmt: skip
AGENT = Operation(
    name="agent", method="GET", path=GROUP, caller=Caller.OPERATOR,
    what="One group: roles, leases, readiness, what it waits for.",
)  # fmt: skip
ENROL = Operation(
    name="enrol", method="POST", path=f"{GROUP}/enrolments", caller=Caller.OPERATOR, body=wire.NewEnrolment,
    what="A one-time token with which one instance enrols.", secret=True,
)  # fmt: skip
PRIMARY = Operation(
    name="primary", method="GET", path=f"{GROUP}/primary", caller=Caller.OPERATOR,
    what="The primary, or why there is none.", codes=(Code.INVALID_STATE,),
)  # fmt: skip
INSTANCES = Operation(
    name="instances", method="GET", path=f"{GROUP}/instances", caller=Caller.OPERATOR,
    what="All instances of a group, those that are gone too.",
)  # fmt: skip
INSTANCE = Operation(
    name="instance", method="GET", path="/api/instances/{instance_id}", caller=Caller.OPERATOR,
    what="One instance.",
)  # fmt: skip
GONE = Operation(
    name="gone", method="POST", path="/api/instances/{instance_id}/gone", caller=Caller.OPERATOR,
    body=wire.Gone, what="Say that a machine is no more, where no cloud can be asked.",
    codes=(Code.INVALID_STATE,),
)  # fmt: skip
REVIVE = Operation(
    name="revive", method="POST", path="/api/instances/{instance_id}/revive", caller=Caller.OPERATOR,
    body=wire.Revive, what="Make a zombie a standby again, once what broke it is mended.",
    codes=(Code.INVALID_STATE,),
)  # fmt: skip
SWEEP = Operation(
    name="sweep", method="POST", path="/api/sweep", caller=Caller.OPERATOR, body=wire.Sweep,
    what="End zombies whose retention is over now, and account for every instance of the client.",
)  # fmt: skip
REPLICAS = Operation(
    name="replicas", method="GET", path=f"{GROUP}/replicas", caller=Caller.OPERATOR,
    what="The standbys, and launches under way.",
)  # fmt: skip
PROMOTE = Operation(
    name="promote", method="POST", path="/api/replicas/{replica_id}/promote", caller=Caller.OPERATOR,
    body=wire.Promote, what="Make a standby the primary.",
    codes=(Code.PROMOTION_FAILED, Code.INVALID_STATE),
)  # fmt: skip
SWITCH = Operation(
    name="switch", method="POST", path=f"{GROUP}/switch", caller=Caller.OPERATOR, body=wire.Switch,
    what="Hand the role over to a candidate; one is launched if it is missing.",
    codes=(Code.PROMOTION_FAILED, Code.INVALID_STATE),
)  # fmt: skip
SETTINGS = Operation(
    name="settings", method="PATCH", path=f"{GROUP}/settings", caller=Caller.OPERATOR,
    body=wire.ChangeSettings,
    what="Change a group's settings.", codes=(Code.INVALID_CONFIGURATION,),
)  # fmt: skip
PAUSE = Operation(
    name="pause", method="POST", path=f"{GROUP}/pause", caller=Caller.OPERATOR, body=wire.Pause,
    what="No change of roles for a while; the primary serves under one long lease.",
    codes=(Code.INVALID_STATE,),
)  # fmt: skip
RESUME = Operation(
    name="resume", method="POST", path=f"{GROUP}/resume", caller=Caller.OPERATOR, body=wire.Resume,
    what="End a pause.",
)  # fmt: skip
RECOVER = Operation(
    name="recover", method="POST", path=f"{GROUP}/recover", caller=Caller.OPERATOR, body=wire.Recover,
    what="After a restored database: name the one that served last, and grant again.",
    codes=(Code.INVALID_STATE,),
)  # fmt: skip
HISTORY = Operation(
    name="history", method="GET", path=f"{GROUP}/history", caller=Caller.OPERATOR,
    what="What happened to a group, and why.",
    query=(
        Query("after", int, 0, "only events of later versions"),
        Query("limit", int, 100, "at most so many, the newest"),
    ),
)  # fmt: skip
WHY = Operation(
    name="why", method="GET", path=f"{GROUP}/why", caller=Caller.OPERATOR,
    what="The last change of roles, told step by step.",
)  # fmt: skip

OPERATIONS: Final = (
    REGISTER, HEARTBEAT, GOAL, REBALANCE, TERMINATION,
    CLIENTS, NEW_CLIENT, TOKENS, NEW_TOKEN, END_TOKEN,
    AGENTS, NEW_AGENT, AGENT, ENROL, PRIMARY, INSTANCES, INSTANCE, GONE, REVIVE, SWEEP, REPLICAS, PROMOTE,
    SWITCH, SETTINGS, PAUSE, RESUME, RECOVER, HISTORY, WHY,
)  # fmt: skip
"""Fixed paths before those with a field: `/api/agents/register` is no agent's."""
