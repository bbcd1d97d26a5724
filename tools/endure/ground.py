"""Everything that a campaign stands on: control plane, EC2, DynamoDB, Prometheus, and a load to carry."""

import importlib
import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from holdfast.adapters.aws.dynamodb.inbox import DynamoInbox
from holdfast.app.autoscaler.stores import dynamodb_cluster_store
from holdfast.autoscaler.ports import ClusterStore
from holdfast.autoscaler.settings import WORKER_NAMES, environment_names
from tools.endure.load import Load
from tools.parts.catalog.ministack import PART as MINISTACK
from tools.parts.catalog.prometheus import PART as PROMETHEUS
from tools.parts.catalog.prometheus import Target
from tools.parts.ec2.behaviour import Behaviour
from tools.parts.exporter.start import start_exporter
from tools.parts.site import PROFILE, TOKEN_PARAMETER, Site, start_site
from tools.parts.stopping import Stopping

CLUSTER = "endure"
FLOOR, CEILING = 3, 14
INSTANCE_TYPE = "m5.large"
API_TOKEN_PARAMETER = "/k8s/token"
NODE_GRACE_S = 20
SCRAPED_EVERY_S = 2.0
ANSWERS_AFTER_S = (0.3, 1.0)
"""As long as EC2 itself takes for a launch or an end: time to be killed in."""

# Minutes in production; too long for a campaign.
TIMES: Mapping[str, object] = {
    "pending_up_s": 1,
    "idle_down_s": 3,
    "cooldown_up_s": 1,
    "cooldown_down_s": 1,
    "after_cordon_s": 1,
    "join_timeout_s": 90,
    "drain_timeout_s": 90,
    "skip_s": 5,
    "back_off_first_s": 2,
    "back_off_max_s": 8,
    "lock_ttl_s": 2,
    "sweep_after_s": 30,
    "remember_s": 300,
    "absent_s": 60,
}
BOUNDS: Mapping[str, object] = {
    "min_workers": FLOOR,
    "max_workers": CEILING,
    "max_batch_up": 8,
    "max_batch_down": 3,
    "launches_per_hour_max": 100_000,
}


@dataclass(frozen=True)
class Ground(Stopping):
    site: Site
    dynamodb: str
    prometheus: str
    load: Load
    folder: Path
    closing: ExitStack

    @cached_property
    def dynamodb_client(self) -> Any:
        make: Any = importlib.import_module("boto3").client
        return make("dynamodb", **{**self.site.ec2.client_arguments(), "endpoint_url": self.dynamodb})

    @cached_property
    def store(self) -> ClusterStore:
        return dynamodb_cluster_store(
            self.dynamodb_client,
            state_table="k3s-autoscaler-state",
            logs_table="k3s-autoscaler-logs",
            create_tables=True,
        )

    @cached_property
    def inbox(self) -> DynamoInbox:
        return DynamoInbox(self.dynamodb_client, "k3s-autoscaler-logs")

    @property
    def environment(self) -> dict[str, str]:
        """What points the product's own clients at all this."""
        return {**self.site.environment, "AWS_ENDPOINT_URL_DYNAMODB": self.dynamodb}

    def settings(self, **changed: object) -> dict[str, object]:
        """By their own names; those of the one pool apart, in `pool`."""
        return {
            **TIMES,
            **BOUNDS,
            "cluster_name": CLUSTER,
            "region": self.site.ec2.region,
            "prometheus_url": self.prometheus,
            "k8s_api_url": self.site.cluster.server,
            "k8s_ca_file": str(self.site.cluster.ca_file),
            "k8s_api_token_param": API_TOKEN_PARAMETER,
            "k3s_url": self.site.k3s_url,
            "k3s_ca_hash": self.site.ca_hash,
            "k3s_cluster_token_param": TOKEN_PARAMETER,
            **changed,
        }

    @property
    def pool(self) -> dict[str, object]:
        return {
            "instance_types": [INSTANCE_TYPE],
            "ami_id": self.site.image,
            "subnet_ids": list(self.site.subnets.values()),
            "security_group_ids": [self.site.security_group],
            "instance_profile": PROFILE,
        }

    def write_settings(self, **changed: object) -> Path:
        """As a file, for commands that read `holdfast.toml`."""
        lines = ["[autoscaler]", *_toml(self.settings(**changed))]
        lines += ["[[autoscaler.pools]]", 'name = "default"', *_toml(self.pool)]
        path = self.folder / "holdfast.toml"
        path.write_text("\n".join([*lines, ""]))
        return path

    def settings_environment(self, **changed: object) -> dict[str, str]:
        """As variables, by the names that a function is given."""
        own = {environment_names(name)[0]: _text(value) for name, value in self.settings(**changed).items()}
        pooled = {env: _text(self.pool[name]) for env, name in WORKER_NAMES.items() if name in self.pool}
        return {**self.environment, **own, **pooled}

    def stop(self) -> None:
        self.closing.close()


def start_ground() -> Ground:
    """Start all of it, newest stopped first.  Raises Absent."""
    with ExitStack() as started:
        # The dead stay listed for longer than the product remembers them, as they do in life.
        behaviour = Behaviour(forget_after_s=330, answer_delay_s=ANSWERS_AFTER_S)
        site = started.enter_context(start_site(node_grace_s=NODE_GRACE_S, behaviour=behaviour))
        cluster = site.cluster
        table = MINISTACK.start()
        started.callback(table.stop)
        exporter = start_exporter(cluster.server, ca_file=cluster.ca_file, token=cluster.admin_token)
        started.callback(exporter.stop)
        targets = [
            Target("node-exporter", exporter.address, "/node"),
            Target("kube-state-metrics", exporter.address, "/kube"),
        ]
        metrics = PROMETHEUS.start(targets, interval_s=SCRAPED_EVERY_S)
        started.callback(metrics.stop)
        site.client("ssm").put_parameter(
            Name=API_TOKEN_PARAMETER, Value=cluster.admin_token, Type="SecureString"
        )
        folder = cluster.running.folder
        return Ground(site, table.endpoint, metrics.endpoint, Load(cluster), folder, started.pop_all())
    raise AssertionError("nothing above swallows an exception")


def _toml(values: Mapping[str, object]) -> Sequence[str]:
    # JSON's texts, numbers and lists of texts are TOML's.
    return [f"{name} = {json.dumps(value)}" for name, value in values.items()]


def _text(value: object) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)
