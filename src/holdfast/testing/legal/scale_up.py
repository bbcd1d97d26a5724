"""A scale-up: begun alone, extended or asked for elsewhere, answered, settled one by one, ended once.

Requests keep their numbers and words: a token stands for one request for ever.  What was launched stays
until it has joined or is lost.  A request has the time that it was given, and as much again each time that
it is extended.
"""

from collections import Counter
from collections.abc import Iterable
from operator import attrgetter
from typing import Final

from holdfast.autoscaler.record import EXTENSIONS_MAX, Launch, LaunchStatus, ScaleUp
from holdfast.testing.legal.commit import Commit, follow, open_action

INTENDED, ANSWERED = LaunchStatus.INTENDED, LaunchStatus.ANSWERED
REFUSED, ABANDONED = LaunchStatus.REFUSED, LaunchStatus.ABANDONED

ANSWERS: Final[dict[tuple[LaunchStatus, LaunchStatus], tuple[str, ...]]] = {
    (INTENDED, ANSWERED): ("recordScaleUpInstances",),
    (INTENDED, REFUSED): ("launchRefused",),
    (INTENDED, ABANDONED): ("launchRefused", "launchAbandoned"),
    (ANSWERED, ABANDONED): ("launchAbandoned",),
    (REFUSED, ABANDONED): ("launchAbandoned",),
}
"""What may become of a request, and how that is told."""
WORDS: Final = attrgetter(
    "pool",
    "zone",
    "subnet_id",
    "market",
    "instance_type",
    "template_id",
    "template_version",
    "bound",
    "purpose",
    "usd_max",
)
"""What a request says, beside its number and how many it asks for."""
ASKING: Final = ("beginScaleUp", "extendScaleUp", "retryScaleUp")


def judge(commit: Commit) -> None:
    was, now = commit.before.scale_up, commit.after.scale_up
    follow(commit, "scale-up", was, now, begun=_begun, ended=_ended, went_on=_went_on)


def _begun(commit: Commit, up: ScaleUp) -> None:
    commit.expect(f"scale-up {up.action_id} is begun", up.action_id, "beginScaleUp")
    other = open_action(commit.before)
    if other is not None:
        commit.accuse(f"scale-up {up.action_id} is begun before {other.action_id} has ended")
    if any(spent.action_id == up.action_id for spent in commit.before.spent):
        commit.accuse(f"scale-up {up.action_id} bears the name of an earlier one: its tokens are used up")
    if up.joined or up.lost or up.foreign_ids:
        commit.accuse(f"scale-up {up.action_id} is begun with machines that were not launched for it")
    commit.dated(f"the begin of {up.action_id}", up.started_s)
    _asked(commit, up, new=up.launches, lowered=0, requested=up.requested)


def _ended(commit: Commit, up: ScaleUp) -> None:
    kind = "completeScaleUp" if up.joined else "failScaleUp"
    commit.expect(f"scale-up {up.action_id} is closed, {len(up.joined)} joined", up.action_id, kind)
    if up.owed or up.intended:
        commit.accuse(f"scale-up {up.action_id} is closed while {up.owed} are asked for")
    if up.joining:
        commit.accuse(
            f"scale-up {up.action_id} is closed, and what it launched is forgotten: {_ids(up.joining)}"
        )
    named = {one.instance_id for one in commit.after.recent}
    unnamed = [i for i in up.joined if i not in named]
    if unnamed:
        commit.accuse(f"{_ids(unnamed)} joined, and are not remembered as launched lately")
    waiting = [row.instance_id for row in commit.after.interrupted if row.replacement == up.action_id]
    if waiting:
        commit.accuse(f"{_ids(waiting)} are to be replaced by {up.action_id}, which is closed")


def _went_on(commit: Commit, was: ScaleUp, now: ScaleUp) -> None:
    if (was.started_s, was.reason, was.foreign_ids) != (now.started_s, now.reason, now.foreign_ids):
        commit.accuse(f"scale-up {was.action_id} has another begin, reason or inheritance than before")
    _settled(commit, was, now)
    if was.launches != now.launches or was.requested != now.requested:
        _requests(commit, was, now)


def _settled(commit: Commit, was: ScaleUp, now: ScaleUp) -> None:
    """A launched machine joins or is lost, one or the other, and never neither again."""
    if (was.joined, was.lost) == (now.joined, now.lost):
        return
    joined, lost = set(now.joined) - set(was.joined), set(now.lost) - set(was.lost)
    back = {*was.joined, *was.lost} - {*now.joined, *now.lost}
    if back or (set(now.joined) & set(now.lost)):
        commit.accuse(f"{_ids(back) or 'a machine'} had joined or was lost, and is not or is both now")
    for instance_id in sorted(joined):
        commit.expect(f"{instance_id} joined", instance_id, "joined")
    for instance_id in sorted(lost):
        ends = ("diedBeforeJoining", "terminating", "unmatched", "joinUnknown")
        commit.expect(f"{instance_id} is lost", instance_id, *ends)
    strangers = (joined | lost) - set(was.joining)
    if strangers:
        commit.accuse(
            f"{_ids(strangers)} joined or are lost, and scale-up {was.action_id} awaits no such thing"
        )


