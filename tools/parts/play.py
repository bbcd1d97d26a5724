"""`python -m tools.parts.play`: a cluster, and a cloud beside it, to play with until Ctrl-C."""

import contextlib
import signal
import sys
import threading
import time
from pathlib import Path

from tools.parts.boot.cluster import Join, KubernetesApi
from tools.parts.catalog.ec2 import PART as EC2
from tools.parts.catalog.ec2 import Ec2
from tools.parts.catalog.kubectl import PART as KUBECTL
from tools.parts.cluster import Cluster, start_cluster
from tools.parts.part import Absent

JOIN_TOKEN = "sesame"
EXAMPLE_NODE = (
    '{"apiVersion": "v1", "kind": "Node", '
    '"metadata": {"name": "worker-1", "labels": {"kubernetes.io/hostname": "worker-1"}}, '
    '"status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "110"}}}'
)


def main() -> int:
    asked_to_stop = threading.Event()
    for asks in (signal.SIGINT, signal.SIGTERM):
        signal.signal(asks, lambda *_: asked_to_stop.set())
    began_s = time.monotonic()
    print("starting etcd, kube-apiserver, kube-scheduler, kube-controller-manager and kwok …", flush=True)
    with contextlib.ExitStack() as started:
        try:
            cluster = started.enter_context(start_cluster())
        except Absent as error:
            print(error, file=sys.stderr)
            return 1
        ec2 = _ec2_beside(started, cluster)
        print(f"ready after {time.monotonic() - began_s:.1f} s\n")
        show_cluster(cluster)
        show_ec2(ec2, cluster)
        print("\nCtrl-C stops and removes all of it.", flush=True)
        asked_to_stop.wait()
        print("\nstopping …", flush=True)
    print("everything is stopped and removed", flush=True)
    return 0


def show_cluster(cluster: Cluster) -> None:
    kubectl = KUBECTL.program if KUBECTL.installed else Path("kubectl")
    print(f"  apiserver   {cluster.server}")
    print(f"  kubeconfig  {cluster.kubeconfig}")
    print(f"  logs        {cluster.running.folder}/*.log")
    print("\n  There is no node yet.  This adds one and shows it turn Ready:\n")
    print(f"    export KUBECONFIG={cluster.kubeconfig}")
    print(f"    echo '{EXAMPLE_NODE}' | {kubectl} create -f -")
    print(f"    {kubectl} get nodes --watch")


def show_ec2(ec2: Ec2 | Absent, cluster: Cluster) -> None:
    if isinstance(ec2, Absent):
        print(f"\n  Without EC2: {ec2}")
        return
    say = ec2.client_arguments()
    print("\n  EC2, for any AWS client:\n")
    print(f"    export AWS_ENDPOINT_URL={say['endpoint_url']} AWS_DEFAULT_REGION={say['region_name']}")
    keys = (say["aws_access_key_id"], say["aws_secret_access_key"])
    print("    export AWS_ACCESS_KEY_ID={} AWS_SECRET_ACCESS_KEY={}".format(*keys))
    print("\n  A launched instance executes its user data; with this one it joins the cluster:\n")
    print("    #!/bin/sh")
    print(f"    curl -sfL https://get.k3s.io | K3S_URL={cluster.server} K3S_TOKEN={JOIN_TOKEN} sh -s - agent")


def _ec2_beside(started: contextlib.ExitStack, cluster: Cluster) -> Ec2 | Absent:
    """The stand-in for EC2, whose instances join the cluster; without it a cluster is still worth having."""
    try:
        ec2 = EC2.start()
        started.callback(ec2.stop)
        api = KubernetesApi(cluster.server, str(cluster.ca_file), cluster.admin_token)
        ec2.boot(Join(cluster.server, JOIN_TOKEN, api))
    except Absent as error:
        return error
    return ec2


if __name__ == "__main__":
    raise SystemExit(main())
