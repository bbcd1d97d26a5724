"""Reading the pools: from the file, from `POOLS`, and the default one from `WORKER_…`."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from holdfast.autoscaler.settings import WORKER_NAMES, Pool
from holdfast.autoscaler.settings.kinds import tables
from holdfast.autoscaler.settings.tables import POOL
from holdfast.settings.kinds import Unfit
from holdfast.settings.source import SettingsSource, given

FIELDS = {field.name: field for field in POOL.fields}


def read_pools(source: SettingsSource, table: Mapping[str, Any]) -> tuple[Pool, ...]:
    """Those of `POOLS` or of the file; and the seeds' single one, filled or made from `WORKER_…`."""
    written = _written(source, table)
    pools = [_pool(source, raw, where) for raw, where in written] if written is not None else [Pool()]
    own = {env: name for env, name in WORKER_NAMES.items() if env in source.environ}
    default = next((n for n, pool in enumerate(pools) if pool.name == "default"), None)
    if default is None and {"ami_id", "launch_template_id"} & {*own.values()}:
        pools, default = [Pool(), *pools], 0
    if default is not None:
        filled = {
            name: source.read(f"pools.default.{name}", env, FIELDS[name], source.environ[env])
            for env, name in own.items()
        }
        pools[default] = _of_types_or_requirements(source, pools[default], given(filled), "WORKER_…")
    elif own and source.could_read("pools"):
        problem = (
            "they fill the pool default, and there is none: write them into the pools, or name one default"
        )
        source.problems.append(f"{', '.join(own)}: {problem}")
    return tuple(pools)


def _written(source: SettingsSource, table: Mapping[str, Any]) -> Sequence[tuple[Any, str]] | None:
    """Each as it was written, and where; None if none were given."""
    raw, where = table.get("pools"), "[[autoscaler.pools]]"
    if "POOLS" in source.environ:
        where = "POOLS"
        try:
            raw = tables(source.environ["POOLS"])
        except Unfit as unfit:
            source.unfit("pools", f"POOLS = {source.environ['POOLS']!r}: {unfit}")
            return None
    if raw is None:
        return None
    if isinstance(raw, Mapping):
        return [
            ({"name": name, **each} if isinstance(each, Mapping) else each, f"[autoscaler.pools.{name}]")
            for name, each in raw.items()
        ]
    if isinstance(raw, list):
        return [(each, f"{where} no. {n}") for n, each in enumerate(raw, 1)]
    source.unfit("pools", f"[autoscaler] pools = {raw!r}: must be tables, one a pool")
    return None


def _pool(source: SettingsSource, raw: Any, where: str) -> Pool:
    if not isinstance(raw, Mapping):
        source.unfit("pools", f"{where} = {raw!r}: must be a table")
        return Pool()
    source.refuse_unknown(raw, tuple(FIELDS), where)
    called = str(raw.get("name", "default"))
    values = {
        key: source.read(f"pools.{called}.{key}", f"{where} {key}", FIELDS[key], value)
        for key, value in raw.items()
        if key in FIELDS
    }
    return _of_types_or_requirements(source, Pool(), given(values), where)


def _of_types_or_requirements(
    source: SettingsSource, pool: Pool, values: Mapping[str, Any], where: str
) -> Pool:
    """The one or the other: a pool that has requirements names no types."""
    asked = "requirements" in values or (pool.requirements is not None)
    if asked and "instance_types" in values:
        source.problems.append(
            f"{where} instance_types beside requirements: leave one of them out; requirements has "
            "excluded_types, and instance_types is the whole list"
        )
    return replace(pool, **{**({"instance_types": ()} if asked else {}), **values})
