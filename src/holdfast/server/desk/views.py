"""Groups, instances and events as they are answered: plain values, times in seconds."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from holdfast.failover.events import FailoverEvent
from holdfast.failover.group import Group, GroupSettings, Member, Mode, Replica
from holdfast.failover.roles import Status
from holdfast.failover.rules.rule import RULE, Situation
from holdfast.failover.rules.standby import unready
from holdfast.failover.tenants import StoredInstance
from holdfast.kernel import Logged, Versioned

DAY_S = 86_400.0
KINDS = {kind.value: kind for kind in FailoverEvent}


def group_view(found: Versioned[Group], situation: Situation, waits_for: str) -> dict[str, Any]:
    group = found.value
    members = [member_view(situation, member) for member in group.members]
    return {
        "agent_id": group.agent_id,
        "version": found.version,
        "epoch": group.epoch,
        "mode": group.settings.mode,
        "primary": group.primary,
        "degraded": asdict(group.degraded) if group.degraded else None,
        "recovering": asdict(group.recovering) if group.recovering else None,
        "paused_until_s": group.paused_until_s if group.paused_until_s > situation.now_s else None,
        "takeover": asdict(group.takeover) if group.takeover else None,
        "switch": asdict(group.switch) if group.switch else None,
        "settled": group.takeover is None and group.switch is None,
        "healthy": group.primary is not None
        and not group.degraded
        and any(each["ready"] for each in members),
        "members": members,
        "replicas": [replica_view(replica) for replica in group.replicas],
        "strangers": list(group.strangers),
        "settings": settings_view(group.settings),
        "next": waits_for,
    }


def member_view(situation: Situation, member: Member) -> dict[str, Any]:
    seen = situation.of(member)
    reason = unready(situation, member)
    standby = member.status in (Status.REPLICA, Status.LAUNCHING)
    return {
        "instance_id": member.instance_id,
        "status": member.status,
        "is_primary": member.status.is_primary,
        "for_s": max(0.0, situation.now_s - member.since_s),
        "version": member.version,
        "pool": member.pool,
        "address": member.address,
        "priority": member.priority,
        "never_promote": member.never_promote,
        "emergency": member.emergency,
        "notice": member.notice,
        "lease_left_s": seen.lease_left_s,
        "silent_s": seen.silent_s if seen.silent_s != float("inf") else None,
        "lag_s": seen.report.lag_s,
        "position": seen.report.position,
        "healthy": seen.report.healthy,
        "ready": standby and not reason,
        "not_ready": reason if standby else "",
        "failure": member.failure,
        "demoted_at_s": member.demoted_at_s or None,
        "terminate_at_s": member.terminate_at_s or None,
    }


def replica_view(replica: Replica) -> dict[str, Any]:
    shown = asdict(replica)
    del shown["token"]
    return shown


def instance_view(row: StoredInstance) -> dict[str, Any]:
    """A row of the table, by the names of its columns."""
    return {
        "id": row.instance_id,
        "agent_id": row.agent_id.rpartition("/")[2],
        "is_primary": row.is_primary,
        "instance_status": row.status,
        "version": row.version,
        "instance_type": row.instance_type,
        "region": row.region,
        "az": row.az,
        "demoted_at": row.demoted_at_s,
        "terminated_at": row.terminated_at_s,
    }


def settings_view(settings: GroupSettings) -> dict[str, Any]:
    """By the names that the settings have on the wire."""
    return {
        "mode": settings.mode,
        "auto_switch_enabled": settings.mode is Mode.AUTO_SWITCH,
        "manual_replica_enabled": settings.mode is Mode.MANUAL_REPLICA,
        "auto_terminate_enabled": settings.auto_terminate,
        "terminate_wait_seconds": settings.terminate_wait_s,
        "zombie_retention_days": settings.zombie_retention_s / DAY_S,
        "standbys": settings.standbys_wanted,
        "max_lag_s": settings.max_lag_s,
        "max_lag_emergency_s": settings.max_lag_emergency_s,
        "catch_up_s": settings.catch_up_s,
        "promote_timeout_s": settings.promote_timeout_s,
        "unhealthy_s": settings.unhealthy_s,
        "serve_reads": settings.serve_reads,
    }


def events_view(events: Sequence[Logged]) -> list[dict[str, Any]]:
    return [event_view(logged) for logged in events]


def event_view(logged: Logged) -> dict[str, Any]:
    event = logged.event
    kind = KINDS.get(event.kind)
    if kind is not None:
        told, severity = kind.told(event.about), str(kind.severity)
    else:  # of a newer release
        told, severity = f"{event.kind} {event.about}".strip(), "info"
    return {
        "version": logged.version,
        "n": logged.n,
        "at_s": event.at_s,
        "kind": event.kind,
        "about": event.about,
        "told": told,
        "reason": event.reason,
        "code": event.code,
        "rule": int(event.numbers.get(RULE, 0)) or None,
        "severity": severity,
        "numbers": dict(event.numbers),
    }
