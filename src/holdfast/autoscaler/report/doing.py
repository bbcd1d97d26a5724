"""What is being done, in words, from the record alone: actions, notices, machines that are ended."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.autoscaler.codec import phase
from holdfast.autoscaler.reasons import Reason
from holdfast.autoscaler.record import (
    DECLINED,
    READY,
    UNNEEDED,
    Cluster,
    Interrupted,
    ScaleDown,
    ScaleUp,
    Status,
)
from holdfast.cloud import NoticeKind
from holdfast.cloud.text import counted


@dataclass(frozen=True, slots=True)
class Action:
    """The open action."""

    direction: str
    action_id: str
    lasted_s: int
    why: str
    progress: str
    """In words: how far it has come."""


def doing(cluster: Cluster, action: Action | None) -> str:
    told = (
        [f"{'scaling up' if action.direction == 'up' else 'scaling down'}: {action.progress}"]
        if action
        else []
    )
    told += _interruptions(cluster.interrupted)
    if cluster.condemned:
        told.append(f"{counted(len(cluster.condemned), 'machine')} being terminated")
    return "; ".join(told) or "nothing"


KINDS: Mapping[NoticeKind, tuple[str, str]] = {
    NoticeKind.INTERRUPTION: ("spot interruption", "spot interruptions"),
    NoticeKind.REBALANCE: ("rebalance hint", "rebalance hints"),
    NoticeKind.GONE: ("lost machine", "lost machines"),
    NoticeKind.NOT_READY: ("node that is NotReady for too long", "nodes that are NotReady for too long"),
    NoticeKind.REPLACE: ("worker to be replaced", "workers to be replaced"),
}
FATES = ("replaced", "being replaced", "not needed", "not followed", "undecided", "waiting for its turn")


def _interruptions(interrupted: tuple[Interrupted, ...]) -> list[str]:
    """Each kind of notice for itself: what becomes of those machines, in how many cases."""
    told = []
    for kind, called in KINDS.items():
        of_kind = [affected for affected in interrupted if affected.kind is kind]
        if not of_kind:
            continue
        fates = Counter(_fate(affected) for affected in of_kind)
        replaced = ", ".join(f"{fates[fate]} {fate}" for fate in FATES if fates[fate])
        draining = _draining(sum(map(_is_draining, of_kind)), len(of_kind))
        told.append(f"{counted(len(of_kind), *called)}: {replaced}{draining}")
    return told


def _fate(affected: Interrupted) -> str:
    undecided = "waiting for its turn" if affected.kind is NoticeKind.REPLACE else "undecided"
    known = {"": undecided, UNNEEDED: "not needed", READY: "replaced", DECLINED: "not followed"}
    return known.get(affected.replacement, "being replaced")


def _is_draining(affected: Interrupted) -> bool:
    """What may stay is drained once its replacement is there; a node that is not ready heeds no drain."""
    if affected.drained or affected.kind in (NoticeKind.GONE, NoticeKind.NOT_READY):
        return False
    return affected.kind.is_certain or affected.replacement in (READY, UNNEEDED)


def _draining(count: int, of: int) -> str:
    if not count:
        return ""
    if count == of:
        return {1: "; draining", 2: "; both draining"}.get(count, "; all draining")
    return f"; {count} draining"


def open_action(cluster: Cluster, now_s: float) -> Action | None:
    if (up := cluster.scale_up) is not None:
        return Action("up", up.action_id, max(0, round(now_s - up.started_s)), up.reason, _scale_up(up))
    if (down := cluster.scale_down) is not None:
        return Action(
            "down",
            down.action_id,
            max(0, round(now_s - down.started_s)),
            REASONS.get(down.reason, "the workers are idle"),
            _scale_down(down),
        )
    return None


REASONS: Mapping[str, str] = {
    Reason.NODE_EMPTY: "consolidation: the node is empty",
    Reason.NODE_UNDERUSED: "consolidation: what runs there fits elsewhere",
}


def _scale_up(up: ScaleUp) -> str:
    launched = len(up.instance_ids)
    lost = f", {len(up.lost)} lost" if up.lost else ""
    return f"{up.requested} requested, {launched} launched, {len(up.joined)} joined{lost}"


def _scale_down(down: ScaleDown) -> str:
    targets = ", ".join(f"{target.instance_id} {target.status.value}" for target in down.targets)
    left = down.having(Status.PLANNED, Status.DRAINED, Status.CONDEMNED)
    return f"{phase(down) if left else 'ends'}, {targets}"
