"""Who counts for the leases: Kinesis the shards, the KCL's table its rows, an owner the workers it wants."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from holdfast.app.clients import aws_client
from holdfast.kernel import Invalid
from holdfast.leases.ports import ExpectedWorkers, LeaseRows, NotKnown, ShardCount
from holdfast.leases.settings import Settings

if TYPE_CHECKING:
    from holdfast.adapters.kubernetes.client import Client


@dataclass(frozen=True, slots=True)
class GivenWorkers:
    """As the operator says: KDS_WORKER_COUNT."""

    count: int

    def expected(self) -> int | NotKnown:
        return self.count


def shard_count(settings: Settings, environ: Mapping[str, str] = os.environ) -> ShardCount:
    from holdfast.adapters.aws.kinesis import KinesisShards, make_client

    return KinesisShards(aws_client(make_client, settings.region, environ), settings.stream_name)


def lease_rows(settings: Settings, environ: Mapping[str, str] = os.environ) -> LeaseRows:
    from holdfast.adapters.aws.dynamodb.client import make_client
    from holdfast.adapters.aws.dynamodb.lease_rows import KclLeaseRows

    return KclLeaseRows(aws_client(make_client, settings.region, environ), settings.lease_table_name)


def expected_workers(settings: Settings, environ: Mapping[str, str] = os.environ) -> ExpectedWorkers:
    """The number that was given, else that of the owner of this worker's pod.  Signs in when it is asked."""
    if settings.kds_worker_count:
        return GivenWorkers(settings.kds_worker_count)
    from holdfast.adapters.kubernetes.expected_workers import OwnersReplicas

    return OwnersReplicas(
        lambda: _api(settings, environ),
        namespace=settings.pod_namespace or _own_namespace(),
        pod=settings.pod_name or environ.get("HOSTNAME", "") or os.uname().nodename,
    )


def _api(settings: Settings, environ: Mapping[str, str]) -> "Client":
    from holdfast.adapters.kubernetes import ClusterAccess
    from holdfast.adapters.kubernetes.auth.sign_in import choose
    from holdfast.adapters.kubernetes.client import Client

    if not (settings.kubeconfig or environ.get("KUBECONFIG") or environ.get("KUBERNETES_SERVICE_HOST")):
        raise Invalid("this is no pod, and no kubeconfig is named: set kubeconfig (KUBECONFIG)")
    return Client(choose(ClusterAccess(kubeconfig=settings.kubeconfig), environ))


def _own_namespace() -> str:
    """That of the pod's service account, as every client in a pod takes it."""
    from holdfast.adapters.kubernetes.auth.cluster_access import SERVICE_ACCOUNT

    told = Path(SERVICE_ACCOUNT, "namespace")
    return told.read_text().strip() if told.is_file() else "default"
