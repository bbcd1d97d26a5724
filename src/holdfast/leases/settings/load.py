"""Settings of the leases, read by the engine of all settings: see `holdfast.settings.load`."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from holdfast import settings as engine
from holdfast.leases.settings import WORKER_ID_NAMES, Settings, environment_names
from holdfast.settings import Fault, InvalidSettings, Loaded, Range, Said, Schema, Shape, declare
from holdfast.settings.ranges import COUNT, DAY_S, MANY, SOME

__all__ = ["SCHEMA", "InvalidSettings", "load"]

SOME_TIME: Final = Range(0.1, DAY_S)
NAME: Final = Shape(r"[A-Za-z0-9_.-]{0,128}", "letters, digits, '_', '.' and '-', such as kds-stream-prod")
TABLE: Final = Shape(
    r"([A-Za-z0-9_.-]{3,255})?", "3 to 255 letters, digits, '_', '.' and '-', as DynamoDB has it"
)

TABLE_OF_SETTINGS = declare(
    Settings,
    "[leases]",
    environment=environment_names,
    ranges={
        "kds_worker_count": COUNT,
        "count_s": SOME_TIME,
        "fewer_shards_s": SOME_TIME,
        "max_leases_limit": SOME,
        "lease_headroom_workers": Range(0, MANY),
        "heartbeat_s": SOME_TIME,
        "member_ttl_s": SOME_TIME,
        "join_grace_s": Range(0, DAY_S),
        "restart_settle_s": SOME_TIME,
        "health_port": Range(0, 65_535),
    },
    shapes={"stream_name": NAME, "app_name": NAME, "meta_table": TABLE, "lease_table": TABLE},
)


def faults(settings: Settings, said: Said) -> Iterator[Fault]:
    """What is wrong beside single values, each with its fix."""
    if settings.member_ttl_s < 2 * settings.heartbeat_s:
        about = ("member_ttl_s", "heartbeat_s")
        why = "must be at least twice as long, or one late beat would make a worker dead"
        yield Fault(about, f"{said('member_ttl_s')} against {said('heartbeat_s')}: {why}")
    for name, example in (("stream_name", "kds-stream-prod"), ("app_name", "my-app")):
        if not getattr(settings, name):
            variable = environment_names(name)[0]
            text = f"{name} is not set: give {variable}, or {name} = {example!r} in [leases] of holdfast.toml"
            yield Fault((name,), text)
    meta, lease = settings.meta_table_name, settings.lease_table_name
    if lease in (meta, f"{meta}_events") and not settings.database:
        text = f"table {lease} is the lease table and the agreement's too"
        fix = "a KCL fails on rows that are not its own: name another table by META_TABLE or LEASE_TABLE"
        yield Fault(("meta_table", "lease_table"), f"{text}; {fix}")


def load(toml: Mapping[str, Any], environ: Mapping[str, str]) -> Loaded[Settings]:
    """`toml`: the whole file, parsed.  Raises InvalidSettings with everything that is wrong."""
    return engine.load(SCHEMA, toml, _named(toml, environ))


def _named(toml: Mapping[str, Any], environ: Mapping[str, str]) -> Mapping[str, str]:
    """With the worker's id under its own name: a pod need not say it twice.

    Every shell has a HOSTNAME, so an id in the file outranks all but WORKER_ID itself.
    """
    said = toml.get("leases", {})
    if isinstance(said, Mapping) and said.get("worker_id"):
        return environ
    found = next((environ[name] for name in WORKER_ID_NAMES if environ.get(name, "").strip()), None)
    return environ if found is None else {**environ, "WORKER_ID": found}


SCHEMA = Schema(
    part="leases",
    title="the leases",
    table=TABLE_OF_SETTINGS,
    more_environment=frozenset({*WORKER_ID_NAMES, "AWS_ENDPOINT_URL"}),
    prefixes=("HOLDFAST_", "LEASES_"),
    faults=faults,
)
