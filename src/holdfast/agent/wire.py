"""Answers of a server as what the brain hears.  Fields that are missing or odd grant nothing."""

from collections.abc import Mapping
from typing import Any

from holdfast.failover.agent.goals import Do, Goal
from holdfast.failover.agent.words import Answered, Registered


def goal(data: Any) -> Goal | None:
    """None for what is no goal, or one that this agent does not know."""
    if not isinstance(data, Mapping):
        return None
    primary = data.get("primary")
    who = primary if isinstance(primary, Mapping) else {}
    try:
        return Goal(
            version=_whole(data["version"]),
            epoch=_whole(data["epoch"]),
            do=Do(data["do"]),
            primary=_text(who.get("instance_id")),
            address=_text(who.get("address")),
            deadline_in_s=_seconds(data.get("deadline_in_s")),
        )
    except (KeyError, TypeError, ValueError):
        return None


def registered(data: Mapping[str, Any]) -> Registered:
    return Registered(
        enabled=_enabled(data),
        goal=goal(data.get("goal")),
        heartbeat_s=_seconds(data.get("heartbeat_s")) or 3.0,
        term_s=_seconds(data.get("term_s")) or 10.0,
        serve_reads=_serve_reads(data),
    )


def answered(data: Mapping[str, Any], sent_s: float) -> Answered:
    try:
        epoch = _whole(data.get("epoch"))
    except ValueError:
        epoch = 0
    return Answered(
        sent_s=sent_s,
        epoch=epoch,
        primary=data.get("primary") is True,
        lease_s=_seconds(data.get("lease_s")) or 0.0,
        goal=goal(data.get("goal")),
        enabled=_enabled(data),
        serve_reads=_serve_reads(data),
    )


def _config(data: Mapping[str, Any]) -> Mapping[str, Any]:
    config = data.get("config")
    return config if isinstance(config, Mapping) else {}


def _enabled(data: Mapping[str, Any]) -> bool:
    return _config(data).get("enabled") is True


def _serve_reads(data: Mapping[str, Any]) -> bool:
    return _config(data).get("serve_reads") is True


def _whole(value: Any) -> int:
    """A number that a word of the page can hold.  Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**62:
        raise ValueError(f"{value!r} is no whole number of that kind")
    return value


def _text(value: Any) -> str:
    """What the environment of a hook can carry."""
    return "".join(letter for letter in str(value or "") if letter.isprintable())[:512]


def _seconds(value: Any) -> float | None:
    """A number of seconds that is one; True is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 10**9 else None
