"""Timestamps of cool-downs and conditions, failures, the lock, and what an operator has written."""

from typing import Final

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
        ("lastScaleUpEpoch", before.last_up_s, after.last_up_s, scaled_up),
    ):
        if begins:
            commit.dated(name, now)
        elif now != was and (now != min(was, commit.at_s) or not _decides(commit)):
            commit.accuse(f"{name} was {was} and is {now}, and no action ended well at {commit.at_s}")


def _since(commit: Commit, name: str, was: int, now: int) -> None:
    if was == now:
        return
    looked = [commit.tells("conditionChanged", what) for what in ("pending", "idle", "neither")]
    if not (_decides(commit) or any(looked)):
        commit.accuse(f"{name} was {was} and is {now}, and no event tells of a look")
    if now not in (0, commit.at_s) or (now and 0 < was < commit.at_s):
        commit.accuse(f"{name} was {was} and is {now}: it begins now, or it is over")


def _failures(commit: Commit) -> None:
    before, after = commit.before, commit.after
    was, now = (before.failures, before.back_off_until_s), (after.failures, after.back_off_until_s)
    up = before.scale_up
    if up is None or after.scale_up is not None:
        if was != now:
            commit.accuse(f"the back-off was {was} and is {now}, and no scale-up ended")
    elif up.requested <= len(up.joined):
        if now != (0, 0):
            commit.accuse(f"scale-up {up.action_id} brought all that it was for, and backs off: {now}")
    else:
        wait_s = after.back_off_until_s - commit.at_s
        s = commit.settings
        if after.failures != before.failures + 1 or not s.back_off_first_s <= wait_s <= s.back_off_max_s:
            commit.accuse(f"scale-up {up.action_id} came out short, and the back-off was {was} and is {now}")


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
