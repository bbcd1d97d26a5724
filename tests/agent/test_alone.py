"""An agent needs Python and nothing else."""

import subprocess
import sys

from tests.agent.machine import environment

LOADED = """
import sys
before = set(sys.modules)
import holdfast.agent.main
ours = {name.split(".")[0] for name in set(sys.modules) - before}
print(*sorted(ours - set(sys.stdlib_module_names)))
"""


def test_it_loads_nothing_but_itself_and_the_standard_library() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED], env=environment(), capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["holdfast"]


def test_the_command_becomes_the_agent_itself() -> None:
    """In the place of the command, so that its packages are gone."""
    argv = [sys.executable, "-m", "holdfast.cli", "failover", "agent", "--server", "nonsense"]
    done = subprocess.run(argv, env=environment(), capture_output=True, text=True)
    assert done.returncode == 2
    assert "error: --server nonsense: not a URL" in done.stderr
    assert "error: --hooks is missing" in done.stderr
    help_text = subprocess.run([*argv[:-2], "--help"], env=environment(), capture_output=True, text=True)
    assert help_text.returncode == 0
    assert "usage: holdfast failover agent" in help_text.stdout
