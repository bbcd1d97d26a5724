"""The units of deploy/systemd: what they start can be started, and what must outlive a restart does."""

import shlex
from configparser import RawConfigParser
from pathlib import Path

from holdfast.agent.main import RELEASE_S
from holdfast.agent.options import parser
from tests.tidy.repository import ROOT

UNITS = ROOT / "deploy" / "systemd"


def unit(name: str) -> RawConfigParser:
    read = RawConfigParser(strict=True)
    read.optionxform = str  # type: ignore[assignment, method-assign]
    read.read_string((UNITS / f"{name}.service").read_text())
    return read


def arguments(command: str) -> list[str]:
    """What the agent gets, with the variables as /etc/holdfast/agent.env might set them."""
    given = command.replace("$HOLDFAST_SERVERS", "--server https://one --server https://two")
    return shlex.split(
        given.replace("${HOLDFAST_PROTECT}", "unit:a.service").replace("${HOLDFAST_ADDRESS}", "a:1")
    )


def test_every_unit_is_known_here() -> None:
    assert {path.stem for path in UNITS.iterdir()} == {
        "holdfast-agent",
        "holdfast-watchdog",
        "holdfast-release",
    }


def test_the_agents_options_are_options() -> None:
    argv = arguments(unit("holdfast-agent")["Service"]["ExecStart"])
    assert argv[:3] == ["/usr/local/bin/holdfast", "failover", "agent"]
    given = parser().parse_args(argv[3:])
    assert given.watchdog == "unit"
    assert given.server == ["https://one", "https://two"]
    stop = shlex.split(unit("holdfast-release")["Service"]["ExecStop"])
    assert parser().parse_args(stop[3:]).release


def test_a_restart_keeps_the_page_and_kills_neither_hooks_nor_service() -> None:
    agent, dog = unit("holdfast-agent")["Service"], unit("holdfast-watchdog")["Service"]
    for service in (agent, dog):
        assert service["RuntimeDirectory"] == "holdfast-agent"
        assert service["RuntimeDirectoryPreserve"] == "yes"
        assert service["Restart"] == "always"
    assert agent["KillMode"] == "process"
    assert "/run/holdfast-agent/page" in dog["ExecStart"]
    assert dog["ExecStart"].split()[1:3] == ["-I", "-S"]


def test_the_handover_at_shutdown_comes_before_the_agents_end() -> None:
    release = unit("holdfast-release")
    assert release["Unit"]["After"] == "holdfast-agent.service"
    assert float(release["Service"]["TimeoutStopSec"]) > RELEASE_S


def test_the_folders_that_the_units_make_are_those_that_the_agent_uses() -> None:
    service = unit("holdfast-agent")["Service"]
    assert Path("/var/lib") / service["StateDirectory"] == Path("/var/lib/holdfast-agent")
    assert service["StateDirectoryMode"] == service["RuntimeDirectoryMode"] == "0700"
