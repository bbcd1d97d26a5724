"""What a person needs to run the autoscaler against a site: its settings, and the environment.

Alone of all here it knows a product: it writes the settings down as that product reads them.
"""

import fcntl
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.parts.catalog.kubectl import PART as KUBECTL
from tools.parts.site import PROFILE, TOKEN_PARAMETER, Site

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples" / "shop.yaml"
CHAOS = """\
#!/bin/sh
PYTHONPATH='{source}' exec '{python}' -m tools.parts.play.chaos "$@"
"""
QUEUE = "notices"
CLASS, VOLUMES = "standard", 20
TYPES = {"m5.large": 0.096, "m5a.large": 0.086}
"""Dollars an hour on demand; spot is a third of it."""

SETTINGS = """\
# Written by `make cluster` for the cluster and the EC2 that it has started.
# examples/holdfast.toml shows what one would write for a cluster of one's own.

[autoscaler]
cluster_name = "playground"
database = {database}
kubeconfig = {kubeconfig}
region = {region}
# Busy is what pods have reserved: nothing is measured here.  So full nodes are no reason for
# another one, but pods that find no room are.
metrics = "requests"
cpu_up = 1.0
cpu_down = 0.3

min_workers = 2
max_workers = 6
max_batch_up = 4
max_batch_down = 1

# In earnest these are minutes.
pending_up_s = 5
idle_down_s = 20
cooldown_up_s = 10
cooldown_down_s = 15
join_timeout_s = 120
not_ready_s = 20
lock_ttl_s = 10

# Spot notices and rebalance hints come from here: `chaos notice` sends one.
notice_queue_url = {queue}

k3s_url = {k3s_url}
k3s_ca_hash = {ca_hash}
k3s_cluster_token_param = {token_parameter}

[autoscaler.usd_per_hour]
{prices}

[[autoscaler.pools]]
name = "default"
instance_types = {types}
ami_id = {image}
subnet_ids = {subnets}
security_group_ids = [{security_group}]
instance_profile = {profile}
"""


class Taken(Exception):
    """Another process plays in that folder; the message says what to do."""


@dataclass(frozen=True)
class Playground:
    """A folder with `holdfast.toml`, an environment for the shell, and something to deploy."""

    site: Site
    folder: Path


@contextmanager
def claim(folder: Path, what: str = "cluster") -> Iterator[Path]:
    """The folder, empty, until the end; then it is removed.  Raises Taken while another process has it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    lock = folder.with_name(f"{folder.name}.lock")
    with lock.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fix = f'use that one, stop it, or run `make {what} ARGS="--folder {folder}-2"`'
            raise Taken(f"another {what} is up in {folder}: {fix}") from None
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            lock.unlink(missing_ok=True)


def furnish(site: Site, folder: Path) -> Playground:
    """Write settings and environment into the folder."""
    for kind, usd_per_h in TYPES.items():
        for zone in site.subnets:
            site.ec2.set_price(kind, zone, f"{usd_per_h / 3:.4f}")
    _add_volumes(site)
    programs = folder / "bin"
    _link_programs(programs)
    (folder / "holdfast.toml").write_text(settings_text(site, folder, _queue(site)))
    (folder / "env").write_text(environment_text(site, programs))
    shutil.copy(EXAMPLE, folder)
    return Playground(site, folder)


def _add_volumes(site: Site) -> None:
    """A default class whose claims wait for their pod, and volumes for them that any node may have."""
    storage = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": CLASS,
            "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
        },
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    site.cluster.request("POST", "/apis/storage.k8s.io/v1/storageclasses", storage)
    for n in range(VOLUMES):
        volume = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"volume-{n + 1}"},
            "spec": {
                "capacity": {"storage": "10Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": CLASS,
                "persistentVolumeReclaimPolicy": "Retain",
                "hostPath": {"path": f"/volumes/{n + 1}"},
            },
        }
        site.cluster.request("POST", "/api/v1/persistentvolumes", volume)


def _queue(site: Site) -> str:
    """A queue to which the cloud sends its events, as an EventBridge rule would; its address."""
    url = str(site.client("sqs").create_queue(QueueName=QUEUE)["QueueUrl"])
    site.ec2.deliver_to(url)
    return url


def settings_text(site: Site, folder: Path, queue_url: str) -> str:
    values = {
        "database": folder / "state.db",
        "kubeconfig": site.cluster.kubeconfig,
        "region": site.ec2.region,
        "k3s_url": site.k3s_url,
        "ca_hash": site.ca_hash,
        "token_parameter": TOKEN_PARAMETER,
        "image": site.image,
        "security_group": site.security_group,
        "profile": PROFILE,
        "queue": queue_url,
    }
    # JSON's texts and lists of texts are TOML's.
    quoted = {name: json.dumps(str(value)) for name, value in values.items()}
    return SETTINGS.format(
        **quoted,
        types=json.dumps(list(TYPES)),
        subnets=json.dumps(list(site.subnets.values())),
        prices="\n".join(f"{json.dumps(kind)} = {usd}" for kind, usd in TYPES.items()),
    )


def environment_text(site: Site, programs: Path) -> str:
    """For a shell to read: any AWS client, kubectl and holdfast itself mean this site."""
    exported = {"KUBECONFIG": str(site.cluster.kubeconfig), **site.environment}
    lines = [f"export {name}='{value}'" for name, value in exported.items()]
    return "\n".join([*lines, f"export PATH='{programs}':\"$PATH\"", ""])


def _link_programs(folder: Path) -> None:
    """A folder of just these: the environments that they live in hold a Python each."""
    folder.mkdir()
    (folder / "holdfast").symlink_to(Path(sys.executable).parent / "holdfast")
    chaos = folder / "chaos"
    chaos.write_text(CHAOS.format(source=ROOT, python=sys.executable))
    chaos.chmod(0o755)
    if KUBECTL.installed:
        (folder / "kubectl").symlink_to(KUBECTL.program)
