"""What each pool is made of, asked of the cloud one by one: a pool's trouble is its own.

Only calls of the port, and no decision: what a pool cannot tell is noted as its problem.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from holdfast.autoscaler.ports import Cloud
from holdfast.autoscaler.settings import Pool
from holdfast.cloud import Shape
from holdfast.cloud.launches import Template
from holdfast.kernel import Invalid

T = TypeVar("T")


@dataclass
class PoolListings:
    """Of all pools together, as far as each could be asked."""

    templates: dict[str, Template] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    zones: dict[str, str] = field(default_factory=dict)
    shapes: dict[str, Shape] = field(default_factory=dict)
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
    found.shapes |= _each(cloud.shapes, {pool.name: pool.instance_types for pool in pools}, found.problems)
    return found


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
