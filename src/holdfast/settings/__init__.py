"""The engine of all settings: file and environment in, checked values or all problems at once out.

Here belong what every part's settings share: kinds of values, ranges, near misses, and naming each
problem as it was spelled.  What settings a part has is declared by that part, in a `Schema` with
its own table of `holdfast.toml` and its own names in the environment.  No I/O: the file comes in
parsed, the environment as a mapping.
"""

from holdfast.settings.check import Fault, Said
from holdfast.settings.load import InvalidSettings, Loaded, Schema, load
from holdfast.settings.ranges import Range, Shape
from holdfast.settings.source import SettingsSource
from holdfast.settings.table import Field, Table, declare, environment_name

__all__ = [
    "Fault",
    "Field",
    "InvalidSettings",
    "Loaded",
    "Range",
    "Said",
    "Schema",
    "SettingsSource",
    "Shape",
    "Table",
    "declare",
    "environment_name",
    "load",
]
