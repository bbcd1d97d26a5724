"""The command line of each program of a cluster, and why it has the flags that it has."""

from pathlib import Path

from tools.parts.catalog.kubernetes import PART as KUBERNETES
from tools.parts.catalog.kwok import PART as KWOK
from tools.parts.kubernetes.layout import Layout

CONTROLLERS = (
    "clusterrole-aggregation-controller",  # fills the roles view, edit and admin
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",  # the status of budgets: without it every eviction is refused
    "ephemeral-volume-controller",  # claims of volumes that live as long as their pod
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    "node-lifecycle-controller",  # NotReady, and the taints that go with it
    "persistentvolume-binder-controller",  # claims to volumes that are there; none is made
    "pod-garbage-collector-controller",  # pods of nodes that are gone
    "replicaset-controller",
    "serviceaccount-controller",
    "statefulset-controller",
    "taint-eviction-controller",  # NoExecute
)

SILENT = "kwok.holdfast/silent"
"""A node with this label has lost its kubelet: no heartbeat, and its pods neither start nor end.

Nor does KWOK, while it selects by label, serve a node that has no label at all.
"""

Command = list[str | Path]


def etcd(at: Layout) -> Command:
    return [
        KUBERNETES.program("etcd"),
        f"--data-dir={at.folder / 'etcd'}",
        f"--listen-client-urls=unix://{at.etcd_socket}",
        # It must advertise a host and listen for peers, though there are none: any free port will do.
        "--advertise-client-urls=http://127.0.0.1:0",
        "--listen-peer-urls=http://127.0.0.1:0",
        "--log-level=warn",
        # The data lives no longer than the process: a power cut has nothing to take away.
        "--unsafe-no-fsync",
    ]


def apiserver(at: Layout) -> Command:
    return [
        KUBERNETES.program("kube-apiserver"),
        f"--etcd-servers=unix://{at.etcd_socket}",
        "--bind-address=127.0.0.1",
        f"--secure-port={at.apiserver_port}",
        f"--cert-dir={at.certificates}",
        # Loopback cannot be an endpoint of the service `kubernetes`, and nothing here asks for it.
        "--advertise-address=127.0.0.1",
        "--endpoint-reconciler-type=none",
        "--service-cluster-ip-range=10.96.0.0/16",
        "--authorization-mode=RBAC",
        f"--token-auth-file={at.token_file}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-signing-key-file={at.signing_key}",
        f"--service-account-key-file={at.signing_key}",
        "--profiling=false",
    ]


def scheduler(at: Layout) -> Command:
    return [
        KUBERNETES.program("kube-scheduler"),
        f"--secure-port={at.scheduler_port}",
        *_client_of_the_apiserver(at),
    ]


def controllers(at: Layout, node_grace_s: int) -> Command:
    return [
        KUBERNETES.program("kube-controller-manager"),
        f"--secure-port={at.controllers_port}",
        *_client_of_the_apiserver(at),
        f"--controllers={','.join(CONTROLLERS)}",
        f"--node-monitor-grace-period={node_grace_s}s",
        "--node-monitor-period=1s",
    ]


def kwok(at: Layout, node_grace_s: int) -> Command:
    # A lease is renewed four times in its life, and Kubernetes gives a node a quarter more than that.
    lease_s = max(4, node_grace_s * 4 // 5)
    return [
        KWOK.program,
        f"--kubeconfig={at.kubeconfig}",
        f"--manage-nodes-with-label-selector=!{SILENT}",
        f"--node-lease-duration-seconds={lease_s}",
        f"--server-address=127.0.0.1:{at.kwok_port}",
        *_serving(at),
        *(f"--config={stage}" for stage in KWOK.stages),
    ]


def _client_of_the_apiserver(at: Layout) -> list[str]:
    return [
        f"--kubeconfig={at.kubeconfig}",
        "--leader-elect=false",
        # The defaults of 20 and 50 requests a second are kind to a busy apiserver; this one is not shared.
        "--kube-api-qps=1000",
        "--kube-api-burst=2000",
        "--bind-address=127.0.0.1",
        *_serving(at),
        "--profiling=false",
    ]


def _serving(at: Layout) -> list[str]:
    """Health over TLS with the cluster's certificate: no neighbour's answer can be taken for this one's."""
    return [f"--tls-cert-file={at.ca_file}", f"--tls-private-key-file={at.serving_key}"]
