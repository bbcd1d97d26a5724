"""Which cluster it is, which machines have joined, which of them lost their node, what was swept lately.

The identity of a cluster is learned once; only an operator changes it.  A machine that joined is remembered
at least for as long as the record names it elsewhere.
"""

from collections import Counter
from typing import Final

from holdfast.testing.legal.commit import Commit, booked_within_an_hour

BEGINNINGS: Final = ("clusterKnown", "clusterAccepted")


def judge(commit: Commit) -> None:
    before, after = commit.before, commit.after
    if before.cluster_uid != after.cluster_uid:
        _identity(commit)
    if before.refused_uid != after.refused_uid:
        _refusal(commit)
    if before.joined_since_s != after.joined_since_s:
        _since(commit)
    if before.joined != after.joined:
        _joined(commit)
    if before.nodeless != after.nodeless and not commit.restores:
        _nodeless(commit)
    if before.swept != after.swept:
        _swept(commit)


def _identity(commit: Commit) -> None:
    before, after = commit.before.cluster_uid, commit.after.cluster_uid
    learned = not before and commit.tells("clusterKnown", after)
    if not after or not (learned or commit.tells("clusterAccepted", after)):
        commit.accuse(f"the cluster was {before or 'unknown'} and is {after or 'unknown'}")


def _refusal(commit: Commit) -> None:
    before, after = commit.before, commit.after
    if after.refused_uid:
        commit.expect(f"{after.refused_uid} is refused", after.refused_uid, "clusterRefused")
        if after.refused_uid == after.cluster_uid:
            commit.accuse(f"{after.refused_uid} is refused, and is the cluster of this record")
    elif not commit.tells("clusterBack", before.cluster_uid):
        commit.expect(f"{before.refused_uid} is refused no longer", after.cluster_uid, "clusterAccepted")


def _since(commit: Commit) -> None:
    after = commit.after
    if commit.tells("clusterAccepted", after.cluster_uid):
        return
    if not (commit.tells("clusterKnown", after.cluster_uid) or commit.tells("recordRestored")):
        commit.accuse("the memory of what joined begins anew, and no event says why")
    commit.dated("the memory of what joined", after.joined_since_s)


def _joined(commit: Commit) -> None:
    was, now = set(commit.before.joined), set(commit.after.joined)
    twice = [i for i, times in Counter(commit.after.joined).items() if times > 1]
    if twice:
        commit.accuse(f"{' '.join(twice)} joined twice")
    anew = any(commit.tells(kind, commit.after.cluster_uid) for kind in BEGINNINGS)
    anew = anew or commit.restores  # the log that it recalls has told of each
    for instance_id in sorted(now - was):
        if not anew:
            commit.expect(f"{instance_id} has joined", instance_id, "joined", "seenJoined")
    up = commit.after.scale_up
    named = {one.instance_id for one in commit.after.recent} | set(up.joined if up else ())
    for instance_id in sorted((was - now) & named):
        if not anew and not commit.before.is_gone(instance_id) and not commit.after.is_gone(instance_id):
            commit.accuse(f"{instance_id} has joined, and that is forgotten")


def _nodeless(commit: Commit) -> None:
    was, now = set(commit.before.nodeless), set(commit.after.nodeless)
    for one in was - now:
        if not commit.tells("clusterAccepted", commit.after.cluster_uid):
            commit.expect(f"{one.instance_id} has a node again", one.instance_id, "nodeBack")
    for one in now - was:
        commit.expect(f"{one.instance_id} has lost its node", one.instance_id, "nodeMissing")
        commit.dated(f"the loss of the node of {one.instance_id}", one.since_s)


def _swept(commit: Commit) -> None:
    """A few an hour.  What is booked is what the sweep takes up in this very commit."""
    most = commit.settings.sweep_per_hour
    for one in booked_within_an_hour(commit, "swept", commit.before.swept, commit.after.swept, most):
        commit.expect(f"{one} is swept", one, "terminating", "missing")
