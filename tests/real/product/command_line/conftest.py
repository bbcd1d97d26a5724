"""One site for the folder: a control plane, and a cloud whose machines join it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real.presence import present
from tests.real.product.command_line.shell import Shell
from tools.parts.catalog.ec2 import PART as EC2
from tools.parts.catalog.kubernetes import PART as KUBERNETES
from tools.parts.catalog.kwok import PART as KWOK
from tools.parts.ec2.behaviour import Behaviour
from tools.parts.play.playground import furnish
from tools.parts.site import Site, start_site

NODE_GRACE_S = 14
"""Long enough for a machine that is busy, and not so long that a hung kubelet is waited for in vain."""


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    for part in (KUBERNETES, KWOK, EC2):
        present(part)
    with start_site(
        node_grace_s=NODE_GRACE_S, behaviour=Behaviour(boot_delay_s=(0.1, 0.3)), rates=False
    ) as started:
        yield started


@pytest.fixture
def shell(site: Site, tmp_path: Path) -> Shell:
    """A command line, a record and a fleet of its own: the machines of an earlier test are gone."""
    leave_nothing(site)
    furnish(site, tmp_path)
    return Shell(tmp_path / "holdfast.toml", {"KUBECONFIG": str(site.cluster.kubeconfig), **site.environment})


def leave_nothing(site: Site) -> None:
    """A record of its own knows nothing of machines that another record launched."""
    api = site.client("ec2")
    found = [
        each["InstanceId"]
        for reservation in api.describe_instances()["Reservations"]
        for each in reservation["Instances"]
        if each["State"]["Name"] in ("pending", "running")
    ]
    if found:
        api.terminate_instances(InstanceIds=found)
    for node in site.cluster.request("GET", "/api/v1/nodes").ok()["items"]:
        site.cluster.request("DELETE", f"/api/v1/nodes/{node['metadata']['name']}")
