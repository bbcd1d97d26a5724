"""The shipped shell with one guard taken out somewhere below it."""

from collections.abc import Mapping
from typing import Any

from tests.variants import AUTOSCALER, broken

PACKAGE = "holdfast.autoscaler"


def shell_without(part: str, changes: Mapping[str, str]) -> Any:
    """`Autoscaler` that works with this variant of `part`: tick, execute, workflow, or one of its parts.

    `workflow` imports its parts as names of their package, so the variant takes the name's place.
    """
    if part == "tick":
        return broken(f"{PACKAGE}.tick", changes).Autoscaler
    if part in ("execute", "workflow"):
        used = {f"{PACKAGE}.{part}": broken(f"{PACKAGE}.{part}", changes)}
    else:
        whole = broken(f"{PACKAGE}.workflow", {})
        assert hasattr(whole, part), f"the workflow does not use {part}"
        setattr(whole, part, broken(f"{PACKAGE}.{AUTOSCALER[part]}", changes))
        used = {f"{PACKAGE}.workflow": whole}
    return broken(f"{PACKAGE}.tick", {}, also=used).Autoscaler
