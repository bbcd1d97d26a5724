"""Pause: no role changes by itself, and the primary gets one long lease: servers may rest (H46)."""

from dataclasses import replace

from holdfast.failover.asks.ask import Asked, Refusal, blind
from holdfast.failover.events import FailoverEvent
from holdfast.failover.group import Group
from holdfast.failover.rules.rule import Change, Rule

PAUSE = Rule(130, "PAUSE", "An operator pauses the group: one long lease, no change of roles.")
RESUME = Rule(131, "RESUME", "An operator ends the pause.")


def pause(group: Group, until_s: float, by: str, now_s: float, margin: float = 0.01) -> Asked:
    """`margin`: how much longer than granted the database keeps a lease (`Term.clock_rate_margin`)."""
    situation = blind(group, now_s)
    if until_s <= now_s:
        return Refusal("INVALID_REQUEST", f"until_s: {until_s:.0f} is past (give a moment to come)")
    if group.takeover is not None or group.primary is None:
        return Refusal("INVALID_STATE", "no primary serves: there is nothing to hold on to (wait for one)")
    event = situation.told(
        FailoverEvent.PAUSED, group.primary, f"by {by}, for {until_s - now_s:.0f} s", for_s=until_s - now_s
    )
    long_until_s = max(group.long_until_s, now_s + (until_s - now_s) * (1 + margin))
    paused = replace(group, paused_until_s=until_s, long_until_s=long_until_s)
    return PAUSE.stamped(Change(paused, (event,)))


def resume(group: Group, by: str, now_s: float) -> Asked:
    situation = blind(group, now_s)
    if group.paused_until_s <= now_s:
        return None
    event = situation.told(FailoverEvent.RESUMED, group.primary or "", f"by {by}")
    return RESUME.stamped(Change(replace(group, paused_until_s=0.0), (event,)))
