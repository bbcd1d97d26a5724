"""Kubernetes quantities as whole numbers: thousandths of a core, bytes, pieces.

What is not whole is rounded up, as the scheduler does.
"""

import re
from fractions import Fraction
from functools import lru_cache

Quantity = str | int | float

# In steps of a thousand; the blank stands for no suffix.
_DECIMAL = {suffix: Fraction(1000) ** power for power, suffix in enumerate("num kMGTPE", -3)}
_BINARY = {f"{suffix}i": Fraction(1024) ** power for power, suffix in enumerate("KMGTPE", 1)}
_SCALES = {**_DECIMAL, **_BINARY}
_FORM = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:[eE]([+-]?[0-9]{1,2})|([numkMGTPE]|[KMGTPE]i)?)")


@lru_cache(maxsize=16_384)
def cpu_m(quantity: Quantity) -> int:
    """Thousandths of a core."""
    return _rounded_up(_exact(quantity) * 1000)


@lru_cache(maxsize=16_384)
def whole(quantity: Quantity) -> int:
    """Pieces of whatever is counted: bytes, pods, devices."""
    return _rounded_up(_exact(quantity))


memory = whole
"""Bytes."""


def _exact(quantity: Quantity) -> Fraction:
    """Cached by its callers: a cluster has few different quantities and many pods."""
    form = _FORM.fullmatch(str(quantity))
    if form is None:
        raise ValueError(f"{quantity!r} is not a Kubernetes quantity such as 250m, 2, 1.5Gi or 1e3")
    number, exponent, suffix = form.groups()
    scale = Fraction(10) ** int(exponent) if exponent else _SCALES[suffix or " "]
    return Fraction(number) * scale


def _rounded_up(exact: Fraction) -> int:
    return -(-exact.numerator // exact.denominator)
