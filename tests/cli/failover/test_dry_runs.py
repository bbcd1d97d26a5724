"""Every command that changes something can be tried: it says what it would do, and changes nothing."""

import json
import sqlite3
from pathlib import Path

import pytest

from tests.cli.failover.shell import Shell
from tests.server.running import Running

TRIED = {
    "enrol": ("new", "--out", "made"),
    "resume": ("db",),
    "settings": ("db", "standbys=3"),
    "sweep": (),
    "revive": ("shop-db-1", "--why", "test"),
    "clients add": ("bank", "--out", "made"),
    "clients token": ("shop", "--out", "made"),
    "migrate": (),
    "recover": (),
    "sweep --gone": ("shop-db-1", "--why", "test"),
}
REFUSED = {
    "pause": ("db", "--until", "1h", "--why", "test"),
    "switch": ("db",),
    "promote": ("no-such-replica",),
}
"""What this group is not ready for; a dry run says so too."""


def stored(server: Running) -> list[str]:
    """All that commands change."""
    tenants, groups = server.server.stores.tenants, server.server.stores.groups
    return [
        str(each)
        for client in tenants.clients()
        for each in (
            client,
            *tenants.tokens(client.client_id),
            *(groups.read(f"{client.client_id}/{agent_id}") for agent_id in tenants.agents(client.client_id)),
        )
    ]


@pytest.mark.parametrize("name", [*TRIED, *REFUSED])
def test_a_dry_run_changes_nothing(shell: Shell, server: Running, name: str) -> None:
    before, files = stored(server), shell.files()
    words = (*name.split(), *{**TRIED, **REFUSED}[name], "--dry-run")
    done, said = shell(*words, "--json"), shell(*words)
    assert done.exit_code == said.exit_code == (1 if name in REFUSED else 0), (done.stdout, done.stderr)
    assert json.loads(done.stdout)
    assert said.stderr if name in REFUSED else said.stdout
    assert stored(server) == before
    assert shell.files() == files


def test_what_was_tried_can_be_done(shell: Shell, server: Running) -> None:
    before = stored(server)
    assert json.loads(shell("settings", "db", "standbys=4", "--dry-run", "--json").stdout)["standbys"] == 4
    assert stored(server) == before
    assert json.loads(shell("settings", "db", "standbys=4", "--json").stdout)["standbys"] == 4
    assert stored(server) != before


def test_a_migration_that_is_tried_makes_no_file(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "fresh.db"
    words = ("migrate", "--database", f"sqlite:{file}")
    assert json.loads(shell(*words, "--dry-run", "--json").stdout)["pending"]
    assert not file.exists()
    sqlite3.connect(file).close()
    assert "migrations would be applied" in shell(*words, "--dry-run").stdout
    assert shell(*words).exit_code == 0
    assert json.loads(shell(*words, "--dry-run", "--json").stdout)["pending"] == []
