"""All settings of the autoscaler, by the seeds' names.

Here belong what its settings are: their names, defaults, kinds and ranges, and what must hold among
them.  How settings are read, and how a mistake is told, is `holdfast.settings`.

A setting has one name in three spellings: `cpu_up` here and in `holdfast.toml`, `CPU_UP` in the
environment; seconds end in `_s` here and in `_SEC` there.  `SEED_NAMES` lists the few that the
seeds call otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from holdfast.autoscaler.disruption.windows import Window
from holdfast.autoscaler.record import Purpose
from holdfast.autoscaler.settings.requirements import Requirements
from holdfast.autoscaler.settings.spare import Spare
from holdfast.cloud.kubernetes import Taint
from holdfast.settings.table import environment_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Workers that are alike: what they are made of, and how many there may be."""

    name: str = "default"
    instance_types: tuple[str, ...] = ("t3.medium",)
    """Several give spot a choice.  Pods get the cheapest that holds them; other workers, such as those of the
    floor, come in the order of this list."""
    requirements: Requirements | None = None
    """Instead of types: what they must be like.  EC2 is asked which types there are."""
    architecture: str = "amd64"
    subnet_ids: tuple[str, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    min_workers: int = 0
    max_workers: int = 1_000
    vcpus_max: int = 0
    """At most so many in all its workers together.  0: no limit."""
    memory_gib_max: int = 0
    """At most so much in all its workers together.  0: no limit."""
    spare: Spare | None = None
    """Room that is kept free for pods to come, as `2 pods of 1 cpu 2Gi`: real pods take it, and it is made
    anew."""
    weight: int = 0
    """Pools of a greater weight are asked first.  Among equals the cheapest machine decides, and then the
    order in which they are written."""
    ami_id: str = ""
    security_group_ids: tuple[str, ...] = ()
    key_name: str = ""
    instance_profile: str = ""
    launch_template_id: str = ""
    """A template of the user's own, instead of one that Holdfast makes from the lines above."""
    launch_template_version: int = 0
    disk_gib: int = 0
    """The size of the root disk.  0: as the image has it."""
    disk_device: str = "/dev/xvda"
    """What the image calls its root disk: `/dev/xvda` on Amazon Linux, `/dev/sda1` on Ubuntu."""
    imds_hop_limit: int = 1
    """How far away a machine's metadata, and so its role, can be reached.  1: not from pods, but for those on
    the host's network.  2: from every pod."""
    market: str = "spot"
    """`spot`: spot first, on-demand only where spot has no capacity.  `on-demand`: never spot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainRules:
    """Which pods keep a node from leaving.  The defaults are the seed's."""

    critical_pods_stay: bool = True
    """system-node-critical and system-cluster-critical pods abort a drain."""
    kube_system_stays: bool = True
    """Every kube-system pod that no DaemonSet owns aborts a drain.  On k3s this pins the nodes
    that run coredns, traefik and metrics-server: turn it off to let them move."""
    unmanaged_pods_stay: bool = True
    local_storage_stays: bool = True
    budgets_are_asked_first: bool = True
    """Ask the API by a server-side dry run whether a budget allows each eviction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Disruption:
    """What is done by choice with nodes that run well.  All of it is off, but for `replace NODE`."""

    consolidation: bool = False
    """Nodes that stand empty, underused or dear leave, or are replaced by cheaper ones, whatever the fleet's
    average load is.  Off: the fleet scales down by its average alone."""
    empty_down_s: int = 1_800
    """With consolidation: a node without pods leaves after so long.  Pods of DaemonSets do not count.  Sooner
    saves little, and pods that come back wait for a new node."""
    underused_below: float = 0.5
    """With consolidation: a node of which pods ask for less than this part, of CPU and of memory, is emptied
    if they fit elsewhere.  0: none is."""
    underused_down_s: int = 3_600
    """It must have been underused for so long: longer than the load takes to rise and fall."""
    saving_min: float = 0.15
    """With consolidation: a node is replaced if a new one that holds its pods costs this part less an hour.
    0: none is."""
    share_per_hour: float = 0.1
    """At most this part of the workers in service is disrupted by choice within an hour, and one if that is
    less.  Nodes without pods do not count."""
    max_age_s: int = 0
    """A worker that is older is replaced: a new one joins first.  0: however old they are."""
    drift: bool = False
    """Workers whose image, first script or launch template is not what their pool has now are replaced."""
    windows: tuple[Window, ...] = ()
    """Workers that run pods leave by choice only within these: five fields of cron and a duration, such as
    `0 2 * * mon-fri for 4h`; in the environment separated by semicolons.  None: at any time.  Nodes without
    pods may leave at any time."""
    time_zone: str = "UTC"
    """Of the windows, such as `Europe/Berlin`."""

    def most_of(self, workers: int) -> int:
        """So many may be disrupted within an hour."""
        return max(1, int(self.share_per_hour * workers))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    # Decide
    cpu_up: float = 0.70
    """Busier than this on average, the fleet scales up by one."""
    cpu_down: float = 0.30
    """Less busy than this, and with no pod waiting, the fleet is idle."""
    pending_up_s: int = 180
    """Pods must have been waiting for so long before the fleet scales up for them: since a tick first saw one
    that waits; or by the condition PodScheduled of one of them, which adds a minute to that at most."""
    idle_down_s: int = 600
    """The fleet must have been idle for so long before it scales down."""
    cooldown_up_s: int = 300
    """Between the end of one scale-up and the next."""
    cooldown_down_s: int = 600
    """Between the end of any action and a scale-down."""
    min_workers: int = 2
    """The floor: below it the fleet scales up without any cool-down."""
    max_workers: int = 10
    """Interrupted machines do not count."""
    max_batch_up: int = 2
    """At most so many are added by one action."""
    max_batch_down: int = 1
    """At most so many are removed by one action."""
    # Scale up
    join_timeout_s: int = 600
    """A machine that has not joined by then is ended."""
    on_demand_max_fraction: float = 1.0
    """At most this part of the fleet may be on-demand in pools that prefer spot."""
    usd_per_hour_max: float = 0.0
    """0: no ceiling.  With one, a type without a known price is not launched."""
    offerings_min: int = 3
    """Over so many offerings (a type in a zone) a request for spot is spread at least, where there are as
    many: price alone never puts all workers on one."""
    spot_refusals_max: int = 6
    """After so many refusals of spot capacity for one request, on-demand is asked for;"""
    spot_patience_s: int = 120
    """or after the first refusal, once the scale-up is open for so long."""
    launches_per_hour_max: int = 0
    """For pods that wait and workers that are busy.  0: three times the most workers.  What is certainly
    refused does not count."""
    repairs_per_hour_max: int = 0
    """Beside those: for the floor, and in place of workers that are certain to go.  0: three times the most
    workers."""
    rebalances_per_hour_max: int = 0
    """Beside those: in place of workers with a rebalance recommendation.  0: a fifth of the most workers, and
    at least one."""
    unavailable_s: int = 180
    """How long an offering without capacity is left alone; twice as long after each further refusal,"""
    unavailable_max_s: int = 900
    """but never longer than this."""
    back_off_first_s: int = 60
    """How long a pool is left alone whose scale-up came out short; twice as long after each further one,"""
    back_off_max_s: int = 1_800
    """but never longer than this."""
    # Scale-down
    drain_timeout_s: int = 300
    """A node that is not empty by then is kept."""
    scale_down_stuck_s: int = 900
    """A scale-down that is open for so long gives up the nodes that are not terminating yet."""
    skip_s: int = 900
    """A node that was kept is left alone for so long."""
    after_cordon_s: int = 5
    """Between two rounds of a drain, and so between the cordon and the first eviction: the scheduler
    must have seen it, and pods need time to leave."""
    keep_last_of_zone: bool = True
    """The last worker of a zone stays while other zones have some, so that the cluster outlives a zone."""
    drain: DrainRules = DrainRules()
    disruption: Disruption = Disruption()
    # Interruption
    interruption_moves_critical: bool = True
    """From a machine that dies anyway, cluster-critical and kube-system pods are moved too."""
    rebalance_replaces: bool = True
    """A rebalance recommendation is followed; otherwise it is noted and nothing is done."""
    notice_queue_url: str = ""
    """The SQS queue to which EventBridge sends EC2's notices: the loop takes them from there at once.  A
    function is given them by its stack.  Empty: a turn asks EC2 which spot requests are marked."""
    # Notifications
    notify_webhook_url: str = ""
    """Where messages are posted as JSON, signed in the manner of Standard Webhooks.  Empty: nowhere."""
    notify_webhook_secret: str = ""
    """What they are signed with: `whsec_` and base64, or any text."""
    notify_slack_url: str = ""
    """An incoming webhook of Slack, or of anything that takes the same JSON.  Empty: none."""
    notify_sns_topic_arn: str = ""
    """An SNS topic.  Empty: none."""
    notify_after_s: int = 60
    """A cause must have lasted for so long before it is told."""
    # Safety
    lock_ttl_s: int = 300
    """How long an invocation may work before another takes over what it does."""
    remember_s: int = 600
    """How long what was launched or removed outranks what is listed: longer than a listing can lag."""
    absent_s: int = 300
    """A machine that is not listed twice, this far apart, is gone."""
    sweep_batch: int = 5
    """So many surplus machines are cleared up at a time,"""
    sweep_per_hour: int = 20
    """and so many machines and nodes without an owner within an hour."""
    sweep_after_s: int = 300
    """A machine of ours that the record does not name is swept this long after its launch."""
    not_ready_s: int = 600
    """A node that is NotReady for so long is replaced, and its machine ended.  0: it is left alone."""
    brake_not_ready_fraction: float = 0.34
    """If more than this share of the nodes is NotReady at once, nothing scales down or is swept."""
    brake_absent_fraction: float = 0.1
    """If more than this share of the machines has lost its node at once, or of the Ready nodes has no listed
    machine, nothing scales down or is swept."""
    observe: bool = False
    """Look, decide, record what would be done; touch nothing."""
    # Where things are
    cluster_name: str = "k3s-autoscaler"
    state_table: str = "k3s-autoscaler-state"
    logs_table: str = "k3s-autoscaler-logs"
    database: str = ""
    """A SQLite file instead of the two tables."""
    cluster_tag_key: str = "Cluster"
    worker_tag_key: str = "Role"
    worker_tag_value: str = "k3s-worker"
    master_tag_key: str = "Role"
    master_tag_value: str = "k3s-control-plane"
    region: str = ""
    metrics: str = "prometheus"
    """`prometheus`, `metrics-server` or `requests`."""
    prometheus_url: str = ""
    """Empty: on the control plane's own address, at the port below."""
    prom_nodeport: int = 30_900
    metrics_max_age_s: int = 180
    join_check: str = "kubernetes"
    """`kubernetes`: a new node has joined when the API calls it Ready.  `prometheus`: when
    kube-state-metrics says so too; while it gives no answer, the API's word counts."""
    kubeconfig: str = ""
    """As kubectl reads it.  Users who sign in by a command (`exec`, such as `aws eks get-token`) are for
    the command line and the loop; a Lambda function has no such command."""
    k8s_api_url: str = ""
    k8s_ca_file: str = ""
    k8s_ca: str = ""
    """The certificate authority itself, as PEM, where no file can be had."""
    k8s_api_token_param: str = ""
    k3s_url: str = ""
    k3s_cluster_token_param: str = ""
    k3s_version: str = "v1.33.5+k3s1"
    k3s_ca_hash: str = ""
    """SHA-256 of the server's CA: checked before a new node joins."""
    pods_per_node: int = 110
    usd_per_hour: Mapping[str, float] = field(default_factory=dict)
    """On-demand price by instance type; spot prices come from EC2."""
    on_demand_prices: str = "settings"
    """`settings`: only those in `usd_per_hour` are known.  `price-list`: of other types AWS's price list is
    asked, once a day: it needs pricing:GetProducts, and a way to the internet."""
    pools: tuple[Pool, ...] = (Pool(),)

    @property
    def launch_budget(self) -> int:
        return self.launches_per_hour_max or 3 * self.max_workers

    @property
    def notifies(self) -> bool:
        """Whether an operator is to be told anywhere."""
        return bool(self.notify_webhook_url or self.notify_slack_url or self.notify_sns_topic_arn)

    def budget_of(self, purpose: Purpose) -> int:
        """The most launches an hour for this purpose."""
        if purpose is Purpose.REPAIR:
            return self.repairs_per_hour_max or 3 * self.max_workers
        if purpose is Purpose.HINT:
            return self.rebalances_per_hour_max or max(1, self.max_workers // 5)
        if purpose is Purpose.ROTATION:  # one that is lost on the way may be asked for once more
            return 2 * self.disruption.most_of(self.max_workers)
        return self.launch_budget

    def pool(self, name: str) -> Pool | None:
        return next((pool for pool in self.pools if pool.name == name), None)


SEED_NAMES: Mapping[str, tuple[str, ...]] = {"cluster_name": ("CLUSTER_TAG_VALUE", "CLUSTER_NAME")}
"""Settings that the seeds call otherwise than the rule below, and all their names."""

WORKER_NAMES: Mapping[str, str] = {
    "WORKER_AMI_ID": "ami_id",
    "WORKER_SG_ID": "security_group_ids",
    "WORKER_KEY_NAME": "key_name",
    "WORKER_INSTANCE_PROFILE": "instance_profile",
    "WORKER_INSTANCE_TYPE": "instance_types",
    "WORKER_REQUIREMENTS": "requirements",
    "WORKER_SPARE": "spare",
    "WORKER_SUBNET_IDS": "subnet_ids",
    "WORKER_ARCHITECTURE": "architecture",
    "WORKER_MARKET": "market",
    "WORKER_LABELS": "labels",
    "WORKER_TAINTS": "taints",
    "WORKER_LAUNCH_TEMPLATE_ID": "launch_template_id",
    "WORKER_LAUNCH_TEMPLATE_VERSION": "launch_template_version",
    "WORKER_DISK_GIB": "disk_gib",
    "WORKER_DISK_DEVICE": "disk_device",
    "WORKER_IMDS_HOP_LIMIT": "imds_hop_limit",
}
"""The seeds know one pool: these fill the one that is called `default`."""


def environment_names(name: str) -> tuple[str, ...]:
    """What a setting may be called in the environment; a rule of draining as `drain.kube_system_stays`."""
    if name in SEED_NAMES:
        return SEED_NAMES[name]
    return (environment_name(name),)
