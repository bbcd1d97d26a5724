"""Machines that leave by a notice or by choice, as rows of the item."""

from collections.abc import Mapping
from typing import Any

from holdfast.autoscaler.record import Interrupted, Underused
from holdfast.cloud import NoticeKind

Row = dict[str, str | float]


def interrupted(row: Interrupted) -> Row:
    return {
        "kind": row.kind.value,
        "at": row.at_s,
        "deadline": row.deadline_s,
        "replacement": row.replacement,
        "drained": int(row.drained),
    }


def interrupted_of(instance_id: str, row: Mapping[str, Any]) -> Interrupted:
    return Interrupted(
        instance_id,
        NoticeKind(row["kind"]),
        int(row["at"]),
        int(row["deadline"]),
        row["replacement"],
        bool(row["drained"]),
    )


def underused(row: Underused) -> Row:
    empty: Row = {"empty": row.empty_since_s} if row.empty_since_s else {}
    return {"since": row.since_s, **empty}


def underused_of(instance_id: str, row: Mapping[str, Any]) -> Underused:
    return Underused(instance_id, int(row["since"]), int(row.get("empty", 0)))
