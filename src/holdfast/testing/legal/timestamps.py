"""Timestamps of cool-downs and conditions, failures, the lock, and what an operator has written."""

from typing import Final

from holdfast.autoscaler.record import LaunchStatus, PoolFailure, Purpose, ScaleUp
from holdfast.kernel import FREE
from holdfast.testing.legal.commit import Commit

URGENT_S: Final = 30
"""So long after its last renewal may a lock be taken over for a deadline's sake."""


def judge(commit: Commit) -> None:
    before, after = commit.before, commit.after
    if before.schema != after.schema:
        commit.accuse(f"schema {before.schema} became {after.schema}")
    _cool_downs(commit)
    _since(commit, "pendingSinceEpoch", before.pending_since_s, after.pending_since_s)
    _since(commit, "idleSinceEpoch", before.idle_since_s, after.idle_since_s)
    _pools_idle(commit)
    _failures(commit)
    if before.lock != after.lock:
        _lock(commit)
    if (before.paused_until_s, before.paused_why) != (after.paused_until_s, after.paused_why):
        _paused(commit)
    if before.worker_count != after.worker_count:
        _counted(commit)
    if before.last_action_id != after.last_action_id:
        _ended(commit)
    held = (before.hold_code, before.hold_reason)
    if held != (after.hold_code, after.hold_reason) and not _decides(commit):
        commit.accuse("the reason for holding changes, and no decision is told")


def _looked(commit: Commit) -> bool:
    changed = [commit.tells("conditionChanged", what) for what in ("pending", "idle", "neither")]
    return any(changed) or _decides(commit)


def _decides(commit: Commit) -> bool:
    return any(commit.tells("decision", about) for about in ("hold", "scale-up", "scale-down"))


def _ended(commit: Commit) -> None:
    """The id of the action that ended last: so that no later one bears it."""
    before, after = commit.before, commit.after
    closed = [
        was.action_id
        for was, now in ((before.scale_up, after.scale_up), (before.scale_down, after.scale_down))
        if was is not None and now is None
    ]
    if after.last_action_id not in closed:
        commit.accuse(f"lastActionId is {after.last_action_id!r}, and no such action ended")


def _cool_downs(commit: Commit) -> None:
    """They begin with an action that ended well.  A timestamp from the future becomes one from now."""
    before, after = commit.before, commit.after
    up, down = before.scale_up, before.scale_down
    scaled_up = up is not None and after.scale_up is None and bool(up.joined)
    left = down is not None and after.scale_down is None and commit.tells("completeScaleDown", down.action_id)
    for name, was, now, begins in (
        ("lastScaleEpoch", before.last_scale_s, after.last_scale_s, scaled_up or left),
        (
            "lastScaleUpEpoch",
            before.last_up_s,
            after.last_up_s,
            scaled_up and up is not None and not up.by_choice,
        ),
    ):
        if begins:
            commit.dated(name, now)
        elif now != was and (now != min(was, commit.at_s) or not _decides(commit)):
            commit.accuse(f"{name} was {was} and is {now}, and no action ended well at {commit.at_s}")


def _since(commit: Commit, name: str, was: int, now: int) -> None:
    if was == now:
        return
    if not _looked(commit):
        commit.accuse(f"{name} was {was} and is {now}, and no event tells of a look")
    if now not in (0, commit.at_s) or (now and 0 < was < commit.at_s):
        commit.accuse(f"{name} was {was} and is {now}: it begins now, or it is over")


def _pools_idle(commit: Commit) -> None:
    if commit.before.pools_idle == commit.after.pools_idle:
        return
    if not _looked(commit):
        commit.accuse("which pools are idle changes, and no event tells of a look")
    was = {one.pool: one.since_s for one in commit.before.pools_idle}
    now = {one.pool: one.since_s for one in commit.after.pools_idle}
    for pool in sorted(was.keys() | now.keys()):
        # Where no pool had a stamp of its own, that of the fleet counted.
        before_s = was.get(pool, 0 if was else commit.before.idle_since_s)
        _since(commit, f"since when pool {pool} is idle", before_s, now.get(pool, 0))


