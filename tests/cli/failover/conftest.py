"""One server for the tests of a module; a folder and a shell for each."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.cli.failover import api
from tests.cli.failover.shell import Shell
from tests.server.running import Running, running
from tests.server.tenancy import Tenant, tenant


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with running(tmp_path_factory.mktemp("server")) as found:
        yield found


@pytest.fixture(scope="module")
def shop(server: Running) -> Tenant:
    return tenant(server, "shop", "db")


@pytest.fixture
def shell(server: Running, shop: Tenant, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(api, "TIMEOUT_S", 2.0)
    file = tmp_path / "operator.token"
    file.write_text(shop.token)
    file.chmod(0o600)
    environ = {
        "FAILOVER_SERVER": server.url,
        "FAILOVER_DATABASE": f"sqlite:{server.folder / 'failover.db'}",
        "FAILOVER_TOKEN_FILE": str(file),
    }
    return Shell(tmp_path, shop.token, environ)
