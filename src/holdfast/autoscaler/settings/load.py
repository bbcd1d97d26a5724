"""Settings from `holdfast.toml` and the environment, which outranks it.

All problems are named at once, each with the setting as it was spelled, its value and the fix.
An unknown key in the file is an error.  The environment belongs to others too, so a near miss of
a known name there is a warning.  An empty variable is as good as none.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from holdfast.autoscaler.settings import WORKER_NAMES, DrainRules, Pool, Settings, environment_names
from holdfast.autoscaler.settings.check import faults
from holdfast.autoscaler.settings.near import Known
from holdfast.autoscaler.settings.parse import Unfit, tables
from holdfast.autoscaler.settings.read import Reading
from holdfast.kernel import Invalid

PARTS = ("autoscaler", "failover", "leases")
KINDS = {f.name: f.type for f in fields(Settings) if f.name not in ("drain", "pools")}
DRAIN_KINDS = {f.name: f.type for f in fields(DrainRules)}
POOL_KINDS = {f.name: f.type for f in fields(Pool)}
ENVIRONMENT = frozenset(
    {
        *(n for name in (*KINDS, "pools") for n in environment_names(name)),
        *(n for name in DRAIN_KINDS for n in environment_names(f"drain.{name}")),
        *WORKER_NAMES,
    }
)
"""Every name that means something in the environment."""


class InvalidSettings(Invalid):
    """Settings that make no sense.  Nothing was begun."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class Loaded:
    settings: Settings
    warnings: tuple[str, ...] = ()


def load(toml: Mapping[str, Any], environ: Mapping[str, str]) -> Loaded:
    """`toml`: the whole file, parsed.  Raises InvalidSettings with everything that is wrong."""
    reading = Reading(environ)
    reading.refuse_unknown(toml, PARTS, "")
    table = reading.table(toml, "autoscaler", "")
    reading.refuse_unknown(table, (*KINDS, "drain", "pools"), "[autoscaler]")
    drain = reading.table(table, "drain", "[autoscaler]")
    reading.refuse_unknown(drain, tuple(DRAIN_KINDS), "[autoscaler.drain]")
    values = {name: reading.value(name, kind, table, "[autoscaler]") for name, kind in KINDS.items()}
    rules = {
        name: reading.value(f"drain.{name}", kind, drain, "[autoscaler.drain]")
        for name, kind in DRAIN_KINDS.items()
    }
    settings = Settings(**_given(values), drain=DrainRules(**_given(rules)), pools=_pools(reading, table))
    wrong = [
        fault.text
        for fault in faults(settings, partial(reading.said, settings))
        if reading.could_read(*fault.about)
    ]
    if reading.problems or wrong:
        raise InvalidSettings((*reading.problems, *dict.fromkeys(wrong)))
    return Loaded(settings, (*_near_misses(environ), *_without_effect(settings, reading)))


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _pools(reading: Reading, table: Mapping[str, Any]) -> tuple[Pool, ...]:
    """Those of `POOLS` or of the file; and the seeds' single one, filled or made from `WORKER_…`."""
    given = _given_pools(reading, table)
    pools = [_pool(reading, raw, where) for raw, where in given] if given is not None else [Pool()]
    own = {env: name for env, name in WORKER_NAMES.items() if env in reading.environ}
    default = next((n for n, pool in enumerate(pools) if pool.name == "default"), None)
    if default is None and {"ami_id", "launch_template_id"} & {*own.values()}:
        pools, default = [Pool(), *pools], 0
    if default is not None:
        filled = {
            name: reading.read(f"pools.default.{name}", env, POOL_KINDS[name], reading.environ[env])
            for env, name in own.items()
        }
        pools[default] = replace(pools[default], **_given(filled))
    elif own and reading.could_read("pools"):
        problem = (
            "they fill the pool default, and there is none: write them into the pools, or name one default"
        )
        reading.problems.append(f"{', '.join(own)}: {problem}")
    return tuple(pools)


def _given_pools(reading: Reading, table: Mapping[str, Any]) -> Sequence[tuple[Any, str]] | None:
    """Each as it was written, and where; None if nobody gave any."""
    raw, where = table.get("pools"), "[[autoscaler.pools]]"
    if "POOLS" in reading.environ:
        where = "POOLS"
        try:
            raw = tables(reading.environ["POOLS"])
        except Unfit as unfit:
            reading.unfit("pools", f"POOLS = {reading.environ['POOLS']!r}: {unfit}")
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
    reading.unfit("pools", f"[autoscaler] pools = {raw!r}: must be tables, one a pool")
    return None


def _pool(reading: Reading, raw: Any, where: str) -> Pool:
    if not isinstance(raw, Mapping):
        reading.unfit("pools", f"{where} = {raw!r}: must be a table")
        return Pool()
    reading.refuse_unknown(raw, tuple(POOL_KINDS), where)
    called = str(raw.get("name", "default"))
    values = {
        key: reading.read(f"pools.{called}.{key}", f"{where} {key}", POOL_KINDS[key], value)
        for key, value in raw.items()
        if key in POOL_KINDS
    }
    return Pool(**_given(values))


def _near_misses(environ: Mapping[str, str]) -> Iterator[str]:
    known = Known(sorted(ENVIRONMENT))
    for name in sorted(environ):
        if name not in ENVIRONMENT and name.isupper() and (meant := known.slip(name)):
            yield f"{name} is set and means nothing to the autoscaler: did you mean {meant}?"


def _without_effect(settings: Settings, reading: Reading) -> Iterator[str]:
    """What works, and yet not as somebody may think."""
    for name in ("state_table", "logs_table"):
        if settings.database and name in reading.spelled:
            yield f"{reading.said(settings, name)} has no effect: the record is in {settings.database}"
    if settings.metrics != "prometheus" and "prometheus_url" in reading.spelled:
        said = reading.said(settings, "prometheus_url")
        yield f"{said} has no effect: metrics = {settings.metrics!r}"
    for pool in settings.pools:
        missing = [
            *(["an image (ami_id)"] if not (pool.ami_id or pool.launch_template_id) else []),
            *(["subnets (subnet_ids)"] if not pool.subnet_ids else []),
        ]
        if missing and pool.max_workers:
            yield f"pool {pool.name} cannot grow: give it {' and '.join(missing)}"
