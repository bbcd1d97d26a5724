"""What each pool is made of, asked of the cloud one by one: a pool's trouble is its own.

Only calls of the port, and no decision: what a pool cannot tell is noted as its problem.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from holdfast.autoscaler.ports import Cloud
from holdfast.autoscaler.scheduling.machines.resolve import resolved, unknown_families
from holdfast.autoscaler.settings import Pool
from holdfast.autoscaler.settings.requirements import Requirements
from holdfast.cloud import Shape
from holdfast.cloud.launches import Template
from holdfast.kernel import HoldfastError, Invalid

T = TypeVar("T")


@dataclass
class PoolListings:
    """Of all pools together, as far as each could be asked."""

    templates: dict[str, Template] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    zones: dict[str, str] = field(default_factory=dict)
    shapes: dict[str, Shape] = field(default_factory=dict)
    types: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Of pools with requirements."""
    remarks: list[str] = field(default_factory=list)
    """What an operator should mend, and what keeps no pool from being launched from."""
    problems: dict[str, str] = field(default_factory=dict)


def look_at_pools(cloud: Cloud, pools: Sequence[Pool]) -> PoolListings:
    """A pool without an image, or with a subnet that is not there, stops no tick."""
    found = PoolListings()
    described: list[Pool] = []
    for pool in pools:
        try:
            found.digests[pool.name] = cloud.digest(pool)
            described.append(pool)
        except Invalid as error:
            found.problems[pool.name] = str(error)
    found.templates |= _templates(cloud, described, found.problems)
    subnets = {pool.name: pool.subnet_ids for pool in pools}
    found.zones |= _each(cloud.subnets, subnets, found.problems)
    named = {pool.name: pool.instance_types for pool in pools if pool.requirements is None}
    found.shapes |= _each(cloud.shapes, named, found.problems)
    _resolve(cloud, [pool for pool in pools if pool.requirements is not None], found)
    return found


def _resolve(cloud: Cloud, pools: Sequence[Pool], found: PoolListings) -> None:
    """Which types the requirements come to.  One pool that nothing meets is no trouble of the others."""
    if not pools:
        return
    try:
        types = cloud.types()
    except HoldfastError as error:
        told = f"requirements: EC2 does not say which types there are ({error}); give instance_types, or wait"
        found.problems |= {pool.name: told for pool in pools}
        found.types |= {pool.name: () for pool in pools}
        return
    shapes = {each.name: each.shape for each in types}
    for pool in pools:
        asked = pool.requirements or Requirements()
        try:
            met = found.types[pool.name] = resolved(asked, pool.architecture, types)
            found.shapes |= {name: shapes[name] for name in met}
            found.remarks += [f"pool {pool.name}: {each}" for each in unknown_families(asked, types)]
        except Invalid as error:
            unknown = unknown_families(asked, types)
            found.problems[pool.name] = "; ".join(unknown) or str(error)
            found.types[pool.name] = ()


def _templates(cloud: Cloud, pools: Sequence[Pool], problems: dict[str, str]) -> dict[str, Template]:
    try:
        return dict(cloud.templates(pools)) if pools else {}
    except Invalid:
        known = dict[str, Template]()
    for pool in pools:
        try:
            known |= cloud.templates([pool])
        except Invalid as error:
            problems[pool.name] = str(error)
    return known


def _each(
    ask: Callable[[Sequence[str]], Mapping[str, T]],
    wanted: Mapping[str, Sequence[str]],
    problems: dict[str, str],
) -> dict[str, T]:
    """One question for all; if one name is wrong, one for each, so that the others are answered."""
    names = sorted({name for of_pool in wanted.values() for name in of_pool})
    if not names:
        return {}
    try:
        return dict(ask(names))
    except Invalid:
        known, wrong = dict[str, T](), dict[str, str]()
    for name in names:
        try:
            known |= ask([name])
        except Invalid as error:
            wrong[name] = str(error)
    for pool, of_pool in wanted.items():
        if of_pool and all(name in wrong for name in of_pool):
            problems.setdefault(pool, wrong[of_pool[0]])
    return known
