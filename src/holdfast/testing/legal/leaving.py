"""Machines that leave: interrupted by the cloud, condemned by us, gone.  Each place has few ways out.

interrupted -> gone (`reclaimed`), condemned, or back in service (`noticeExpired`, `drainSkipped`);
condemned -> gone, and nowhere else; gone is forgotten after a while, and never before.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from holdfast.autoscaler.record import DECLINED, OPEN, READY, UNNEEDED, Condemned, Interrupted
from holdfast.cloud import NoticeKind
from holdfast.testing.legal.commit import Commit

CERTAINTY: Final = {
    NoticeKind.REPLACE: -1,
    NoticeKind.REBALANCE: 0,
    NoticeKind.NOT_READY: 1,
    NoticeKind.INTERRUPTION: 2,
    NoticeKind.GONE: 3,
}


def judge(commit: Commit) -> None:
    before, after = commit.before, commit.after
    if before.condemned != after.condemned:
        _condemned(commit)
    if before.interrupted != after.interrupted:
        _interrupted(commit)
    if before.gone != after.gone:
        _gone(commit)


def _condemned(commit: Commit) -> None:
    was = {one.instance_id: one for one in commit.before.condemned}
    now = {one.instance_id: one for one in commit.after.condemned}
    down = commit.after.scale_down
    _once(commit, "is condemned", (one.instance_id for one in commit.after.condemned))
    for instance_id in was.keys() - now.keys():
        commit.expect(f"{instance_id} is condemned no longer", instance_id, "terminated")
        if not commit.after.is_gone(instance_id):
            commit.accuse(f"{instance_id} was condemned, and is forgotten")
        if down is not None and instance_id in down.having(*OPEN):
            commit.accuse(f"{instance_id} is terminated, and scale-down {down.action_id} still has it ahead")
    for instance_id, row in now.items():
        if instance_id not in was:
            _newly_condemned(commit, row)
        elif was[instance_id] != row and not _refused(commit, was[instance_id], row):
            commit.accuse(f"{instance_id} is condemned by another, at another time or for another reason")


def _refused(commit: Commit, old: Condemned, row: Condemned) -> bool:
    """The cloud refuses to end it: counted, told, and asked again later."""
    told = commit.tells("terminationRefused", row.instance_id)
    once_more = (row.refused, row.retry_s > commit.at_s) == (old.refused + 1, True)
    return bool(told and once_more and replace(old, refused=row.refused, retry_s=row.retry_s) == row)


def _newly_condemned(commit: Commit, row: Condemned) -> None:
    commit.expect(f"{row.instance_id} is condemned", row.instance_id, "terminating")
    commit.dated(f"the condemnation of {row.instance_id}", row.at_s)


def _interrupted(commit: Commit) -> None:
    was = {row.instance_id: row for row in commit.before.interrupted}
    now = {row.instance_id: row for row in commit.after.interrupted}
    _once(commit, "is interrupted", (row.instance_id for row in commit.after.interrupted))
    for instance_id in was.keys() - now.keys():
        _let_go(commit, was[instance_id])
    for instance_id, row in now.items():
        old = was.get(instance_id)
        if old is None:
            commit.expect(f"{instance_id} is interrupted", instance_id, *_news(row))
            if row.replacement or row.drained:
                commit.accuse(f"{instance_id} is replaced or drained before its notice is recorded")
        elif old != row:
            _became(commit, old, row)
    _replaced(commit, was, now)


def _news(row: Interrupted) -> tuple[str, ...]:
    if row.kind is NoticeKind.REPLACE:
        return ("replacing",)
    return ("notReadyTooLong",) if row.kind is NoticeKind.NOT_READY else ("interrupted", "lost")


def _let_go(commit: Commit, row: Interrupted) -> None:
    i, after = row.instance_id, commit.after
    ways = ("reclaimed", "noticeExpired", "drainSkipped", "terminating")
    commit.expect(f"{i} is interrupted no longer", i, *ways)
    if commit.tells("reclaimed", i) and not after.is_gone(i):
        commit.accuse(f"the cloud took {i}, and it is not remembered as gone")
    if commit.tells("terminating", i) and not after.is_condemned(i):
        commit.accuse(f"{i} was interrupted, and its condemnation is forgotten")
    if commit.tells("drainSkipped", i) and row.kind.is_certain:
        commit.accuse(f"{i} is taken for certain, and is kept")
    if row.kind is not NoticeKind.REPLACE:
        return
    if commit.tells("terminating", i) and not (row.replacement == READY and row.drained):
        commit.accuse(
            f"{i} is replaced by choice, and ended before its replacement was ready and it was empty"
        )
    kept = commit.tells("drainSkipped", i) or commit.tells("noticeExpired", i)
    if kept and all(skip.instance_id != i for skip in after.skipped):
        commit.accuse(f"{i} was to be replaced by choice, and is not left alone for a while")


def _became(commit: Commit, old: Interrupted, row: Interrupted) -> None:
    i = old.instance_id
    if (old.kind, old.at_s, old.deadline_s) != (row.kind, row.at_s, row.deadline_s):
        commit.expect(f"the notice of {i} changes", i, *_news(row))
        if CERTAINTY[row.kind] <= CERTAINTY[old.kind]:
            commit.accuse(f"{i} has another deadline, and nothing is more certain than before")
        if row.replacement != old.replacement and (old.replacement, row.replacement) != (DECLINED, ""):
            commit.accuse(f"{i} is replaced otherwise because its interruption is more certain")
        return
    if (old.why, old.usd_max) != (row.why, row.usd_max):
        commit.accuse(f"{i} is replaced for another reason or price than before")
    if row.drained and row.kind is NoticeKind.REPLACE and row.replacement != READY:
        commit.accuse(f"{i} is drained by choice before its replacement is ready")
    if row.drained != old.drained:
        commit.expect(f"{i} is drained or no longer so", i, "drained")
        if old.drained:
            commit.accuse(f"{i} was drained, and that is forgotten")
    if row.replacement != old.replacement:
        _decided(commit, old, row.replacement)


def _decided(commit: Commit, old: Interrupted, now: str) -> None:
    """Once: by the scale-up that brings it or by needing none.  Anew only when that scale-up is closed."""
    i, was, up = old.instance_id, commit.before.scale_up, commit.after.scale_up
    if old.replacement:
        ended = was is not None and up is None and was.action_id == old.replacement
        if not ended or now not in ("", READY):
            commit.accuse(f"the replacement of {i} was {old.replacement} and is {now or 'undecided'}")
    elif now in (UNNEEDED, DECLINED) and old.kind is NoticeKind.REPLACE:
        commit.accuse(f"{i} is to be replaced by choice, and gets no replacement")
    elif now == DECLINED and old.kind.is_certain:
        commit.accuse(f"{i} is taken for certain, and its replacement is declined")
    elif now in (UNNEEDED, DECLINED):
        commit.expect(f"{i} is not replaced", i, "notReplaced")
    elif up is None or now != up.action_id:
        commit.accuse(f"{i} is to be replaced by {now}, which is no open scale-up")


def _replaced(commit: Commit, was: dict[str, Interrupted], now: dict[str, Interrupted]) -> None:
    """No more are replaced than are newly asked for."""
    up, old_up = commit.after.scale_up, commit.before.scale_up
    if up is None:
        return
    covered = sum(row.replacement == up.action_id != was[i].replacement for i, row in now.items() if i in was)
    asked = up.requested - (old_up.requested if old_up is not None else 0)
    if covered > max(0, asked):
        commit.accuse(f"{covered} are to be replaced by {asked} workers")


def _gone(commit: Commit) -> None:
    was, now = set(commit.before.gone), set(commit.after.gone)
    for stone in was - now:
        if commit.told_s - stone.at_s < commit.settings.remember_s:
            commit.accuse(f"{stone.instance_id} is gone for {commit.at_s - stone.at_s} s, and is forgotten")
    for stone in now - was:
        commit.expect(f"{stone.instance_id} is gone", stone.instance_id, "terminated", "reclaimed")
        commit.dated(f"the end of {stone.instance_id}", stone.at_s)


def _once(commit: Commit, what: str, ids: Iterable[str]) -> None:
    twice = [i for i, times in Counter(ids).items() if times > 1]
    if twice:
        commit.accuse(f"{' '.join(twice)} {what} twice")
