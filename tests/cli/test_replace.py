"""`holdfast autoscaler replace`: whom it takes, and whom it refuses."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.small_shell import Shell, shell_in
from tests.workloads import node


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    return shell_in(tmp_path, monkeypatch)


def test_replace_writes_down_whom_and_says_what_it_waits_for(shell: Shell) -> None:
    dry = shell("replace", "n-1", "--dry-run")
    assert dry.exit_code == 0
    assert "n-1 (i-1, pool default, zone" in dry.output
    assert "would be replaced" in dry.output
    assert shell.record().interrupted == ()

    done = shell.json("replace", "i-1", "--why", "slow\x1b[2J disk")
    assert (done["instance"], done["node"], done["asked"]) == ("i-1", "n-1", True)
    (row,) = shell.record().interrupted
    assert row.why.startswith("an operator asks: slow")
    assert "is being replaced already" in shell("replace", "n-1").output
    assert "i-1 is being replaced" in shell("replace", "n-2", "--dry-run").output
    assert "i-1 (an operator asks" in shell("status").output


def test_a_node_that_bears_its_machines_id_is_named_once(shell: Shell) -> None:
    shell.world.its_nodes[1] = node("i-1", zone=shell.world.machines[1].zone)
    assert shell("replace", "i-1", "--dry-run").output.startswith("i-1 (pool default, zone ")


@pytest.mark.parametrize(
    ("node", "says"),
    [
        ("n-99", "NODE 'n-99': no worker has this name or instance id: `holdfast autoscaler status` lists"),
        ("server", "NODE 'server': no worker has this name"),
        ("n-0", "NODE 'n-0': Holdfast did not launch its machine, and ends no such: replace it yourself"),
    ],
)
def test_replace_refuses_what_is_unknown_or_not_ours(shell: Shell, node: str, says: str) -> None:
    shell.world.machines[0] = replace(shell.world.machines[0], action_id="", token="")
    done = shell("replace", node)
    assert done.exit_code == 1
    assert says in " ".join(done.output.split())
    assert "doctor" not in done.output
    assert shell.record().interrupted == ()