def _failures(commit: Commit) -> None:
    """A pool backs off when a scale-up ends that came out short there, or when its template is refused."""
    was = {one.pool: one for one in commit.before.pool_failures}
    now = {one.pool: one for one in commit.after.pool_failures}
    up = commit.before.scale_up
    ended = up if up is not None and commit.after.scale_up is None else None
    for pool in sorted(was.keys() | now.keys()):
        if was.get(pool) != now.get(pool):
            _failed(commit, pool, was.get(pool), now.get(pool), ended)
    if ended is None:
        return
    for pool in {row.pool for row in ended.launches}:
        short = _came_short(ended, pool)
        if _lacked_by_choice(ended, pool):
            continue
        if short and now.get(pool) == was.get(pool):
            commit.accuse(
                f"scale-up {ended.action_id} came out short in pool {pool}, which does not back off"
            )
        if not short and pool in now:
            commit.accuse(
                f"scale-up {ended.action_id} brought all that pool {pool} was asked for: it backs off"
            )


def _failed(
    commit: Commit, pool: str, was: PoolFailure | None, now: PoolFailure | None, ended: ScaleUp | None
) -> None:
    refused = commit.tells("poolFailed", pool)
    if ended is None and not refused:
        commit.accuse(f"the back-off of pool {pool} was {was} and is {now}, and no scale-up ended")
        return
    if now is None:
        return
    before, s = was.failures if was else 0, commit.settings
    wait_s = now.until_s - commit.at_s
    counted = now.failures == before + 1 or (not refused and now.failures == before)
    if not counted or not s.back_off_first_s <= wait_s <= s.back_off_max_s:
        commit.accuse(f"the back-off of pool {pool} was {was} and is {now}")


def _lacked_by_choice(up: ScaleUp, pool: str) -> bool:
    """What was given up was of our own choice alone: no pod waits for it.  Whether the pool backs off is left
    to what was wrong with it."""
    given_up = [row for row in up.launches if row.pool == pool and row.status is LaunchStatus.ABANDONED]
    return bool(given_up) and all(row.purpose is Purpose.ROTATION for row in given_up)


def _came_short(up: ScaleUp, pool: str) -> bool:
    lost = set(up.lost)
    return any(
        row.status is LaunchStatus.ABANDONED or lost.intersection(row.instance_ids)
        for row in up.launches
        if row.pool == pool
    )


def _lock(commit: Commit) -> None:
    was, now, ttl_s = commit.before.lock, commit.after.lock, commit.settings.lock_ttl_s
    if now == FREE:
        ended = commit.before.scaling_in_progress and not commit.after.scaling_in_progress
        if not ended and not commit.tells("lockReleased", was.owner):
            commit.accuse(f"the lock of {was.owner} is released, and no event says so")
        return
    commit.expect(f"the lock is taken by {now.owner}", now.owner, "lockTaken")
    if not commit.told_s <= now.until_s <= commit.told_s + ttl_s:
        commit.accuse(f"the lock is taken until {now.until_s:.0f}, longer than {ttl_s} s")
    held_until_s = min(was.until_s, was.until_s - ttl_s + URGENT_S)
    if was.owner and was.owner != now.owner and commit.told_s < held_until_s:
        commit.accuse(f"{now.owner} takes the lock from {was.owner}, which is at work")


def _paused(commit: Commit) -> None:
    after = commit.after
    if commit.tells("paused") or (commit.tells("resumed") and not after.paused_until_s):
        return
    commit.accuse(f"it is paused until {after.paused_until_s}, and no event says so")


def _counted(commit: Commit) -> None:
    before, after = commit.before, commit.after
    ended = before.scale_down is not None and after.scale_down is None
    begun = before.scale_down is None and after.scale_down is not None
    if after.worker_count < 0:
        commit.accuse(f"workerCount is {after.worker_count}")
    if not (ended or begun or _decides(commit)):
        commit.accuse(
            f"workerCount was {before.worker_count} and is {after.worker_count}, and no event tells why"
        )
