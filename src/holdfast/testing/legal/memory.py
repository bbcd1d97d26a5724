"""What outlives actions: machines launched or kept lately, what has run out, what is missing or stray.

A memory is kept until its time is over.  No event has to tell that it has run out.
"""

from collections import Counter
from typing import Final

from holdfast.autoscaler.record import Cluster, Cordon, LaunchStatus, Status
from holdfast.cloud import NoticeKind
from holdfast.testing.legal.commit import HOUR_S, Commit, booked_within_an_hour, open_action

RECLAIMED: Final = "being reclaimed"
"""Why an offering is left alone from which the cloud takes machines back."""


def judge(commit: Commit) -> None:
    before, after = commit.before, commit.after
    if before.recent != after.recent:
        _recent(commit)
    if before.skipped != after.skipped:
        _skipped(commit)
    if before.unavailable != after.unavailable:
        _unavailable(commit)
    if before.spent != after.spent:
        _spent(commit)
    if before.not_ready != after.not_ready and not commit.restores:
        _not_ready(commit)
    if before.underused != after.underused and not commit.restores:
        _underused(commit)
    if before.disrupted != after.disrupted:
        _disrupted(commit)
    if before.unhelped != after.unhelped:
        _unhelped(commit)
    if before.missing != after.missing and not commit.restores:
        _missing(commit)
    if before.strays != after.strays:
        _strays(commit)


def _recent(commit: Commit) -> None:
    was, now = set(commit.before.recent), set(commit.after.recent)
    up = commit.before.scale_up
    joined = up.joined if up is not None and commit.after.scale_up is None else ()
    for one in was - now:
        if commit.told_s - one.at_s < commit.settings.remember_s:
            commit.accuse(f"{one.instance_id} was launched {commit.at_s - one.at_s} s ago, and is forgotten")
    for one in now - was:
        if one.instance_id not in joined:
            named = ("adopted", "joinUnknown")
            commit.expect(f"{one.instance_id} counts as launched lately", one.instance_id, *named)
        commit.dated(f"the launch of {one.instance_id}", one.at_s)


def _skipped(commit: Commit) -> None:
    was, now = set(commit.before.skipped), set(commit.after.skipped)
    anew = {skip.instance_id for skip in now - was}
    for skip in was - now:
        if skip.instance_id not in anew and commit.told_s < skip.until_s:
            commit.accuse(f"{skip.instance_id} was to be left alone until {skip.until_s}, and is not")
    for skip in now - was:
        row = commit.before.interruption_of(skip.instance_id)
        chosen = row is not None and row.kind is NoticeKind.REPLACE
        ways = ("drainSkipped", "noticeExpired") if chosen else ("drainSkipped",)
        commit.expect(f"{skip.instance_id} is left alone for a while", skip.instance_id, *ways)
        if skip.until_s < commit.at_s:
            commit.accuse(f"{skip.instance_id} is left alone until {skip.until_s}, which is over")


def _unavailable(commit: Commit) -> None:
    was, now = set(commit.before.unavailable), set(commit.after.unavailable)
    anew, up = {one.offering for one in now - was}, commit.before.scale_up
    for one in was - now:
        if one.offering not in anew and commit.told_s < one.until_s:
            commit.accuse(f"{one.offering} was to be left alone until {one.until_s}, and is not")
    noticed = [i for i in _interruptions(commit) if commit.tells("interrupted", i)]
    for one in now - was:
        told = up is not None and (
            commit.tells("launchRefused", up.action_id)
            or commit.tells("recordScaleUpInstances", up.action_id)
        )
        if one.reason == RECLAIMED and noticed and one.until_s > commit.at_s:
            continue
        if not told or one.until_s < commit.at_s:
            commit.accuse(f"{one.offering} is left alone until {one.until_s}, and no request came out short")


def _interruptions(commit: Commit) -> list[str]:
    """Machines whose notice is new, or more certain than before."""
    known = set(commit.before.interrupted)
    return [row.instance_id for row in commit.after.interrupted if row not in known]


def _spent(commit: Commit) -> None:
    """What is booked newly is judged with the requests that it is booked for."""
    was, now = _booked(commit.before), _booked(commit.after)
    lowered = 0
    for key, count in was.items():
        if now[key] < count and commit.told_s - key[1] < HOUR_S:
            lowered += count - now[key]
    refused = _refused(commit)
    if lowered > refused:
        commit.accuse(f"{lowered} launches are forgotten within the hour, and {refused} were refused")
    up = commit.after.scale_up
    for (action_id, at_s, _), count in (now - was).items():
        if up is None or (action_id, at_s) != (up.action_id, commit.at_s):
            commit.accuse(f"{count} launches of {action_id} are booked, and no request asks for them")
        elif up == commit.before.scale_up:
            commit.accuse(f"{count} launches of {action_id} are booked, and nothing is newly asked for")


