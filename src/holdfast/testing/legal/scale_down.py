"""A scale-down: planned alone, drained, condemned or kept one by one, ended when every target is decided."""

from typing import Final

from holdfast.autoscaler.record import ScaleDown, Status
from holdfast.testing.legal.commit import Commit, follow, open_action

UNDECIDED: Final = (Status.PLANNED, Status.DRAINED)

WAYS: Final = {
    (Status.PLANNED, Status.DRAINED): "drained",
    (Status.PLANNED, Status.SKIPPED): "drainSkipped",
    (Status.DRAINED, Status.SKIPPED): "drainSkipped",
    (Status.DRAINED, Status.CONDEMNED): "terminating",
    (Status.CONDEMNED, Status.GONE): "terminated",
    # It may be condemned for another reason before its turn comes: a person has stopped it.
    (Status.PLANNED, Status.GONE): "terminated",
    (Status.DRAINED, Status.GONE): "terminated",
}
"""What may become of a target, and how that is told."""


def judge(commit: Commit) -> None:
    was, now = commit.before.scale_down, commit.after.scale_down
    follow(commit, "scale-down", was, now, begun=_begun, ended=_ended, went_on=_went_on)


def _begun(commit: Commit, down: ScaleDown) -> None:
    commit.expect(f"scale-down {down.action_id} is begun", down.action_id, "beginScaleDown")
    other, before = open_action(commit.before), commit.before
    if other is not None:
        commit.accuse(f"scale-down {down.action_id} is begun before {other.action_id} has ended")
    commit.dated(f"the begin of {down.action_id}", down.started_s)
    left_alone = {skip.instance_id for skip in before.skipped if commit.told_s < skip.until_s}
    for target in down.targets:
        i = target.instance_id
        if target.status is not Status.PLANNED:
            commit.accuse(f"{i} is {target.status.value} when {down.action_id} is begun")
        if before.is_condemned(i) or before.interruption_of(i) is not None or i in left_alone:
            commit.accuse(f"{i} is planned, though it leaves already or was kept not long ago")


def _ended(commit: Commit, down: ScaleDown) -> None:
    left = down.having(Status.CONDEMNED, Status.GONE)
    kind = "completeScaleDown" if left else "failScaleDown"
    commit.expect(f"scale-down {down.action_id} is closed, {len(left)} leave", down.action_id, kind)
    if undecided := down.having(*UNDECIDED):
        commit.accuse(
            f"scale-down {down.action_id} is closed while it is open what becomes of {' '.join(undecided)}"
        )


def _went_on(commit: Commit, was: ScaleDown, now: ScaleDown) -> None:
    plan = [target.instance_id for target in was.targets]
    same = (was.started_s, was.reason) == (now.started_s, now.reason)
    if plan != [target.instance_id for target in now.targets] or not same:
        commit.accuse(f"scale-down {was.action_id} has another plan or begin than before")
        return
    if _phase(was) == "TERMINATING" and _phase(now) == "DRAINING":
        commit.accuse(f"scale-down {was.action_id} goes back from TERMINATING to DRAINING")
    for old, new in zip(was.targets, now.targets, strict=True):
        if old.status is not new.status:
            _moved(commit, old.instance_id, old.status, new.status)


def _moved(commit: Commit, instance_id: str, old: Status, new: Status) -> None:
    kind, after = WAYS.get((old, new), ""), commit.after
    if not kind:
        commit.accuse(f"{instance_id} was {old.value} and is {new.value}")
        return
    commit.expect(f"{instance_id} was {old.value} and is {new.value}", instance_id, kind)
    if new is Status.CONDEMNED and not after.is_condemned(instance_id):
        commit.accuse(f"{instance_id} is condemned by its action alone, and forgotten with it")
    if new is Status.GONE and not commit.before.is_condemned(instance_id):
        commit.accuse(f"{instance_id} is done, and was not condemned before")
    if new is Status.GONE and not after.is_gone(instance_id):
        commit.accuse(f"{instance_id} is done, and not remembered as gone")
    if new is Status.SKIPPED and all(skip.instance_id != instance_id for skip in after.skipped):
        commit.accuse(f"{instance_id} is kept, and not left alone for a while")


def _phase(down: ScaleDown) -> str:
    """`scaleDownPhase` as the seeds mean it: draining until every target is decided."""
    return "DRAINING" if down.having(*UNDECIDED) else "TERMINATING"
