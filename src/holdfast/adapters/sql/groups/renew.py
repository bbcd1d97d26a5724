"""Renewals: many heartbeats in one transaction, each guarded by its own row.

Rule 1: epoch, is_primary and session stand in the row that holds the lease, and the statement that extends it
        asks for them there.  A revocation writes that row, so no grant can rest on an older one.
Rule 2: rows are locked with SKIP LOCKED: a row that is held up by another transaction holds up no other.
        What was skipped is tried again without the others, for a short while.
Rule 3: a batch that fails is cut in two, so that one bad row spoils its own renewal only.
Rule 4: agents are answered after the commit, never before.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from holdfast.adapters.sql.connection import SKIPPED_LIMIT_S, Failure
from holdfast.adapters.sql.database import SqlDatabase
from holdfast.adapters.sql.groups.batch import Key, extend, key_of, lock, values_of
from holdfast.failover.group import subject_of
from holdfast.failover.ports import Beat, Grant, Term
from holdfast.failover.roles import Status
from holdfast.kernel import Busy, Corrupt, HoldfastError

TRY_AGAIN_S: Final = 0.02


def renew(database: SqlDatabase, beats: Sequence[Beat], term: Term) -> Sequence[Grant]:
    """Raises Busy if not one could be stored; else those that could not are answered with no lease."""
    answered, first_error = _halves(database, list(beats), term)
    if first_error is not None and not answered:
        raise first_error
    return [answered.get(n) or _unanswered(beat) for n, beat in enumerate(beats)]


def _halves(
    database: SqlDatabase, beats: Sequence[Beat], term: Term, start: int = 0
) -> tuple[dict[int, Grant], HoldfastError | None]:
    """Grants by place, and why some are missing.  A database that is away is not asked for each half."""
    try:
        return {start + n: grant for n, grant in _batch(database, beats, term).items()}, None
    except (Busy, Corrupt) as error:
        failure = getattr(error.__cause__, "failure", None)
        if len(beats) <= 1 or failure not in (Failure.COLLIDED, Failure.WRONG):
            return {}, error
    half = len(beats) // 2
    first, error_1 = _halves(database, beats[:half], term, start)
    second, error_2 = _halves(database, beats[half:], term, start + half)
    return {**first, **second}, error_1 or error_2


def _batch(database: SqlDatabase, beats: Sequence[Beat], term: Term) -> dict[int, Grant]:
    """Rows that another transaction holds are tried again without the others, for a short while."""
    found: dict[int, Grant] = {}
    until_s = time.monotonic() + SKIPPED_LIMIT_S
    while True:
        left = {n: beat for n, beat in enumerate(beats) if n not in found}
        found |= _free(database, left, term)
        if len(found) == len(beats):
            return found
        if time.monotonic() > until_s:
            return found | {n: _unanswered(beat) for n, beat in left.items() if n not in found}
        time.sleep(TRY_AGAIN_S)


def _free(database: SqlDatabase, beats: Mapping[int, Beat], term: Term) -> dict[int, Grant]:
    """One transaction over all rows that are free; the rest is missing from the answer."""
    values = values_of(database, list(beats.values()), term)
    with database.transaction() as tx:
        locked = lock(tx, list(beats.values()), values)
        free = {(row[0], row[1]) for row in locked}
        mine = [beat for beat in beats.values() if key_of(beat) in free]
        if 0 < len(mine) < len(beats):
            values = values_of(database, mine, term)
        stored = extend(tx, locked, values) if mine else {}
        others = {
            key_of(beat): row
            for beat in beats.values()
            if key_of(beat) not in stored
            for row in tx.rows("seen_by", **_place(beat))
        }
    return {
        n: _grant(beat, stored, others)
        for n, beat in beats.items()
        if key_of(beat) in free or key_of(beat) not in others
    }


def _grant(beat: Beat, stored: Mapping[Key, Sequence[Any]], others: Mapping[Key, Sequence[Any]]) -> Grant:
    """From the instance's own row, as it was stored."""
    if (row := stored.get(key_of(beat))) is not None:
        epoch, is_primary, status, goal_version, lease_s = row
        serves = bool(is_primary) and epoch == beat.epoch and beat.may_be_granted
        return Grant(
            instance_id=beat.instance_id,
            known=True,
            session_ok=True,
            epoch=epoch,
            primary=bool(is_primary),
            lease_s=float(lease_s) if serves else 0.0,
            status=Status(status),
            goal_version=goal_version,
        )
    if (other := others.get(key_of(beat))) is not None:
        _, _, _, epoch, is_primary, status, goal_version, _ = other
        return Grant(
            instance_id=beat.instance_id,
            known=True,
            epoch=epoch,
            primary=bool(is_primary),
            status=Status(status),
            goal_version=goal_version,
        )
    return Grant(instance_id=beat.instance_id, known=False)


def _unanswered(beat: Beat) -> Grant:
    """No word about its role, and of no epoch: an agent that serves must not take it for a revocation."""
    return Grant(instance_id=beat.instance_id, known=True, stored=False)


def _place(beat: Beat) -> dict[str, str]:
    subject = subject_of(beat.client_id, beat.agent_id)
    return {"client_id": beat.client_id, "instance_id": beat.instance_id, "id": subject}
