"""Kinds of values that only the autoscaler knows: prices, taints, windows, what a pool asks for."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from holdfast.autoscaler.disruption.cron import BadCron
from holdfast.autoscaler.disruption.windows import Window, window
from holdfast.autoscaler.settings.requirements import Requirements, requirements
from holdfast.autoscaler.settings.spare import Spare, spare
from holdfast.cloud.kubernetes import Taint
from holdfast.settings import kinds
from holdfast.settings.kinds import Unfit, number, split_pairs, texts

TAINT = re.compile(r"(?P<key>[^=:\s]+)(=(?P<value>[^=:\s]*))?:(?P<effect>\w+)")


def prices(value: object) -> dict[str, float]:
    if isinstance(value, str):
        value = split_pairs(value)
    if isinstance(value, Mapping):
        try:
            return {str(name): number(each) for name, each in value.items()}
        except Unfit:
            pass
    raise Unfit("give a table of dollars an hour by instance type, or type=price,type=price")


def taints(value: object) -> tuple[Taint, ...]:
    """As kubectl writes them, `key=value:Effect`; in TOML tables of key, value and effect too."""
    if isinstance(value, str):
        value = list(texts(value))
    if not isinstance(value, list | tuple):
        raise Unfit('give a list such as ["dedicated=gpu:NoSchedule"]')
    return tuple(map(_taint, value))


def _taint(value: object) -> Taint:
    if isinstance(value, str):
        match = TAINT.fullmatch(value)
        value = {name: each or "" for name, each in match.groupdict().items()} if match else None
    if isinstance(value, Mapping) and "key" in value and set(value) <= {"key", "value", "effect"}:
        return Taint(**{name: str(each) for name, each in value.items()})
    raise Unfit("write a taint as key=value:Effect")


def windows(value: object) -> tuple[Window, ...]:
    """A list; as text, separated by semicolons, because cron itself has commas."""
    if isinstance(value, str):
        value = [each for each in value.split(";") if each.strip()]
    try:
        return tuple(window(each) for each in texts(value))
    except BadCron as bad:
        raise Unfit(str(bad)) from None


def tables(value: str) -> list[Any]:
    """Pools in the environment: as JSON."""
    try:
        found = json.loads(value)
    except ValueError:
        found = None
    if isinstance(found, list):
        return found
    raise Unfit('give a JSON list, such as [{"name": "gpu", "max_workers": 3}]')


KINDS: Mapping[object, Callable[[object], object]] = {
    **kinds.KINDS,
    Mapping[str, float]: prices,
    tuple[Taint, ...]: taints,
    tuple[Window, ...]: windows,
    Requirements | None: requirements,
    Spare | None: spare,
}
