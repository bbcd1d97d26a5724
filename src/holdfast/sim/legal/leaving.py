"""Who leaves: doomed by the cloud, condemned by us, gone.  From each place there are few ways out.

doomed -> gone (`tookBack`), condemned, or back in service (`spared`, `kept`); condemned -> gone, and nowhere
else; gone is forgotten after a while, and never before.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from holdfast.autoscaler.record import OPEN, READY, UNNEEDED, Condemned, Doomed
from holdfast.cloud import NoticeKind
from holdfast.sim.legal.commit import Commit

CERTAINTY: Final = {NoticeKind.REBALANCE: 0, NoticeKind.INTERRUPTION: 1, NoticeKind.GONE: 2}


def judge(commit: Commit) -> None:
    before, after = commit.before, commit.after
    if before.condemned != after.condemned:
        _condemned(commit)
    if before.doomed != after.doomed:
        _doomed(commit)
    if before.gone != after.gone:
        _gone(commit)


def _condemned(commit: Commit) -> None:
    was = {one.instance_id: one for one in commit.before.condemned}
    now = {one.instance_id: one for one in commit.after.condemned}
    down = commit.after.scale_down
    _once(commit, "condemned", (one.instance_id for one in commit.after.condemned))
    for instance_id in was.keys() - now.keys():
        commit.expect(f"{instance_id} is condemned no longer", instance_id, "terminated")
        if not commit.after.is_gone(instance_id):
            commit.accuse(f"{instance_id} was condemned, and is forgotten")
        if down is not None and instance_id in down.having(*OPEN):
            commit.accuse(f"{instance_id} is terminated, and removal {down.action_id} still has it ahead")
    for instance_id, row in now.items():
        if instance_id not in was:
            _newly_condemned(commit, row)
        elif was[instance_id] != row:
            commit.accuse(f"{instance_id} is condemned by another, at another time or for another reason")


def _newly_condemned(commit: Commit, row: Condemned) -> None:
    commit.expect(f"{row.instance_id} is condemned", row.instance_id, "condemned")
    commit.stamped(f"the condemnation of {row.instance_id}", row.at_s)


def _doomed(commit: Commit) -> None:
    was = {doom.instance_id: doom for doom in commit.before.doomed}
    now = {doom.instance_id: doom for doom in commit.after.doomed}
    _once(commit, "doomed", (doom.instance_id for doom in commit.after.doomed))
    for instance_id in was.keys() - now.keys():
        _let_go(commit, was[instance_id])
    for instance_id, doom in now.items():
        old = was.get(instance_id)
        if old is None:
            commit.expect(f"{instance_id} is doomed", instance_id, "doomed")
            if doom.replacement or doom.drained:
                commit.accuse(f"{instance_id} is replaced or drained before anybody could know of it")
        elif old != doom:
            _became(commit, old, doom)
    _replaced(commit, was, now)


def _let_go(commit: Commit, doom: Doomed) -> None:
    i, after = doom.instance_id, commit.after
    ways = ("tookBack", "spared", "kept", "condemned")
    commit.expect(f"{i} is doomed no longer", i, *ways)
    if commit.tells("tookBack", i) and not after.is_gone(i):
        commit.accuse(f"the cloud took {i}, and it is not remembered as gone")
    if commit.tells("condemned", i) and not after.is_condemned(i):
        commit.accuse(f"{i} was doomed, and its condemnation is forgotten")
    if commit.tells("kept", i) and doom.kind is not NoticeKind.REBALANCE:
        commit.accuse(f"{i} is taken for certain, and is kept")


def _became(commit: Commit, old: Doomed, doom: Doomed) -> None:
    i = old.instance_id
    if (old.kind, old.at_s, old.deadline_s) != (doom.kind, doom.at_s, doom.deadline_s):
        commit.expect(f"what dooms {i} changes", i, "doomed")
        if CERTAINTY[doom.kind] <= CERTAINTY[old.kind]:
            commit.accuse(f"{i} has another deadline, and nothing is more certain than before")
        if doom.replacement != old.replacement:
            commit.accuse(f"{i} is replaced otherwise because its doom is more certain")
        return
    if doom.drained != old.drained:
        commit.expect(f"{i} is drained or no longer so", i, "drained")
        if old.drained:
            commit.accuse(f"{i} was drained, and that is forgotten")
    if doom.replacement != old.replacement:
        _decided(commit, old, doom.replacement)


def _decided(commit: Commit, old: Doomed, now: str) -> None:
    """Once: by the growth that brings it or by needing none.  Anew only when that growth is closed."""
    i, was, up = old.instance_id, commit.before.scale_up, commit.after.scale_up
    if old.replacement:
        ended = was is not None and up is None and was.action_id == old.replacement
        if not ended or now not in ("", READY):
            commit.accuse(f"the replacement of {i} was {old.replacement} and is {now or 'undecided'}")
    elif now == UNNEEDED:
        commit.expect(f"{i} is not replaced", i, "notReplaced")
    elif up is None or now != up.action_id:
        commit.accuse(f"{i} is to be replaced by {now}, which is no open growth")


def _replaced(commit: Commit, was: dict[str, Doomed], now: dict[str, Doomed]) -> None:
    """No more are replaced than are newly asked for."""
    up, grown = commit.after.scale_up, commit.before.scale_up
    if up is None:
        return
    covered = sum(
        doom.replacement == up.action_id != was[i].replacement for i, doom in now.items() if i in was
    )
    asked = up.requested - (grown.requested if grown is not None else 0)
    if covered > max(0, asked):
        commit.accuse(f"{covered} are to be replaced by {asked} workers")


def _gone(commit: Commit) -> None:
    was, now = set(commit.before.gone), set(commit.after.gone)
    for stone in was - now:
        if commit.told_s - stone.at_s < commit.settings.remember_s:
            commit.accuse(f"{stone.instance_id} is gone for {commit.at_s - stone.at_s} s, and is forgotten")
    for stone in now - was:
        commit.expect(f"{stone.instance_id} is gone", stone.instance_id, "terminated", "tookBack")
        commit.stamped(f"the end of {stone.instance_id}", stone.at_s)


def _once(commit: Commit, what: str, ids: Iterable[str]) -> None:
    twice = [i for i, times in Counter(ids).items() if times > 1]
    if twice:
        commit.accuse(f"{' '.join(twice)} is {what} twice")
