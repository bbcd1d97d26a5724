"""The rows of one batch of renewals, inside its transaction: locked, extended, and what is told of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from holdfast.adapters.sql.database import SqlDatabase, Transaction
from holdfast.failover.group import subject_of
from holdfast.failover.ports import Beat, Term

Key = tuple[str, str]


def key_of(beat: Beat) -> Key:
    return beat.client_id, beat.instance_id


def values_of(database: SqlDatabase, beats: Sequence[Beat], term: Term) -> Mapping[str, Any]:
    """In the order of the keys: the rows are locked in that order."""
    rows = [
        {
            "client_id": beat.client_id,
            "id": beat.instance_id,
            "agent_id": subject_of(beat.client_id, beat.agent_id),
            "session": beat.session,
            "epoch": beat.epoch,
            "watchdog": beat.may_be_granted,
            "report": msgspec.json.encode(beat.report).decode(),
        }
        for beat in sorted(beats, key=key_of)
    ]
    ratio = term.kept_s / term.granted_s
    return {**database.dialect.beats(rows), "granted_s": term.granted_s, "ratio": ratio}


def lock(tx: Transaction, beats: Sequence[Beat], values: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
    """The rows that no other transaction holds.  Where a transaction holds all of them, none is asked for."""
    return tx.rows("lock_beats", **values) if tx.knows("lock_beats") else [key_of(beat) for beat in beats]


def extend(
    tx: Transaction, locked: Sequence[Sequence[Any]], values: Mapping[str, Any]
) -> Mapping[Key, Sequence[Any]]:
    """What is stored in each row whose agent and session are those of its heartbeat."""
    if tx.knows("renew_rows"):
        return _read_while_locked(tx, locked, values)
    return {(row[0], row[1]): row[2:] for row in tx.rows("renew", **values)}


def _read_while_locked(
    tx: Transaction, locked: Sequence[Sequence[Any]], values: Mapping[str, Any]
) -> Mapping[Key, Sequence[Any]]:
    """Where an update answers no rows, they were read as they were locked.

    The clock is asked after the update: what is left of a pause is never told longer than it was stored.
    """
    tx.run("renew_rows", **values)
    ((now_s,),) = tx.rows("now")
    granted_s = values["granted_s"]
    return {
        (client_id, instance_id): (*told, max(granted_s, paused_until_s - now_s))
        for client_id, instance_id, ours, *told, paused_until_s in locked
        if ours
    }
