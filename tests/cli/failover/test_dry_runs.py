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
    "clients end-token": ("shop", "TOKEN"),
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
    known = server.server.stores.tenants.tokens("shop")[0].token_id
    given = (known if word == "TOKEN" else word for word in {**TRIED, **REFUSED}[name])
    words = (*name.split(), *given, "--dry-run")
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


def test_a_token_is_replaced_without_a_gap(shell: Shell, server: Running, tmp_path: Path) -> None:
    assert shell("clients", "token", "shop", "--out", str(tmp_path / "first")).exit_code == 0
    before = {row["token_id"]: row for row in json.loads(shell("clients", "tokens", "shop", "--json").stdout)}
    assert shell("clients", "token", "shop", "--out", str(tmp_path / "second")).exit_code == 0
    (old,) = (
        each for each in before.values() if each["created_s"] == max(r["created_s"] for r in before.values())
    )
    for file in ("first", "second"):
        assert shell("status", FAILOVER_TOKEN_FILE=str(tmp_path / file)).exit_code == 0
    assert old["token_id"] in shell("clients", "tokens", "shop").stdout
    assert "is ended" in shell("clients", "end-token", "shop", old["token_id"]).stdout
    server.server.tokens.forget(old["token_id"])  # as it does by itself after some seconds
    assert "UNAUTHENTICATED" in shell("status", FAILOVER_TOKEN_FILE=str(tmp_path / "first")).stderr
    assert shell("status", FAILOVER_TOKEN_FILE=str(tmp_path / "second")).exit_code == 0
    said = shell.refused("clients", "end-token", "shop", old["token_id"], code=1)
    assert "has none of that id; `holdfast failover clients tokens shop` lists them" in said
    assert "there is none" in shell.refused("clients", "tokens", "bank", code=1)
