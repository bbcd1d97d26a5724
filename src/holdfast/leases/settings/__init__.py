"""All settings of the leases, by the seed's names.

Here belong what they are: names, defaults, kinds and ranges, and what must hold among them.  How settings
are read, and how a mistake is told, is `holdfast.settings`.

A setting has one name in three spellings: `member_ttl_s` here and in `[leases]` of `holdfast.toml`,
`MEMBER_TTL_SEC` in the environment.  `SEED_NAMES` lists those with other names there.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.leases.cap import LIMIT
from holdfast.settings.table import environment_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    # Who and where
    stream_name: str = ""
    """The Kinesis stream."""
    app_name: str = ""
    """The application: workers of one name share the stream among them."""
    worker_id: str = ""
    """This worker.  In the environment: WORKER_ID, else POD_NAME, else HOSTNAME."""
    region: str = ""
    """In the environment: AWS_REGION."""
    meta_table: str = ""
    """The table of the agreement.  Empty: `<stream>_meta`."""
    lease_table: str = ""
    """The lease table of the KCL.  Empty: the app's name."""
    database: str = ""
    """A SQLite file instead of the table of the agreement, for workers on one machine."""
    # Counting
    kds_worker_count: int = 0
    """How many workers are expected.  0: Kubernetes is asked."""
    pod_name: str = ""
    """This worker's pod.  Empty: the machine's host name."""
    pod_namespace: str = ""
    """The namespace of this worker's pod.  Empty: that of its service account."""
    kubeconfig: str = ""
    """As kubectl reads it, for workers outside the cluster.  Empty: the pod's service account."""
    count_s: float = 10.0
    """Between two looks at the stream, the lease table and the expected workers."""
    fewer_shards_s: float = 10.0
    """Fewer shards are believed when two looks so far apart agree."""
    # The cap
    enable_dynamic_max_leases: bool = True
    """False: nothing is agreed on, and a KCL keeps the number that it has."""
    max_leases_limit: int = LIMIT
    """The most leases that one worker may hold."""
    lease_headroom_workers: int = 0
    """Workers that may be missing: what a KCL is told leaves room for so many."""
    # Live
    heartbeat_s: float = 5.0
    """Between two beats of a worker on its own row."""
    member_ttl_s: float = 20.0
    """A worker whose beat has not moved for so long is dead."""
    join_grace_s: float = 60.0
    """For so long after its start a worker waits for the expected number before it counts the living."""

    # Beside the worker
    restart_settle_s: float = 20.0
    """So long after a worker has restarted its KCL the next one may restart its own."""
    health_port: int = 8080
    """Where `leases exec` and `leases run` answer /health and /ready.  0: nowhere."""

    @property
    def meta_table_name(self) -> str:
        return self.meta_table or f"{self.stream_name}_meta"

    @property
    def lease_table_name(self) -> str:
        return self.lease_table or self.app_name


SEED_NAMES: Mapping[str, tuple[str, ...]] = {"region": ("AWS_REGION",)}
"""Settings that the seed calls otherwise than the rule."""

WORKER_ID_NAMES = ("WORKER_ID", "POD_NAME", "HOSTNAME")
"""What names a worker in the environment, the first of these that is set."""


def environment_names(name: str) -> tuple[str, ...]:
    """What a setting may be called in the environment."""
    return SEED_NAMES.get(name) or (environment_name(name),)
