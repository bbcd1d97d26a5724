"""A control plane, a cloud and loops that watch: how soon they ask for what is needed."""

import json
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from holdfast.app.autoscaler.stores import open_stores
from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.ports import ClusterStore
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.settings.load import load
from tools.endure.load import wait
from tools.parts.ec2.behaviour import Behaviour
from tools.parts.ports import free_port
from tools.parts.running import Running
from tools.parts.site import PROFILE, TOKEN_PARAMETER, Site, start_site

CLUSTER, NAMESPACE = "reacting", "waiting"
TYPE, CPU = "m5.large", "1500m"
"""One such pod fills a machine of this type."""
LABELS = {"app": "waiting"}
POD_SPEC = {"containers": [{"name": "main", "image": "none", "resources": {"requests": {"cpu": CPU}}}]}
HANG_S = 600.0
LOOK_S = 0.01
SETTINGS: Mapping[str, object] = {
    "cluster_name": CLUSTER,
    "metrics": "requests",
    "cpu_up": 1.0,
    "cpu_down": 0.01,
    "min_workers": 1,
    "max_workers": 200,
    "max_batch_up": 50,
    "pending_up_s": 0,
    "cooldown_up_s": 0,
    "lock_ttl_s": 5,
    "launches_per_hour_max": 100_000,
    "join_timeout_s": 300,
}


@dataclass
class Reaction:
    """One cluster with its loops."""

    site: Site
    running: Running
    toml: Path
    names: list[str] = field(default_factory=list)

    def start(self, every_s: float = 30.0) -> str:
        """One more loop that watches; its name."""
        name, port = f"loop-{len(self.names)}", free_port()
        program = Path(sys.executable).parent / "holdfast"
        words = ["autoscaler", "run", "--watch", "--config", str(self.toml), "--every", str(every_s)]
        self.running.start(name, [program, *words, "--metrics-port", str(port)], env=self.site.environment)
        self.names.append(name)
        return name

    @cached_property
    def _store(self) -> ClusterStore:
        loaded = load(tomllib.loads(self.toml.read_text()), {})
        return open_stores(loaded.settings, self.site.environment).store

    @property
    def record(self) -> Cluster:
        return self._store.read(SUBJECT).value

    def at_rest(self) -> None:
        """No action is open, no pod is on a machine that leaves, and every pod has its node."""
        try:
            wait(self._is_at_rest, "nothing is open", timeout_s=HANG_S)
        except Exception as late:
            raise AssertionError(
                "\n".join([str(late), *(self.running.tail(n) for n in self.names)])
            ) from late

    def _is_at_rest(self) -> bool:
        record = self.record
        pods = self.site.cluster.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods").ok()["items"]
        moved = all(affected.drained for affected in record.interrupted)
        return moved and not record.scaling_in_progress and all(pod["spec"].get("nodeName") for pod in pods)

    def launched_s(self, after_n: int) -> float:
        """When EC2 was next asked for a machine."""
        found: list[float] = []

        def asked() -> bool:
            calls = (entry for entry in self.site.ec2.log(after_n) if entry["kind"] == "call")
            found.extend(entry["at_s"] for entry in calls if entry["action"] == "RunInstances")
            return bool(found)

        wait(asked, "a machine is asked for", timeout_s=HANG_S, every_s=LOOK_S)
        return found[0]

    def create_pod(self, name: str) -> None:
        body = {"metadata": {"name": name, "labels": LABELS}, "spec": POD_SPEC}
        self.site.cluster.request("POST", f"/api/v1/namespaces/{NAMESPACE}/pods", body).ok()

    def keep_pods(self) -> None:
        """From now on each that is evicted comes again: without, no machine would be needed for it."""
        there = self.site.cluster.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods").ok()["items"]
        template = {"metadata": {"labels": LABELS}, "spec": POD_SPEC}
        spec = {"replicas": len(there), "selector": {"matchLabels": LABELS}, "template": template}
        body = {"metadata": {"name": "kept"}, "spec": spec}
        self.site.cluster.request("POST", f"/apis/apps/v1/namespaces/{NAMESPACE}/replicasets", body).ok()

    def pod_to_launch_s(self, name: str) -> float:
        """From the moment in which a pod is created that fits nowhere: the scheduler's own time included."""
        entries = len(self.site.ec2.log())
        began_s = time.time()
        self.create_pod(name)
        return self.launched_s(entries) - began_s

    def notice_to_answer_s(self, node: str, instance_id: str) -> float:
        """From EC2's notice until its replacement is asked for and the node is cordoned."""
        entries = len(self.site.ec2.log())
        began_s = time.time()
        self.site.ec2.interrupt(instance_id, in_s=120)
        closed_s: list[float] = []

        def closed() -> bool:
            found = self.site.cluster.request("GET", f"/api/v1/nodes/{node}").ok()
            closed_s.append(time.time())
            return bool(found["spec"].get("unschedulable"))

        wait(closed, f"{node} is cordoned", timeout_s=HANG_S, every_s=LOOK_S)
        return max(closed_s[-1], self.launched_s(entries)) - began_s

    def workers(self) -> list[tuple[str, str]]:
        """Nodes that take pods, each with its machine."""
        nodes: list[dict[str, Any]] = self.site.cluster.request("GET", "/api/v1/nodes").ok()["items"]
        return [
            (node["metadata"]["name"], node["spec"]["providerID"].rpartition("/")[2])
            for node in nodes
            if not node["spec"].get("unschedulable")
        ]


def _toml(values: Mapping[str, object]) -> Iterator[str]:
    """JSON's texts, numbers and lists of texts are TOML's."""
    for name, value in values.items():
        yield f"{name} = {json.dumps(value)}"


@contextmanager
def reacting(loops: int = 1) -> Iterator[Reaction]:
    """With so many loops, at rest at the floor.  Raises Absent."""
    with start_site(behaviour=Behaviour(), rates=False) as site:
        queue = str(site.client("sqs").create_queue(QueueName="notices")["QueueUrl"])
        site.ec2.deliver_to(queue)
        site.cluster.add_namespace(NAMESPACE)
        running = Running("watching")
        try:
            toml = running.folder / "holdfast.toml"
            own = {
                **SETTINGS,
                "database": str(running.folder / "state.db"),
                "kubeconfig": str(site.cluster.kubeconfig),
                "region": site.ec2.region,
                "notice_queue_url": queue,
                "k3s_url": site.k3s_url,
                "k3s_ca_hash": site.ca_hash,
                "k3s_cluster_token_param": TOKEN_PARAMETER,
            }
            pool = {
                "name": "default",
                "instance_types": [TYPE],
                "ami_id": site.image,
                "subnet_ids": list(site.subnets.values()),
                "security_group_ids": [site.security_group],
                "instance_profile": PROFILE,
            }
            lines = ["[autoscaler]", *_toml(own), "[[autoscaler.pools]]", *_toml(pool)]
            toml.write_text("\n".join([*lines, ""]))
            made = Reaction(site, running, toml)
            for _ in range(loops):
                made.start()
            made.create_pod("first")  # fills the worker of the floor
            made.at_rest()
            yield made
        finally:
            running.stop()
