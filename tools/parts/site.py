"""A cluster and a cloud that belong together: machines launched in the one join the other.

with start_site() as site:
    site.cluster.request("GET", "/api/v1/nodes")
    boto3.client("ec2", **site.ec2.client_arguments())
"""

import hashlib
import importlib
import json
import os
import ssl
import sys
import urllib.request
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.parts.boot.cluster import Join, KubernetesApi
from tools.parts.boot.start import Boot
from tools.parts.catalog.ec2 import PART as EC2
from tools.parts.catalog.ec2 import Ec2
from tools.parts.cluster import NODE_GRACE_S, Cluster, start_cluster
from tools.parts.ec2.behaviour import Behaviour
from tools.parts.ports import free_port
from tools.parts.stopping import Stopping

SOURCE = Path(__file__).parents[2]
JOIN_TOKEN = "sesame"
TOKEN_PARAMETER = "/k3s/token"
PROFILE = "workers"
ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")


@dataclass(frozen=True)
class Site(Stopping):
    """A started control plane and a started EC2, with all that a machine needs to get from there to here."""

    cluster: Cluster
    ec2: Ec2
    boot: Boot
    k3s_url: str
    """Where a machine asks for the authority, and what its agent must join."""
    ca_hash: str
    security_group: str
    closing: ExitStack

    @property
    def image(self) -> str:
        return self.ec2.images()["x86_64"]

    @property
    def subnets(self) -> dict[str, str]:
        """One in each of three zones."""
        there = self.ec2.subnets()
        return {zone: there[zone] for zone in ZONES}

    @property
    def environment(self) -> dict[str, str]:
        """What points any AWS client at this cloud."""
        say = self.ec2.client_arguments()
        return {
            "AWS_ENDPOINT_URL": say["endpoint_url"],
            "AWS_REGION": say["region_name"],
            "AWS_DEFAULT_REGION": say["region_name"],
            "AWS_ACCESS_KEY_ID": say["aws_access_key_id"],
            "AWS_SECRET_ACCESS_KEY": say["aws_secret_access_key"],
        }

    def client(self, service: str) -> Any:
        make: Any = importlib.import_module("boto3").client
        return make(service, **self.ec2.client_arguments())

    def stop(self) -> None:
        self.closing.close()


def start_site(
    *, node_grace_s: int = NODE_GRACE_S, behaviour: Behaviour | None = None, rates: bool = True
) -> Site:
    """Start both, and return when machines can join.  Raises Absent."""
    with ExitStack() as started:
        cluster = started.enter_context(start_cluster(node_grace_s=node_grace_s))
        return join_them(cluster, started, behaviour=behaviour, rates=rates)
    raise AssertionError("nothing above swallows an exception")


def join_them(
    cluster: Cluster, started: ExitStack, *, behaviour: Behaviour | None = None, rates: bool = True
) -> Site:
    """A cloud beside this cluster.  What `started` holds is the site's from here on."""
    ec2 = EC2.start(behaviour=behaviour, rates=rates)
    started.callback(ec2.stop)
    url = start_supervisor(cluster)
    api = KubernetesApi(cluster.server, str(cluster.ca_file), cluster.admin_token)
    boot = ec2.boot(Join(url, JOIN_TOKEN, api))
    digest = hashlib.sha256(cluster.ca_file.read_bytes()).hexdigest()
    group = _prepare_account(ec2.client_arguments())
    return Site(cluster, ec2, boot, url, digest, group, started.pop_all())


def start_supervisor(cluster: Cluster) -> str:
    """The part of a k3s server that a bare control plane lacks; returns its address."""
    port = free_port()
    argv = [sys.executable, "-m", "tools.parts.boot.supervisor", "--port", str(port)]
    files: list[str | Path] = ["--certificate", cluster.ca_file, "--key", cluster.layout.serving_key]
    path = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
    cluster.running.start("k3s-supervisor", [*argv, *files], env={"PYTHONPATH": path})
    url = f"https://127.0.0.1:{port}"
    cluster.running.wait_until("k3s-supervisor", lambda: _serves(f"{url}/cacerts", cluster.ca_file))
    return url


def _serves(url: str, ca_file: Path) -> bool:
    try:
        context = ssl.create_default_context(cafile=ca_file)
        with urllib.request.urlopen(url, timeout=30, context=context) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _prepare_account(arguments: Mapping[str, str]) -> str:
    """The token, a profile that may read it, and a security group; returns the group's id."""
    make: Any = importlib.import_module("boto3").client
    make("ssm", **arguments).put_parameter(Name=TOKEN_PARAMETER, Value=JOIN_TOKEN, Type="SecureString")
    iam = make("iam", **arguments)
    trust = {"Statement": {"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "*"}}
    iam.create_role(RoleName=PROFILE, AssumeRolePolicyDocument=json.dumps(trust))
    iam.create_instance_profile(InstanceProfileName=PROFILE)
    iam.add_role_to_instance_profile(InstanceProfileName=PROFILE, RoleName=PROFILE)
    groups = make("ec2", **arguments).describe_security_groups(GroupNames=["default"])["SecurityGroups"]
    return str(groups[0]["GroupId"])
