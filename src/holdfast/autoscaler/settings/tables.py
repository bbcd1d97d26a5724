"""The autoscaler's settings as the engine reads them: fields with kinds, ranges and names, in tables."""

from holdfast.autoscaler.settings import Disruption, DrainRules, Pool, Settings, environment_names
from holdfast.autoscaler.settings.kinds import KINDS
from holdfast.autoscaler.settings.ranges import DISRUPTION_RANGES, POOL_RANGES, POOL_SHAPES, RANGES, SHAPES
from holdfast.settings.table import declare

NEVER_SHOWN = frozenset(
    {
        "k8s_api_token_param",
        "k3s_cluster_token_param",
        "k8s_ca",
        "notify_slack_url",
        "notify_webhook_secret",
        "notify_webhook_url",
    }
)
"""The operator may have put the secret itself there."""

DRAIN = declare(DrainRules, "[autoscaler.drain]", prefix="drain.", environment=environment_names)
DISRUPTION = declare(
    Disruption,
    "[autoscaler.disruption]",
    prefix="disruption.",
    environment=environment_names,
    kinds=KINDS,
    ranges=DISRUPTION_RANGES,
)
SETTINGS = declare(
    Settings,
    "[autoscaler]",
    environment=environment_names,
    kinds=KINDS,
    ranges=RANGES,
    shapes=SHAPES,
    secrets=NEVER_SHOWN,
    nested={"drain": DRAIN, "disruption": DISRUPTION},
    more=("pools",),
)
POOL = declare(Pool, "[[autoscaler.pools]]", kinds=KINDS, ranges=POOL_RANGES, shapes=POOL_SHAPES)
"""Each pool is a record of its own, with the prefix `pools.NAME.`; `WORKER_NAMES` fill the default one."""
