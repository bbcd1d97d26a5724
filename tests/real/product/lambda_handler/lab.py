"""A cluster to scale and a function that does: DynamoDB, EC2, SSM and a control plane, all but AWS itself."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from holdfast.adapters.aws.dynamodb import DynamoItems, make_client
from holdfast.adapters.aws.dynamodb.inbox import DynamoInbox
from holdfast.app.autoscaler.stores import dynamodb_cluster_store
from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.record import Cluster
from tests.real.traces import wait_until
from tools.parts.catalog.lambda_runtime import PART, LambdaRuntime
from tools.parts.site import PROFILE, TOKEN_PARAMETER, Site

HANDLER = "holdfast.lambda_handler.handler"
SCHEDULED = {"source": "aws.events", "detail-type": "Scheduled Event", "detail": {}}
API_TOKEN_PARAMETER = "/holdfast/api-token"
TYPE = "m5.large"


@dataclass(frozen=True)
class Lab:
    """One cluster by its own name, so that no test sees another's machines."""

    site: Site
    dynamodb: str
    code_paths: Sequence[Path]
    name: str
    store: DynamoItems[Cluster] = field(repr=False)
    inbox: DynamoInbox = field(repr=False)

    @classmethod
    def open(cls, site: Site, dynamodb: str, code_paths: Sequence[Path], name: str) -> "Lab":
        client = make_client(endpoint_url=dynamodb, region=site.ec2.region)
        store = dynamodb_cluster_store(
            client, state_table=f"{name}-state", logs_table=f"{name}-logs", create_tables=True
        )
        return cls(site, dynamodb, code_paths, name, store, DynamoInbox(client, f"{name}-logs"))

    def environment(self) -> dict[str, str]:
        """As the template would set it, but for where things are."""
        site = self.site
        return {
            **{name: value for name, value in site.environment.items() if name != "AWS_ENDPOINT_URL"},
            "AWS_ENDPOINT_URL_DYNAMODB": self.dynamodb,
            "AWS_ENDPOINT_URL_EC2": site.ec2.endpoint,
            "AWS_ENDPOINT_URL_SSM": site.ec2.endpoint,
            "CLUSTER_TAG_VALUE": self.name,
            "STATE_TABLE": f"{self.name}-state",
            "LOGS_TABLE": f"{self.name}-logs",
            "K8S_API_URL": site.cluster.server,
            "K8S_CA": site.cluster.ca_file.read_text().replace("\n", "\\n"),
            "K8S_API_TOKEN_PARAM": API_TOKEN_PARAMETER,
            "METRICS": "requests",
            "K3S_URL": site.k3s_url,
            "K3S_CA_HASH": site.ca_hash,
            "K3S_CLUSTER_TOKEN_PARAM": TOKEN_PARAMETER,
            "MIN_WORKERS": "0",
            "MAX_WORKERS": "4",
            "WORKER_INSTANCE_TYPE": TYPE,
            "WORKER_AMI_ID": site.image,
            "WORKER_SUBNET_IDS": ",".join(site.subnets.values()),
            "WORKER_SG_ID": site.security_group,
            "WORKER_INSTANCE_PROFILE": PROFILE,
        }

    @contextmanager
    def function(self, *, timeout_s: int = 60, **changed: str) -> Iterator[LambdaRuntime]:
        """One execution environment; settings may be changed, or left out by an empty value."""
        environ = {**self.environment(), **changed}
        started = PART.start(
            HANDLER, self.code_paths, {n: v for n, v in environ.items() if v}, timeout_s=timeout_s
        )
        try:
            yield started
        finally:
            started.stop()

    def record(self) -> Cluster:
        return self.store.read(SUBJECT).value

    def version(self) -> int:
        return self.store.read(SUBJECT).version

    def launches(self) -> list[Mapping[str, Any]]:
        """Every machine that was ever asked for in this cluster's name, from the stand-in's own log."""
        return [
            entry
            for entry in self.site.ec2.log()
            if entry["kind"] == "call"
            and entry["action"] == "RunInstances"
            and entry["outcome"] == "ok"
            and self.name in json.dumps(entry["parameters"])
        ]

    def terminated(self) -> set[str]:
        """Every machine that was ever asked to end."""
        calls = [
            e for e in self.site.ec2.log() if e["kind"] == "call" and e["action"] == "TerminateInstances"
        ]
        return {instance for call in calls for instance in call["instances"]}

    def tick_until_idle(self, function: LambdaRuntime) -> Mapping[str, Any]:
        """Invoke it as the schedule does, only faster, until it has nothing left to do."""
        answers: list[Mapping[str, Any]] = []

        def is_idle() -> bool:
            answers.append(function.invoke(SCHEDULED))
            assert "errorType" not in answers[-1], answers[-1]
            assert answers[-1]["outcome"] in ("idle", "waiting"), answers[-1]
            return bool(answers[-1]["outcome"] == "idle")

        wait_until(is_idle, "the cluster comes to rest")
        return answers[-1]

    def clean_up(self) -> None:
        """End this cluster's machines; their nodes have no machine afterwards."""
        api = self.site.client("ec2")
        ours = [{"Name": "tag:Cluster", "Values": [self.name]}]
        found = [
            i["InstanceId"]
            for r in api.describe_instances(Filters=ours)["Reservations"]
            for i in r["Instances"]
        ]
        if found:
            api.terminate_instances(InstanceIds=found)
        for instance_id in found:
            self.site.cluster.request("DELETE", f"/api/v1/nodes/{instance_id}")


def lines(function: LambdaRuntime) -> list[Mapping[str, Any]]:
    """What the function logged, as far as it is JSON: its log lines and its metrics."""
    found = []
    for line in function.log().splitlines():
        start = line.find("{")
        try:
            found.append(json.loads(line[start:]) if start >= 0 else {})
        except ValueError:
            continue
    return [each for each in found if "_aws" in each or "level" in each]


def event(kind: str, instance_id: str, at: str, **detail: str) -> dict[str, Any]:
    return {
        "version": "0",
        "detail-type": kind,
        "source": "aws.ec2",
        "time": at,
        "region": "us-east-1",
        "detail": {"instance-id": instance_id, **detail},
    }


def message(body: object, message_id: str) -> dict[str, Any]:
    text = body if isinstance(body, str) else json.dumps(body)
    return {"messageId": message_id, "eventSource": "aws:sqs", "body": text}
