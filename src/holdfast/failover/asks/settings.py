"""Settings of a group.  Auto-switch and manual replica exclude each other: refused when written (B13)."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from holdfast.failover.asks.ask import Asked, Refusal, blind
from holdfast.failover.events import FailoverEvent
from holdfast.failover.group import Group, Mode
from holdfast.failover.rules.rule import Change, Rule

SETTINGS = Rule(140, "SETTINGS", "An operator changes settings.")
BOTH = "Auto-switch and manual replica are mutually exclusive"


def mode_of(auto_switch: bool | None, manual_replica: bool | None, before: Mode) -> Mode | Refusal:
    """The mode behind the two flags; what is not given stays as it is."""
    auto = before is Mode.AUTO_SWITCH if auto_switch is None else auto_switch
    manual = before is Mode.MANUAL_REPLICA if manual_replica is None else manual_replica
    if auto and manual:
        return Refusal("INVALID_CONFIGURATION", f"{BOTH} (turn one of them off in the same request)")
    return Mode.AUTO_SWITCH if auto else Mode.MANUAL_REPLICA if manual else Mode.OFF


def change_settings(group: Group, changes: Mapping[str, Any], by: str, now_s: float) -> Asked:
    """`changes` by the names of GroupSettings; `auto_switch` and `manual_replica` stand for the mode."""
    situation, given = blind(group, now_s), dict(changes)
    flags = given.pop("auto_switch", None), given.pop("manual_replica", None)
    if flags != (None, None):
        mode = mode_of(*flags, before=group.settings.mode)
        if isinstance(mode, Refusal):
            return mode
        if given.setdefault("mode", mode) != mode:
            return Refusal("INVALID_CONFIGURATION", f"mode: {given['mode']} contradicts the two flags")
    known = asdict(group.settings)
    for name, value in given.items():
        if name not in known:
            return Refusal("INVALID_REQUEST", f"{name}: no such setting (known: {', '.join(sorted(known))})")
        wrong = _wrong(name, value, known[name])
        if wrong:
            return Refusal("INVALID_REQUEST", wrong)
    settings = replace(group.settings, **given)
    if settings == group.settings:
        return None
    changed = ", ".join(f"{name} {known[name]} → {value}" for name, value in sorted(given.items()))
    event = situation.told(FailoverEvent.SETTINGS_CHANGED, "", f"by {by}: {changed}")
    return SETTINGS.stamped(Change(replace(group, settings=settings), (event,)))


def _wrong(name: str, value: Any, before: Any) -> str:
    if isinstance(before, bool) or isinstance(value, bool):
        fits = isinstance(before, bool) and isinstance(value, bool)
        return "" if fits else f"{name}: {value!r} (expected {type(before).__name__})"
    if isinstance(before, Mode):
        return "" if isinstance(value, Mode) else f"{name}: {value!r} (one of {', '.join(Mode)})"
    whole = not isinstance(before, int) or isinstance(value, int)
    if not isinstance(value, int | float) or not whole or not 0 <= value < float("inf"):
        return f"{name}: {value!r} (expected a number of at least 0)"
    return ""
