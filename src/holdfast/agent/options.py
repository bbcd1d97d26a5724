"""What an agent is told on its command line, checked as a whole before anything is done."""

import argparse
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from holdfast.agent.watchdog import Protected
from holdfast.failover.agent.goals import Hook
from holdfast.failover.agent.state import LIMITS_S

ID: Final = re.compile(r"[A-Za-z0-9._:-]{1,64}")
LOOPBACK: Final = {"localhost", "127.0.0.1", "::1"}
IMDS: Final = "http://169.254.169.254"


class Problem(Exception):
    """What was given cannot be used; the message names it, and the fix."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    servers: tuple[str, ...]
    enrol: Path | None
    hooks: Path
    protect: str
    state: Path
    run: Path
    agent_id: str
    instance_id: str
    address: str
    listen: tuple[str, int] | None
    imds: str
    """Empty: off."""
    ca: Path | None
    watchdog: str
    limits_s: dict[Hook, float]
    priority: int
    never_promote: bool
    serve_reads: bool
    instance_type: str
    region: str
    az: str


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="holdfast failover agent",
        description="Keep one instance of a group: run its hooks, and let it serve only under a lease.",
    )
    add = made.add_argument
    add("--server", action="append", default=[], metavar="URL", help="a server; several are tried in turn")
    add(
        "--enrol",
        type=Path,
        metavar="FILE",
        help="the enrolment, used once: `holdfast failover enrol` makes it",
    )
    add("--hooks", type=Path, metavar="DIR", help=f"a directory with {', '.join(Hook)}")
    add("--protect", metavar="WHAT", help="pid:N, pidfile:FILE, unit:NAME, cgroup:PATH or command:TEXT: "
        "what the watchdog kills when the lease is over")  # fmt: skip
    add("--state", type=Path, metavar="DIR", help="what must outlive a boot (default: $STATE_DIRECTORY, or "
        "/var/lib/holdfast-agent)")  # fmt: skip
    add("--run", type=Path, metavar="DIR", help="what lasts for a boot (default: $RUNTIME_DIRECTORY, or "
        "STATE/run)")  # fmt: skip
    add("--ca", type=Path, metavar="FILE", help="certificates that a server's must descend from")
    add("--agent-id", default="", metavar="ID", help="the group (default: as the enrolment says)")
    add("--instance", default="", metavar="ID", help="this instance (default: as the enrolment or IMDS says)")
    add("--address", default="", metavar="HOST:PORT", help="where this instance serves (default: IMDS)")
    add("--listen", default="127.0.0.1:8008", metavar="HOST:PORT|off", help="/primary, /replica and /health")
    add("--imds", default="", metavar="URL|off", help=f"the metadata service (default: {IMDS})")
    add("--watchdog", choices=["own", "unit"], default="own",
        help="own: the agent starts it; unit: it runs by itself, on the same page")  # fmt: skip
    add("--limit", action="append", default=[], metavar="HOOK=SECONDS", help="how long a hook may take")
    add(
        "--priority", type=int, default=100, metavar="N", help="the ready standby with the highest takes over"
    )
    add("--never-promote", action="store_true", help="this instance never becomes primary")
    add("--serve-reads", action="store_true", help="/replica answers 200 on a standby in sync")
    add("--instance-type", default="", metavar="TYPE")
    add("--region", default="", metavar="REGION")
    add("--zone", default="", metavar="ZONE")
    add("--release", action="store_true", help="hand over what the running agent serves, and end that agent")
    return made


def folders(given: argparse.Namespace) -> tuple[Path, Path]:
    """Of state and of runtime."""
    state = given.state or Path(os.environ.get("STATE_DIRECTORY", "/var/lib/holdfast-agent").split(":")[0])
    default = os.environ.get("RUNTIME_DIRECTORY", "").split(":")[0]
    return state, given.run or (Path(default) if default else state / "run")


def check(given: argparse.Namespace) -> Options:
    """All problems at once, as one Problem with a line each."""
    problems: list[str] = []
    state, run = folders(given)
    listen = _listen(given.listen, problems)
    limits_s = _limits(given.limit, problems)
    _servers(given.server, problems)
    _hooks(given.hooks, problems)
    if not given.protect:
        problems.append("--protect is missing: without it the watchdog could not stop the service, and no "
                        "lease is given. For example --protect unit:counter.service")  # fmt: skip
    else:
        try:
            Protected(given.protect)
        except ValueError as error:
            problems.append(f"--protect {error}")
        kind, _, name = given.protect.partition(":")
        if kind == "unit" and "." not in name:
            problems.append(f"--protect {given.protect}: name the unit whole, such as unit:{name}.service")
    for option, value in (("--agent-id", given.agent_id), ("--instance", given.instance)):
        if value and not ID.fullmatch(value):
            problems.append(f"{option} {value!r}: 1 to 64 letters, digits or . _ : -")
    if given.ca and not given.ca.is_file():
        problems.append(f"--ca {given.ca}: there is no such file")
    if not 0 <= given.priority <= 1000:
        problems.append(f"--priority {given.priority}: from 0 to 1000")
    imds = given.imds or os.environ.get("AWS_EC2_METADATA_SERVICE_ENDPOINT", IMDS)
    if given.imds != "off" and _reached(imds)[0] != "http":
        problems.append(f"--imds {imds}: not a URL such as {IMDS}, or off")
    if problems:
        raise Problem("\n".join(problems))
    return Options(
        servers=tuple(url.rstrip("/") for url in given.server),
        enrol=given.enrol,
        hooks=given.hooks,
        protect=given.protect,
        state=state,
        run=run,
        agent_id=given.agent_id,
        instance_id=given.instance,
        address=given.address,
        listen=listen,
        imds="" if given.imds == "off" else imds.rstrip("/"),
        ca=given.ca,
        watchdog=given.watchdog,
        limits_s={**LIMITS_S, **limits_s},
        priority=given.priority,
        never_promote=given.never_promote,
        serve_reads=given.serve_reads,
        instance_type=given.instance_type,
        region=given.region,
        az=given.zone,
    )


def _servers(urls: Sequence[str], problems: list[str]) -> None:
    if not urls:
        problems.append("--server is missing: for example --server https://failover.example.com:7400")
    for url in urls:
        scheme, host = _reached(url)
        if not host:
            problems.append(f"--server {url}: not a URL such as https://failover.example.com:7400")
        elif scheme == "http" and host not in LOOPBACK:
            problems.append(f"--server {url}: the token would travel in the clear: use https")


def _reached(url: str) -> tuple[str, str]:
    """The scheme and the host; both empty for what names no place that can be asked over HTTP."""
    try:
        split = urlsplit(url)
        fits = split.scheme in ("http", "https") and split.port != 0
    except ValueError:  # of a port that is none, or of half an IPv6 address
        return "", ""
    return (split.scheme, split.hostname or "") if fits else ("", "")


def _hooks(folder: Path | None, problems: list[str]) -> None:
    if folder is None:
        problems.append(f"--hooks is missing: a directory with {', '.join(Hook)}")
    elif not folder.is_dir():
        problems.append(f"--hooks {folder}: there is no such directory")
    else:
        for hook in Hook:
            file = folder / hook
            if not file.is_file():
                problems.append(f"{file} is missing: write it, or copy the one in examples/failover/hooks")
            elif not os.access(file, os.X_OK):
                problems.append(f"{file} is not executable: chmod +x {file}")


def _limits(given: Sequence[str], problems: list[str]) -> dict[Hook, float]:
    found: dict[Hook, float] = {}
    for text in given:
        name, _, seconds = text.partition("=")
        try:
            found[Hook(name)] = float(seconds)
            if not 0 < found[Hook(name)] < 86_400:
                raise ValueError
        except ValueError:
            problems.append(f"--limit {text}: such as on-promote=60, for one of {', '.join(Hook)}")
    return found


def _listen(text: str, problems: list[str]) -> tuple[str, int] | None:
    if text == "off":
        return None
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit() or not 0 <= int(port) < 65_536:
        problems.append(f"--listen {text}: such as 127.0.0.1:8008, or off")
        return None
    return host.strip("[]"), int(port)


def say(text: str) -> None:
    """A line for the journal, which stamps it."""
    sys.stderr.write(f"holdfast agent: {text}\n")
    sys.stderr.flush()
