"""Workers in the pods of a real control plane: through a rollout the cap is never too low for those alive."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from holdfast.adapters.kubernetes.expected_workers import MANIFEST
from holdfast.app.leases import open_store
from holdfast.kernel.event import Logged
from holdfast.leases.cap import coordinator
from holdfast.leases.events import LeaseEvent
from holdfast.leases.settings import Settings
from holdfast.leases.settings.load import load
from holdfast.stream.live import LiveCap
from tests.real.corner import Corner
from tests.real.presence import present
from tests.real.product.leases.site import Site
from tests.real.traces import wait_until
from tests.real.workload import Workload
from tests.tidy.repository import ROOT
from tools.parts.catalog.kubernetes import PART as KUBERNETES
from tools.parts.catalog.kwok import PART as KWOK
from tools.parts.cluster import Cluster, start_cluster
from tools.parts.kubernetes.credentials import write_kubeconfig

WORKERS, SHARDS = 4, 24
RBAC = "/apis/rbac.authorization.k8s.io/v1"
APIS = {
    "ServiceAccount": ("/api/v1", "serviceaccounts"),
    "Role": (RBAC, "roles"),
    "RoleBinding": (RBAC, "rolebindings"),
}
LAG_S = 3.0
"""So old may be what a worker last saw of the others, on a busy machine."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    for part in (KUBERNETES, KWOK):
        present(part)
    with start_cluster() as started:
        yield started


@pytest.fixture
def corner(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[Corner]:
    with Corner(cluster, request.node.name) as mine:
        yield mine


@pytest.fixture
def settings(site: Site, corner: Corner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Of a worker under the shipped Role, which must ask Kubernetes how many are expected."""
    for document in yaml.safe_load_all((ROOT / MANIFEST).read_text()):
        api, resource = APIS[document["kind"]]
        corner.cluster.request("POST", corner.path(resource, api=api), document).ok()
    token = corner.cluster.service_account_token(corner.name, "holdfast-leases")
    write_kubeconfig(
        tmp_path / "kubeconfig", server=corner.cluster.server, ca_file=corner.cluster.ca_file, token=token
    )
    environment = site.environment("any", KUBECONFIG=str(tmp_path / "kubeconfig"))
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    return replace(load({}, environment).settings, pod_namespace=corner.name, heartbeat_s=0.3)


@dataclass
class Pods:
    """Plays the kubelets: in each running pod of the workload there is a worker, and none elsewhere."""

    workload: Workload
    settings: Settings
    workers: dict[str, LiveCap] = field(default_factory=dict)
    alive: list[tuple[float, int]] = field(default_factory=list)
    """How many workers there were from each moment on."""
    came: int = 0
    went: int = 0

    def follow(self, stop: threading.Event) -> None:
        while not stop.wait(0.05):
            pods = (pod["metadata"] for pod in self.workload.pods(phase="Running"))
            running = {pod["uid"]: pod["name"] for pod in pods}
            for uid in self.workers.keys() - running.keys():
                self._end(uid)
            for uid in running.keys() - self.workers.keys():
                self._begin(uid, running[uid])
        for uid in list(self.workers):
            self._end(uid)

    def settled(self) -> bool:
        return {pod["metadata"]["uid"] for pod in self.workload.pods()} == self.workers.keys()

    def _begin(self, uid: str, name: str) -> None:
        """A pod of a StatefulSet has the name of the one before it, and so its worker has its id."""
        self.came += 1
        self.alive.append((time.time(), len(self.workers) + 1))
        live = LiveCap(settings=replace(self.settings, worker_id=name, pod_name=name))
        live.start()
        self.workers[uid] = live

    def _end(self, uid: str) -> None:
        self.went += 1
        self.workers.pop(uid).stop()
        self.alive.append((time.time(), len(self.workers)))

    def most_alive(self, until_s: float) -> int:
        """The most workers that there were at any moment shortly before."""
        before = [count for at_s, count in self.alive if at_s < until_s - LAG_S]
        shortly = [count for at_s, count in self.alive if until_s - LAG_S <= at_s <= until_s]
        return max([*before[-1:], *shortly])


@contextmanager
def followed(workload: Workload, settings: Settings) -> Iterator[Pods]:
    pods, stop = Pods(workload, settings), threading.Event()
    thread = threading.Thread(target=pods.follow, args=(stop,))
    thread.start()
    try:
        yield pods
    finally:
        stop.set()
        thread.join()


def agreements(settings: Settings) -> list[Logged]:
    with open_store(settings) as opened:
        events = opened.store.events(coordinator(settings.app_name))
    return [each for each in events if each.event.kind == LeaseEvent.CAP_AGREED]


def rolled_out(workload: Workload) -> bool:
    """While new pods surge, as many run as in the end, and some of the old ones still do."""
    return len(workload.names()) == len(workload.names(release="2", phase="Running")) == WORKERS


SLOWLY = {"minReadySeconds": 1}
"""KWOK's pods begin and end in no time, and no worker could follow them."""
STRATEGIES: dict[str, dict[str, Any]] = {
    "StatefulSet": SLOWLY,
    "Deployment": {**SLOWLY, "strategy": {"rollingUpdate": {"maxSurge": 2, "maxUnavailable": 0}}},
    "DaemonSet": SLOWLY,
}


@pytest.mark.parametrize("kind", STRATEGIES)
def test_through_a_rollout_the_cap_is_right_and_there_are_few_commits(
    site: Site, corner: Corner, settings: Settings, kind: str
) -> None:
    site.streams.make(site.stream, SHARDS)
    for n in range(WORKERS):
        corner.add_node(str(n))
    workload = Workload(corner, kind, "workers")
    with followed(workload, settings) as pods, ExitStack() as closing:
        workload.create(None if kind == "DaemonSet" else WORKERS, **STRATEGIES[kind])
        wait_until(lambda: len(pods.workers) == WORKERS and pods.settled(), "every pod has its worker")
        closing.callback(corner.cluster.request, "DELETE", workload.path)
        right = -(-SHARDS // WORKERS)
        wait_until(
            lambda: {live.max_leases for live in pods.workers.values()} == {right}, "each has the right cap"
        )
        first, before = len(agreements(settings)), int(site.agreed["version"])
        came, went = pods.came, pods.went
        workload.roll_out("2")
        wait_until(
            lambda: rolled_out(workload) and pods.settled(),
            "every pod is of the new release",
        )
        wait_until(lambda: site.agreed["max_leases_per_worker"] == str(right), "the cap is right in the end")
        later, commits = agreements(settings)[first:], int(site.agreed["version"]) - before
        came, went = pods.came - came, pods.went - went
    print(f"{kind}: {came} came, {went} went, {commits} commits")
    assert min(came, went) >= WORKERS, "every worker was replaced"
    assert len(later) <= commits <= came + went, "no more commits than comings and goings"
    for each in later:
        counted = each.event.numbers["worker_count"]
        assert counted <= WORKERS, "pods in excess are not counted"
        assert counted <= pods.most_alive(each.event.at_s), "none that is not there is counted on"
