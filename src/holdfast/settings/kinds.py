"""Kinds of values: from the environment, where all is text, or from TOML, where they have a type."""

import math
import re
from collections.abc import Callable, Mapping

WHOLE = re.compile(r"[+-]?[0-9]{1,100}")
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
        value = split_pairs(value)
    if isinstance(value, Mapping) and all(isinstance(each, str) for each in value.values()):
        return dict(value)
    raise Unfit("give a table of texts, or key=value,key=value")


def split_pairs(value: str) -> dict[str, str]:
    """`key=value,key=value`."""
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
}
"""By the type that a setting is declared with.  A part adds its own."""
