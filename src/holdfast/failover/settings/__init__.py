"""All settings of the failover server and of the commands that talk to it.

They stand in `holdfast.toml` under `[failover]`, or in the environment as `FAILOVER_…`, which outranks the
file.  What belongs to one group (mode, standbys, waits) is no setting of the server: it is stored with the
group, and changed with `holdfast failover settings`.
"""

from dataclasses import dataclass

from holdfast.settings.table import environment_name

PREFIX = "FAILOVER_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    # The server
    database: str = "sqlite:holdfast-failover.db"
    """`sqlite:FILE`, `mysql://user:password@host/name` (MariaDB too) or `postgresql://user:password@host/name`."""
    listen: str = "127.0.0.1:7400"
    """Address and port.  Without TLS only a loopback address is taken."""
    tls_cert: str = ""
    """A file with the server's certificate, and those between it and the root."""
    tls_key: str = ""
    """A file with the certificate's key."""
    threads: int = 8
    """For everything but heartbeats; each has a connection of its own."""
    drivers: int = 4
    """How many groups one server drives at the same time."""
    accept_weak_durability: bool = False
    """Start although the database may lose acknowledged commits in a crash."""
    high_water_file: str = "holdfast-failover.highwater"
    """Remembers how far the database had come: one that is behind it was restored, and grants nothing."""
    # Leases
    lease_s: float = 10.0
    """For so long a primary serves after the heartbeat that was granted."""
    heartbeat_s: float = 3.0
    """Between two heartbeats of an agent."""
    request_timeout_s: float = 3.0
    """How long an agent waits for an answer.  heartbeat_s and twice this must fit into lease_s."""
    revocations_at_once: float = 0.2
    """If leases of more than this share of all groups run out within a minute, a person is asked instead."""
    # Machines
    machines: str = "none"
    """`ec2`: standbys are launched and ended.  `none`: people bring machines and take them away."""
    region: str = ""
    pools: tuple[str, ...] = ()
    """Where standbys may be launched, as type.zone: `m6i.large.eu-west-1a`.  Several give spot a choice."""
    subnet_ids: tuple[str, ...] = ()
    """One for each zone of the pools."""
    ami_id: str = ""
    security_group_ids: tuple[str, ...] = ()
    instance_profile: str = ""
    agent_server_urls: tuple[str, ...] = ()
    """How launched machines reach the servers: `https://failover.internal:7400`."""
    enrolment_key_file: str = "holdfast-failover.key"
    """From it the one-time enrolments of launched machines follow: the same file on every server."""
    agent_install: str = "pip install holdfast"
    """The command in a new machine's user data that brings the agent."""
    agent_arguments: str = ""
    """Options of a launched machine's agent beside server and enrolment: `--hooks /etc/holdfast/hooks`."""
    notice_queue_url: str = ""
    """An SQS queue to which EventBridge sends EC2's notices and changes of state, beside what agents say."""
    # The commands
    server: str = "http://127.0.0.1:7400"
    """Which server the commands ask."""
    token_file: str = "operator.token"
    """A file with an operator's token, readable by its owner alone."""
    ca_file: str = ""
    """Whom to trust for a server's certificate, if it is none of the usual ones."""


def environment_names(name: str) -> tuple[str, ...]:
    return (environment_name(name, PREFIX),)