def _requests(commit: Commit, was: ScaleUp, now: ScaleUp) -> None:
    rows = {(row.group, row.attempt): row for row in now.launches}
    if len(rows) != len(now.launches):
        commit.accuse(f"two requests of {was.action_id} bear one number, and so one token")
    moved, lowered, extended = Counter[tuple[LaunchStatus, LaunchStatus]](), 0, 0
    for old in was.launches:
        row = rows.pop((old.group, old.attempt), None)
        if row is None:
            commit.accuse(f"request {_name(old)} of {was.action_id} is forgotten")
        elif row != old:
            _kept_its_words(commit, old, row)
            lowered += old.count - row.count
            extended += _extended(commit, old, row)
            if row.status is not old.status:
                moved[old.status, row.status] += 1
    _told(commit, was.action_id, moved)
    if extended and commit.tells("joinExtended", was.action_id) != extended:
        commit.accuse(f"{extended} requests of {was.action_id} are extended, and joinExtended says otherwise")
    new = tuple(rows.values())
    highest = max((row.group for row in was.launches), default=0)
    if any(row.group <= highest for row in new):
        commit.accuse(f"a new request of {was.action_id} bears a number below {highest}, which is taken")
    _asked(commit, now, new=new, lowered=lowered, requested=now.requested - was.requested)


def _kept_its_words(commit: Commit, old: Launch, row: Launch) -> None:
    """A request is repeated word for word.  Its answer is written once."""
    if WORDS(row) != WORDS(old):
        commit.accuse(f"request {_name(old)} asks for something else than before")
    if row.instance_ids != old.instance_ids and (old.status, row.status) != (INTENDED, ANSWERED):
        gone = [i for i in old.instance_ids if i not in row.instance_ids]
        what = f"{_ids(gone)} are forgotten" if gone else "it is answered again"
        commit.accuse(f"request {_name(old)} has brought {_ids(old.instance_ids)}, and {what}")
    if row.count > old.count or (row.count < old.count and row.count < len(row.instance_ids)):
        commit.accuse(f"request {_name(old)} for {old.count} became one for {row.count}")


def _extended(commit: Commit, old: Launch, row: Launch) -> int:
    if (old.at_s, old.extended) == (row.at_s, row.extended):
        return 0
    late_s = commit.at_s - old.at_s
    if row.extended != old.extended + 1 or row.extended > EXTENSIONS_MAX:
        times = f"{old.extended} times before, {row.extended} now, {EXTENSIONS_MAX} at most"
        commit.accuse(f"request {_name(old)} is given more time: {times}")
    elif late_s < commit.settings.join_timeout_s:
        commit.accuse(f"request {_name(old)} is given more time after {late_s} s, before it has run out")
    commit.dated(f"the extension of request {_name(old)}", row.at_s)
    return 1


def _told(commit: Commit, action_id: str, moved: Counter[tuple[LaunchStatus, LaunchStatus]]) -> None:
    """As many answers are told as there are."""
    if not moved:
        return
    least, most = Counter[str](), Counter[str]()
    for move, times in moved.items():
        kinds = ANSWERS.get(move, ())
        if not kinds:
            commit.accuse(f"a request of {action_id} was {move[0].value} and is {move[1].value}")
        for kind in kinds:
            most[kind] += times
            least[kind] += times if len(kinds) == 1 else 0
    told = {
        kind: commit.tells(kind, action_id)
        for kind in ("recordScaleUpInstances", "launchRefused", "launchAbandoned")
    }
    for kind, times in told.items():
        if not least[kind] <= times <= most[kind]:
            commit.accuse(f"{kind} is told {times} times of {action_id}, and it happened {most[kind]} times")
    known = sum(times for move, times in moved.items() if move in ANSWERS)
    if sum(told.values()) != known:
        commit.accuse(f"{known} requests of {action_id} are answered, and {sum(told.values())} are told")


def _asked(commit: Commit, up: ScaleUp, *, new: tuple[Launch, ...], lowered: int, requested: int) -> None:
    """New requests come with a begin, an extension, or in place of what others were short of."""
    if not new and not lowered and not requested:
        return
    told = [kind for kind in ASKING if commit.tells(kind, up.action_id)]
    asked = sum(row.count for row in new)
    if len(told) != (1 if new else 0):
        says = " and ".join(told) or f"none of {', '.join(ASKING)}"
        commit.accuse(f"{len(new)} requests are new in {up.action_id}, and {says} is told")
    again = "retryScaleUp" in told
    if (lowered, requested) != ((asked, 0) if again else (0, asked)):
        commit.accuse(
            f"{asked} are newly asked for in {up.action_id}: {requested} more wanted, {lowered} taken over"
        )
    for row in new:
        if row.status is not INTENDED or row.instance_ids or row.extended or row.count < 1:
            commit.accuse(
                f"request {_name(row)} of {up.action_id} is new, and {row.status.value} for {row.count}"
            )
        if (row.attempt > 1) != again:
            commit.accuse(f"request {_name(row)} of {up.action_id} is attempt {row.attempt}")
        commit.dated(f"request {_name(row)}", row.at_s)
    booked = [s.count for s in commit.after.spent if (s.action_id, s.at_s) == (up.action_id, commit.at_s)]
    before = [s.count for s in commit.before.spent if (s.action_id, s.at_s) == (up.action_id, commit.at_s)]
    if sum(booked) - sum(before) != asked:
        commit.accuse(
            f"{asked} are newly asked for in {up.action_id}, {sum(booked) - sum(before)} are booked"
        )


def _name(row: Launch) -> str:
    return f"{row.group}.{row.attempt}"


def _ids(ids: Iterable[str]) -> str:
    return " ".join(sorted(ids))
