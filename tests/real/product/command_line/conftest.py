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
from tools.parts.playground import furnish
from tools.parts.site import Site, start_site


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    for part in (KUBERNETES, KWOK, EC2):
        present(part)
    with start_site(behaviour=Behaviour(boot_delay_s=(0.1, 0.3)), rates=False) as started:
        yield started


@pytest.fixture
def shell(site: Site, tmp_path: Path) -> Shell:
    """A command line of its own, with a record of its own."""
    furnish(site, tmp_path)
    return Shell(tmp_path / "holdfast.toml", {"KUBECONFIG": str(site.cluster.kubeconfig), **site.environment})
