"""The shipped shell with one guard taken out somewhere below it."""

from collections.abc import Mapping
from typing import Any

from tests.variants import AUTOSCALER, autoscaler_shell_without, autoscaler_without, broken

PACKAGE = "holdfast.autoscaler"
DEEPER = ("decide", "idle", "launch_plan", "spread")
"""Parts that the workflow reaches only through others, which are made anew with them."""
LOOKING = ("build", "pools")
"""Parts of what a tick sees."""


def shell_without(part: str, changes: Mapping[str, str]) -> Any:
    """`Autoscaler` that works with this variant of `part`: tick, execute, workflow, or one of its parts.

    `workflow` imports its parts as names of their package, so the variant takes the name's place.
    """
    if part == "tick":
        return autoscaler_shell_without(changes)
    if part in DEEPER:
        used = {f"{PACKAGE}.workflow": autoscaler_without({part: changes})}
    elif part in LOOKING:
        used = {f"{PACKAGE}.snapshot.{part}": broken(f"{PACKAGE}.snapshot.{part}", changes)}
    elif part in ("execute", "workflow"):
        used = {f"{PACKAGE}.{part}": broken(f"{PACKAGE}.{part}", changes)}
    else:
        whole = broken(f"{PACKAGE}.workflow", {})
        assert hasattr(whole, part), f"the workflow does not use {part}"
        setattr(whole, part, broken(f"{PACKAGE}.{AUTOSCALER[part]}", changes))
        used = {f"{PACKAGE}.workflow": whole}
    return autoscaler_shell_without({}, also=used)
