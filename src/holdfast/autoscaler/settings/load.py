"""Settings of the autoscaler, read by the engine of all settings: see `holdfast.settings.load`."""

from collections.abc import Iterator, Mapping
from typing import Any

from holdfast import settings as engine
from holdfast.autoscaler.settings import WORKER_NAMES, Settings, environment_names
from holdfast.autoscaler.settings.check import faults
from holdfast.autoscaler.settings.pools import read_pools
from holdfast.autoscaler.settings.tables import SETTINGS
from holdfast.settings import InvalidSettings, Loaded, Said, Schema, SettingsSource
from holdfast.settings.load import by_path

__all__ = ["SCHEMA", "InvalidSettings", "load"]


def load(toml: Mapping[str, Any], environ: Mapping[str, str]) -> Loaded[Settings]:
    """`toml`: the whole file, parsed.  Raises InvalidSettings with everything that is wrong."""
    return engine.load(SCHEMA, toml, environ)


def _value(settings: Settings, name: str) -> object:
    group, _, own = name.rpartition(".")
    if group.startswith("pools."):
        return getattr(settings.pool(group.removeprefix("pools.")), own)
    return by_path(settings, name)


def _without_effect(settings: Settings, source: SettingsSource, said: Said) -> Iterator[str]:
    """What works, and yet not as the operator may think."""
    for name in ("state_table", "logs_table"):
        if settings.database and name in source.spelled:
            yield f"{said(name)} has no effect: the record is in {settings.database}"
    if settings.metrics != "prometheus" and "prometheus_url" in source.spelled:
        yield f"{said('prometheus_url')} has no effect: metrics = {settings.metrics!r}"
    for pool in settings.pools:
        missing = [
            *(["an image (ami_id)"] if not (pool.ami_id or pool.launch_template_id) else []),
            *(["subnets (subnet_ids)"] if not pool.subnet_ids else []),
        ]
        if missing and pool.max_workers:
            yield f"pool {pool.name} cannot scale up: give it {' and '.join(missing)}"


SCHEMA = Schema(
    part="autoscaler",
    title="the autoscaler",
    table=SETTINGS,
    more_environment=frozenset({*WORKER_NAMES, *environment_names("pools")}),
    prefixes=("HOLDFAST_", "AUTOSCALER_"),
    read_more=lambda source, table: {"pools": read_pools(source, table)},
    faults=faults,
    warnings=_without_effect,
    value_of=_value,
)
