"""Which cases of a search are too long for every check: `make deep` runs those, `make test` the rest."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest

DEEP = pytest.mark.deep


def cases(names: Iterable[Any], *, deep: Collection[Any]) -> list[Any]:
    """The names as parameters, those that are deep marked so."""
    known = list(names)
    assert set(deep) <= set(known), f"there is no case {set(deep) - set(known)}"
    return [pytest.param(name, marks=DEEP) if name in deep else name for name in known]
