"""Kubernetes writes amounts as `250m`, `2`, `1.5Gi`, `1e3`."""

import re

FACTORS = {
    **{
        suffix: 1000.0**power
        for power, suffix in zip(range(-3, 7), ("n", "u", "m", "", *"kMGTPE"), strict=True)
    },
    **{f"{suffix}i": 1024.0**power for power, suffix in enumerate("KMGTPE", 1)},
}
FORM = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([numkMGTPE]?i?)")


def amount(written: str) -> float:
    """The plain number: cores, bytes or pieces."""
    matched = FORM.fullmatch(written.strip())
    if matched is None or matched[2] not in FACTORS:
        raise ValueError(f"not an amount as Kubernetes writes them: {written!r}")
    return float(matched[1]) * FACTORS[matched[2]]
