"""Statements by name, out of `.sql` files.

A file holds paragraphs that begin with `-- name: …`.  What a dialect's own file names replaces what all
databases share.  `{now}` and other macros are the dialect's; `:name` is a value.
"""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

NAMED = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)
VALUE = re.compile(r"(?<![:\w]):([a-z_]+)")


@cache
def paragraphs(dialect: str) -> Mapping[str, str]:
    """All statements that a dialect has, its own before the shared ones."""
    return {**_file(__package__, "statements.sql"), **_file(f"{__package__}.{dialect}", "statements.sql")}


def _file(package: str, name: str) -> dict[str, str]:
    _, *found = NAMED.split((files(package) / name).read_text())
    return dict(zip(found[::2], (text.strip().removesuffix(";") for text in found[1::2]), strict=True))


def expand(sql: str, macros: Mapping[str, str]) -> str:
    for name, text in macros.items():
        sql = sql.replace(f"{{{name}}}", text)
    return re.sub(r"\{time ([^}]+)\}", lambda found: macros["time"].replace("?", found[1]), sql)


def percent_style(sql: str) -> str:
    """`:name` as `%(name)s`."""
    return VALUE.sub(r"%(\1)s", sql)
