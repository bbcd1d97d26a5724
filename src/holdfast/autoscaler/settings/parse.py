"""One value of a setting: from the environment, where all is text, or from TOML, where it has a type."""

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from holdfast.cloud.kubernetes import Taint

WHOLE = re.compile(r"[+-]?[0-9]{1,100}")
TAINT = re.compile(r"(?P<key>[^=:\s]+)(=(?P<value>[^=:\s]*))?:(?P<effect>\w+)")
FLAGS = {
    "true": True,
    "yes": True,
    "on": True,
    "1": True,
    "false": False,
    "no": False,
    "off": False,
    "0": False,
}


class Unfit(ValueError):
    """Not a value of this kind; says what would be."""


def whole(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and WHOLE.fullmatch(value.strip()):
        return int(value)
    raise Unfit("give a whole number")


def number(value: object) -> float:
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            raise Unfit("give a number") from None
    if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
        return float(value)
    raise Unfit("give a finite number")


def flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in FLAGS:
        return FLAGS[value.strip().lower()]
    raise Unfit("give true or false")


def text(value: object) -> str:
    if isinstance(value, str):
        return value.strip()
    raise Unfit("give a text in quotes")


def texts(value: object) -> tuple[str, ...]:
    """A list; as text, separated by commas."""
    if isinstance(value, str):
        return tuple(filter(None, (each.strip() for each in value.split(","))))
    if isinstance(value, list | tuple) and all(isinstance(each, str) for each in value):
        return tuple(each.strip() for each in value)
    raise Unfit("give a list of texts")


def pairs(value: object) -> dict[str, str]:
    """A table; as text, `key=value` separated by commas."""
    if isinstance(value, str):
        value = _split(value)
    if isinstance(value, Mapping) and all(isinstance(each, str) for each in value.values()):
        return dict(value)
    raise Unfit("give a table of texts, or key=value,key=value")


def prices(value: object) -> dict[str, float]:
    if isinstance(value, str):
        value = _split(value)
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


def tables(value: str) -> list[Any]:
    """Pools in the environment: as JSON."""
    try:
        found = json.loads(value)
    except ValueError:
        found = None
    if isinstance(found, list):
        return found
    raise Unfit('give a JSON list, such as [{"name": "gpu", "max_workers": 3}]')


def _split(value: str) -> dict[str, str]:
    split = [each.partition("=") for each in texts(value)]
    if not all(name and equals for name, equals, _ in split):
        raise Unfit("write key=value,key=value")
    return {name.strip(): each.strip() for name, _, each in split}


KINDS: Mapping[object, Callable[[object], object]] = {
    int: whole,
    float: number,
    bool: flag,
    str: text,
    tuple[str, ...]: texts,
    Mapping[str, str]: pairs,
    Mapping[str, float]: prices,
    tuple[Taint, ...]: taints,
}
"""By the type that a setting is declared with."""


def parse(kind: object, value: object) -> object:
    """The value of a setting of this kind, or Unfit."""
    return KINDS[kind](value)
