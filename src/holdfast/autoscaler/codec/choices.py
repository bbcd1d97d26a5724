"""Machines that leave by a notice or by choice, as rows of the item."""

from collections.abc import Mapping
from typing import Any

from holdfast.autoscaler.record import Disrupted, Interrupted, Underused
from holdfast.cloud import NoticeKind

Row = dict[str, str | float]


def interrupted(row: Interrupted) -> Row:
    chosen: Row = {"why": row.why} if row.why else {}
    if row.usd_max:
        chosen["usdMax"] = row.usd_max
    return {
        **chosen,
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
        row.get("why", ""),
        float(row.get("usdMax", 0)),
    )


def underused(row: Underused) -> Row:
    empty: Row = {"empty": row.empty_since_s} if row.empty_since_s else {}
    return {"since": row.since_s, **empty}


def underused_of(instance_id: str, row: Mapping[str, Any]) -> Underused:
    return Underused(instance_id, int(row["since"]), int(row.get("empty", 0)))


def disrupted_of(instance_id: str, row: Mapping[str, Any]) -> Disrupted:
    return Disrupted(instance_id, int(row["at"]))
