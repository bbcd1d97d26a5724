"""`python -m tools.parts.play`: a cluster, and a cloud beside it, to play with until Ctrl-C."""

import argparse
import contextlib
import signal
import sys
import threading
import time
from pathlib import Path

from tools.parts.catalog.kubectl import PART as KUBECTL
from tools.parts.cluster import Cluster, start_cluster
from tools.parts.part import Absent
from tools.parts.play.playground import Playground, Taken, claim, furnish
from tools.parts.site import Site, join_them

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "build" / "cluster"
EXAMPLE_NODE = (
    '{"apiVersion": "v1", "kind": "Node", '
    '"metadata": {"name": "worker-1", "labels": {"kubernetes.io/hostname": "worker-1"}}, '
    '"status": {"allocatable": {"cpu": "2", "memory": "4Gi", "pods": "110"}}}'
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="tools.parts.play", description=__doc__)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where settings and records go meanwhile")
    asked = parser.parse_args()
    asked_to_stop = threading.Event()
    for asks in (signal.SIGINT, signal.SIGTERM):
        signal.signal(asks, lambda *_: asked_to_stop.set())
    with contextlib.ExitStack() as started:
        try:
            folder = started.enter_context(claim(asked.folder.resolve()))
            play(started, folder)
        except (Absent, Taken) as error:
            print(error, file=sys.stderr)
            return 1
        print("\nCtrl-C stops and removes all of it.", flush=True)
        asked_to_stop.wait()
        print("\nstopping …", flush=True)
    print("everything is stopped and removed", flush=True)
    return 0


def play(started: contextlib.ExitStack, folder: Path) -> None:
    began_s = time.monotonic()
    print(
        "starting etcd, kube-apiserver, kube-scheduler, kube-controller-manager, kwok and EC2 …", flush=True
    )
    cluster = started.enter_context(start_cluster())
    site = _cloud_beside(cluster, started)
    print(f"ready after {time.monotonic() - began_s:.1f} s\n")
    show_cluster(cluster)
    if isinstance(site, Site):
        show_playground(furnish(site, folder))
    else:
        print(f"\n  Without EC2: {site}")
        show_adding_a_node(cluster)


def show_cluster(cluster: Cluster) -> None:
    print(f"  apiserver   {cluster.server}")
    print(f"  kubeconfig  {cluster.kubeconfig}")
    print(f"  logs        {cluster.running.folder}/*.log")


def show_playground(ground: Playground) -> None:
    enter = f"cd {_near(ground.folder)} && . ./env"
    print(f"  EC2         {ground.site.ec2.endpoint}")
    print(f"  cloud's log {ground.site.ec2.log_file}")
    print(f"  settings    {_near(ground.folder)}/holdfast.toml")
    print("\n  There is no node yet.  In a second terminal, let the autoscaler bring the first two:\n")
    print(f"    {enter}")
    print("    holdfast autoscaler run --every 2")
    print("\n  In a third, look, and give them something to do:\n")
    print(f"    {enter}")
    print("    kubectl get nodes")
    print("    kubectl apply -f shop.yaml")
    print("    kubectl scale deployment shop --replicas 14")
    print("    holdfast autoscaler status")
    print("\n  Then give it a bad day (a spot notice, a dead machine, a hung kubelet, an empty market):\n")
    print("    chaos notice")
    print("    chaos --help")
    print("\n  docs/guides/walk-through.md goes on from here.")


def show_adding_a_node(cluster: Cluster) -> None:
    kubectl = KUBECTL.program if KUBECTL.installed else Path("kubectl")
    print("\n  There is no node yet.  This adds one and shows it turn Ready:\n")
    print(f"    export KUBECONFIG={cluster.kubeconfig}")
    print(f"    echo '{EXAMPLE_NODE}' | {kubectl} create -f -")
    print(f"    {kubectl} get nodes --watch")


def _near(path: Path) -> Path:
    """As one would type it where this was started."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def _cloud_beside(cluster: Cluster, started: contextlib.ExitStack) -> Site | Absent:
    """The stand-in for EC2, whose instances join; without it a cluster is still worth having."""
    beside = contextlib.ExitStack()
    try:
        with beside:
            return started.enter_context(join_them(cluster, beside))
    except Absent as error:
        return error
    raise AssertionError("nothing above swallows an exception")


if __name__ == "__main__":
    raise SystemExit(main())