def _booked(cluster: Cluster) -> Counter[tuple[str, int, str]]:
    counts = Counter[tuple[str, int, str]]()
    for one in cluster.spent:
        counts[one.action_id, one.at_s, one.purpose] += one.count
    return counts


def _refused(commit: Commit) -> int:
    """Of the launches that were asked for, those that this commit says were certainly not made."""
    up = commit.after.scale_up
    now = {(row.group, row.attempt): row for row in up.launches} if up else {}
    count = 0
    for row in commit.before.scale_up.intended if commit.before.scale_up else ():
        after = now.get((row.group, row.attempt), row)
        if after.status is not LaunchStatus.INTENDED:
            count += row.count - len(after.instance_ids)
    return count


def _not_ready(commit: Commit) -> None:
    was, now = set(commit.before.not_ready), set(commit.after.not_ready)
    for one in was - now:
        commit.expect(
            f"{one.instance_id} is noted as not ready no longer",
            one.instance_id,
            "notReadyOver",
            "notReadyTooLong",
        )
    for one in now - was:
        commit.expect(f"{one.instance_id} is not ready", one.instance_id, "notReady")
        commit.dated(f"since when {one.instance_id} is not ready", one.since_s)


def _underused(commit: Commit) -> None:
    """Since when is written once, and empty or not is dated by the moment that it changes."""
    was = {one.instance_id: one for one in commit.before.underused}
    now = {one.instance_id: one for one in commit.after.underused}
    for i in was.keys() - now.keys():
        commit.expect(f"{i} is noted as underused no longer", i, "nodeInUse")
    for i, one in now.items():
        old = was.get(i)
        if one == old:
            continue
        empty = one.empty_since_s > 0
        commit.expect(f"{i} is underused", i, "nodeEmpty" if empty else "nodeUnderused")
        if old is None:
            commit.dated(f"since when {i} is underused", one.since_s)
        elif one.since_s != old.since_s or empty == (old.empty_since_s > 0):
            commit.accuse(f"{i} is underused since {old.since_s}, and now since {one.since_s}")
        if empty:
            commit.dated(f"since when {i} is empty", one.empty_since_s)


def _disrupted(commit: Commit) -> None:
    """A share of the workers an hour.  What is booked is what this very commit begins to disrupt."""
    most = max(1, int(commit.settings.disruption.share_per_hour * commit.settings.max_workers))
    up, down = commit.after.scale_up, commit.after.scale_down
    before, after = commit.before.disrupted, commit.after.disrupted
    for one in booked_within_an_hour(commit, "disrupted", before, after, most):
        row = commit.after.interruption_of(one)
        replaced = up is not None and row is not None and row.replacement == up.action_id
        emptied = down is not None and one in down.having(Status.PLANNED)
        if not replaced and not emptied:
            commit.accuse(f"{one} is booked as disrupted, and nothing is done with it")


def _unhelped(commit: Commit) -> None:
    was, now = set(commit.before.unhelped), set(commit.after.unhelped)
    anew = {one.pods for one in now}
    for one in was - now:
        if one.pods not in anew:
            commit.expect(f"{one.pods} may ask for nodes again", one.pods, "unhelpedOver")
    for one in now - was:
        commit.expect(f"no node helps {one.pods}", one.pods, "unhelped")
        commit.dated(f"since when no node helps {one.pods}", one.since_s)


def _missing(commit: Commit) -> None:
    was, now = set(commit.before.missing), set(commit.after.missing)
    for one in was - now:
        commit.expect(f"{one.instance_id} is missing no longer", one.instance_id, "noLongerMissing")
    for one in now - was:
        commit.expect(f"{one.instance_id} is missing", one.instance_id, "missing")
        commit.dated(f"the absence of {one.instance_id}", one.since_s)


def _strays(commit: Commit) -> None:
    was, now = set(commit.before.strays), set(commit.after.strays)
    needed = _owners(commit)
    for stray in was - now:
        commit.expect(
            f"the stray on {stray.instance_id} is forgotten", stray.instance_id, "strayCordonLifted"
        )
    for stray in now - was:
        commit.expect(f"{stray.instance_id} has a stray", stray.instance_id, "strayCordonFound")
        if _is_needed(stray, needed):
            commit.accuse(f"the cordon of {stray.action_id} on {stray.instance_id} is no stray: it is needed")


def _owners(commit: Commit) -> set[str]:
    cluster = commit.before
    action = open_action(cluster)
    owners = {row.action_id for row in cluster.interrupted}
    owners |= {one.action_id for one in cluster.condemned}
    return owners | ({action.action_id} if action is not None else set())


def _is_needed(stray: Cordon, owners: set[str]) -> bool:
    return stray.action_id in owners
