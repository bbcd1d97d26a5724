"""S-A8: each commit of the cluster's record is a legal move.

A table of what may become of a record, kept apart from the workflow that it judges: it knows the record
and the settings, and none of the modules that decide.  Every difference between two records needs the
event that tells it, and every event needs its difference.  What is condemned, launched, interrupted or held
leaves its place only for another one that is named here.
"""

from collections.abc import Sequence
from types import ModuleType

from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.settings import Settings
from holdfast.kernel import Event, Versioned, Write
from holdfast.testing.legal import known, leaving, memory, scale_down, scale_up, timestamps
from holdfast.testing.legal.commit import Commit

NAME = "S-A8"


def illegal(
    before: Cluster, after: Cluster, events: Sequence[Event], now_s: float, settings: Settings
) -> list[str]:
    """What is not allowed about this commit, in plain words.  `now_s` is when it was stored.

    Timestamps are judged by the moment that the events name: a process may have slept since it decided.
    """
    commit = Commit(before, after, events, settings)
    if commit.told_s > now_s:
        commit.accuse(f"it tells of {commit.told_s:.0f}, which is {commit.told_s - now_s:.0f} s to come")
    if before == after and not commit.restores:  # it goes on behind its log: its version is what changes
        commit.accuse("it changes nothing")
    judges: tuple[ModuleType, ...] = (scale_up, scale_down, leaving, memory, known, timestamps)
    if commit.restores:
        judges = (memory, known)  # what was open is given up: it went on in the log that is ahead
    for each in judges:
        each.judge(commit)
    for kind, about in commit.unexplained():
        commit.accuse(f"{kind} is told of {about or 'it'}, and the record shows nothing of the kind")
    return [f"{NAME}: {problem}" for problem in commit.problems]


def illegal_commit(
    before: Versioned[Cluster],
    after: Versioned[Cluster],
    write: Write[Cluster],
    now_s: float,
    settings: Settings,
) -> list[str]:
    """The same for what a repository has stored."""
    problems = misstored(before, after, write)
    return problems + illegal(before.value, write.value, write.events, now_s, settings)


def misstored(before: Versioned[Cluster], after: Versioned[Cluster], write: Write[Cluster]) -> list[str]:
    """It has one version more, and is the very record that was written."""
    problems = []
    if after.version != before.version + 1:
        problems.append(f"S-A7: version {after.version} after {before.version}")
    if after.value != write.value:
        problems.append(f"S-A7: {write.events[0].kind} is stored otherwise than it was written")
    return problems
