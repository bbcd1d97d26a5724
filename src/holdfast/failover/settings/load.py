"""Settings of failover, read by the engine of all settings: see `holdfast.settings.load`."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from holdfast import settings as engine
from holdfast.failover.settings import Settings, environment_names
from holdfast.settings import Fault, InvalidSettings, Loaded, Range, Said, Schema, SettingsSource, Shape
from holdfast.settings.check import each_alone
from holdfast.settings.ranges import PART
from holdfast.settings.table import declare

ADDRESS = re.compile(r"(\[[0-9a-fA-F:]+\]|[A-Za-z0-9.-]+):(\d{1,5})")
LOOPBACK = re.compile(r"127(\.\d{1,3}){3}|\[::1\]|localhost")

URL = Shape(
    r"https?://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?(/[!-~]*)?",
    "an address such as https://failover.internal:7400",
)

TABLE = declare(
    Settings,
    "[failover]",
    environment=environment_names,
    ranges={
        "threads": Range(1, 64),
        "drivers": Range(1, 64),
        "lease_s": Range(1, 3_600),
        "heartbeat_s": Range(0.1, 600),
        "request_timeout_s": Range(0.1, 600),
        "revocations_at_once": PART,
    },
    shapes={
        "database": Shape(
            r"(sqlite:.+|mysql://.+|postgresql://.+)", "sqlite:FILE, mysql://… or postgresql://…"
        ),
        "listen": Shape(ADDRESS.pattern, "ADDRESS:PORT, such as 127.0.0.1:7400"),
        "notice_queue_url": Shape(
            rf"({URL.pattern})?",
            "an address such as https://sqs.eu-west-1.amazonaws.com/123456789012/failover",
        ),
        "machines": Shape("none|ec2", "`none` or `ec2`"),
        "server": URL,
        "agent_server_urls": URL,
        "pools": Shape(
            r"[a-z0-9-]+\.[a-z0-9-]+\.[a-z]{2}(-[a-z]+)+-\d[a-z]",
            "type.zone, such as m6i.large.eu-west-1a",
        ),
    },
    secrets=("database",),
)


def load(toml: Mapping[str, Any], environ: Mapping[str, str]) -> Loaded[Settings]:
    """`toml`: the whole file, parsed.  Raises InvalidSettings with everything that is wrong."""
    return engine.load(SCHEMA, toml, environ)


def address(listen: str) -> tuple[str, int]:
    found = ADDRESS.fullmatch(listen)
    assert found is not None, "checked when it was read"
    return found[1].strip("[]"), int(found[2])


def is_loopback(listen: str) -> bool:
    return LOOPBACK.fullmatch(listen.rpartition(":")[0]) is not None


def _faults(s: Settings, said: Said) -> Iterator[Fault]:
    if s.heartbeat_s + 2 * s.request_timeout_s > s.lease_s:
        text = (
            f"{said('heartbeat_s')} and twice {said('request_timeout_s')} against {said('lease_s')}: one "
            "heartbeat must be able to get lost and the next one be answered within a lease; raise lease_s"
        )
        yield Fault(("heartbeat_s", "request_timeout_s", "lease_s"), text)
    found = ADDRESS.fullmatch(s.listen)
    if found and int(found[2]) > 65_535:
        yield Fault(("listen",), f"{said('listen')}: a port is at most 65535")
    if bool(s.tls_cert) != bool(s.tls_key):
        yield Fault(("tls_cert", "tls_key"), f"{said('tls_cert')} and {said('tls_key')}: give both or none")
    if found and not s.tls_cert and not is_loopback(s.listen):
        fix = "give tls_cert and tls_key, or listen on 127.0.0.1"
        text = f"{said('listen')}: tokens would travel in plain text; {fix}"
        yield Fault(("listen", "tls_cert"), text)
    if s.machines == "ec2":
        yield from _machines(s, said)


def _machines(s: Settings, said: Said) -> Iterator[Fault]:
    for name in ("region", "pools", "subnet_ids", "ami_id", "agent_server_urls"):
        if not getattr(s, name):
            yield Fault((name, "machines"), f"{said(name)}: machines = 'ec2' needs it")


def _without_effect(s: Settings, source: SettingsSource, said: Said) -> Iterator[str]:
    if s.machines == "none":
        for name in ("pools", "subnet_ids", "ami_id", "security_group_ids", "agent_server_urls"):
            if name in source.spelled:
                yield f"{said(name)} has no effect: machines = 'none'"


SCHEMA = Schema(
    part="failover",
    title="failover",
    table=TABLE,
    prefixes=("HOLDFAST_",),
    faults=_faults,
    warnings=_without_effect,
)


def checked(settings: Settings) -> Settings:
    """The same settings, changed on the command line: whatever is wrong with them now is told as ever."""

    def said(name: str) -> str:
        return f"{name} = {'(not shown)' if name in TABLE.secrets else repr(getattr(settings, name))}"

    wrong = [fault.text for fault in (*each_alone(TABLE, settings, said), *_faults(settings, said))]
    if wrong:
        raise InvalidSettings(tuple(dict.fromkeys(wrong)))
    return settings
