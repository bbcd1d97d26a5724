"""What every store of groups promises beside the kernel's contract, as functions that fail when it does not.

A `GroupTrial` brings one implementation and its time: a simulated clock is moved, a real one is waited for.
Each promise is one function, on a group of its own; its docstring is the promise.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from holdfast.failover.group import Group, Replica, ReplicaStatus
from holdfast.failover.ports import Grant, Report, StoredRequest
from holdfast.failover.roles import Status
from holdfast.kernel import Busy, Conflict, Event, HoldfastError, Invalid, Write
from holdfast.testing.group_case import AT_S, Case, GroupTrial
from holdfast.testing.group_reports import REPORT_PROMISES


def a_lease_is_granted_to_the_holder_of_the_epoch_alone(trial: GroupTrial) -> None:
    """Many heartbeats are answered each from its own row: primary, replica, stranger."""
    case = Case(trial)
    primary, replica, stranger = case.renew(case.beat(), case.beat("i-2"), case.beat("i-9"))
    granted_s, version = trial.term.granted_s, case.found.version
    assert primary == Grant(
        instance_id="i-1", known=True, session_ok=True, epoch=1, primary=True, lease_s=granted_s,
        status=Status.PRIMARY, goal_version=version,
    )  # fmt: skip
    assert replica == Grant(
        instance_id="i-2", known=True, session_ok=True, epoch=1, status=Status.REPLICA, goal_version=version
    )
    assert stranger == Grant(instance_id="i-9", known=False)
    assert 0 < case.left_s("i-1") <= trial.term.kept_s
    assert case.left_s("i-2") <= 0


def the_newest_heartbeat_of_all_is_known(trial: GroupTrial) -> None:
    """By the database's clock, whichever group it came from."""
    case, other = Case(trial), Case(trial)
    case.renew(case.beat())
    first_s = case.store.newest_heartbeat_s()
    assert abs(first_s - case.store.clock_s()) < 60
    trial.wait(1.0)
    other.renew(other.beat())
    assert case.store.newest_heartbeat_s() > first_s


def a_stale_epoch_is_not_renewed(trial: GroupTrial) -> None:
    """An agent that asks under an ended epoch is told the new one, and gets no lease."""
    case = Case(trial)
    for epoch in (0, 2):
        (grant,) = case.renew(case.beat(epoch=epoch))
        assert (grant.epoch, grant.primary, grant.lease_s) == (1, True, 0.0)
    assert case.left_s("i-1") <= 0


def another_session_gets_nothing_and_stores_nothing(trial: GroupTrial) -> None:
    """A stranger with our name is no one: no lease, no report, no sign of life."""
    case = Case(trial)
    case.renew(case.beat(report=Report(position="ours")))
    before = case.row("i-1")
    (grant,) = case.renew(case.beat(session="a clone", report=Report(position="theirs")))
    assert (grant.known, grant.session_ok, grant.lease_s) == (True, False, 0.0)
    assert case.row("i-1") == before


def no_lease_without_a_watchdog(trial: GroupTrial) -> None:
    """The heartbeat counts, the lease is not granted."""
    case = Case(trial)
    (grant,) = case.renew(case.beat(report=Report(watchdog_ok=False)))
    assert (grant.session_ok, grant.primary, grant.lease_s) == (True, True, 0.0)
    assert case.left_s("i-1") <= 0
    assert case.row("i-1").heartbeat_s > 0


def a_revoked_primary_gets_nothing_and_its_lease_is_still_seen(trial: GroupTrial) -> None:
    """After the revocation no grant of the old epoch is possible, and what was granted before is known."""
    case = Case(trial)
    case.renew(case.beat())
    case.revoke()
    (grant,) = case.renew(case.beat())
    assert (grant.epoch, grant.primary, grant.lease_s, grant.status) == (2, False, 0.0, Status.DEMOTING)
    assert case.left_s("i-1") > 0


def no_promotion_while_the_lease_of_another_runs(trial: GroupTrial) -> None:
    """A promotion is refused until the old lease is out; nothing of it is stored before."""
    case = Case(trial)
    case.renew(case.beat())
    promoted = case.revoke()
    before = case.store.read(case.subject)
    _refused(Busy, lambda: case.put(promoted))
    assert case.store.read(case.subject) == before
    trial.wait(trial.term.kept_s + 0.01)
    assert case.put(promoted).value.holder == "i-2"
    (grant,) = case.renew(case.beat("i-2", epoch=2))
    assert (grant.lease_s, grant.status) == (trial.term.granted_s, Status.PROMOTING)


def a_fenced_primary_is_not_waited_for(trial: GroupTrial) -> None:
    """If the old primary said that it has stopped, its lease holds up nothing; that of a third one does."""
    case = Case(trial)
    case.renew(case.beat())
    promoted = case.revoke()
    assert promoted.takeover is not None
    fenced = replace(promoted, takeover=replace(promoted.takeover, fenced=True))
    assert case.put(fenced).value.holder == "i-2"
    assert case.left_s("i-1") <= 0, "nor does it hold up the takeover after this one"


def a_reinstated_primary_keeps_its_new_lease(trial: GroupTrial) -> None:
    """Only the commit that makes the takeover fenced ends the lease of the one that has stopped."""
    case = Case(trial)
    case.renew(case.beat())
    case.revoke()
    group = case.found.value
    assert group.takeover is not None
    stopped = replace(group.takeover, fenced=True)
    case.put(replace(group, takeover=stopped))
    assert case.left_s("i-1") <= 0
    back = replace(group.members[0], status=Status.PROMOTING)
    again = replace(group, members=(back, group.members[1]), takeover=replace(stopped, candidate="i-1"))
    case.put(again)
    case.renew(case.beat(epoch=2))
    assert case.left_s("i-1") > 0
    case.put(again)
    assert case.left_s("i-1") > 0


def a_renewal_does_not_disturb_a_commit(trial: GroupTrial) -> None:
    """Heartbeats change no version: a commit that was decided before them stands."""
    case = Case(trial)
    case.renew(case.beat())
    assert case.put(case.found.value).version == 2


def a_member_that_left_the_record_never_comes_back(trial: GroupTrial) -> None:
    """Its row is terminated, and nothing leaves that status."""
    case = Case(trial)
    whole = case.found.value
    case.put(replace(whole, members=whole.members[:1]))
    assert [row.instance_id for row in case.store.look(case.subject).rows] == ["i-1"]
    (grant,) = case.renew(case.beat("i-2"))
    assert (grant.primary, grant.lease_s) == (False, 0.0)
    _refused(Conflict, lambda: case.put(whole))


def a_request_is_answered_once(trial: GroupTrial) -> None:
    """The answer is stored with the commit that it tells of; its id cannot be taken by another commit."""
    case = Case(trial)
    asked = StoredRequest(case.client_id, "request-1", "digest", '{"status":"success"}', 200)
    assert case.store.request(case.client_id, "request-1") is None
    case.put(case.found.value, request=asked)
    stored = case.store.request(case.client_id, "request-1")
    assert stored is not None
    assert replace(stored, at_s=0.0) == asked
    before = case.found
    _refused(Conflict, lambda: case.put(before.value, request=asked))
    assert case.store.read(case.subject).version == before.version
    assert case.store.request("another-client", "request-1") is None


def a_refused_commit_answers_no_request(trial: GroupTrial) -> None:
    """Stored together or not at all."""
    case = Case(trial)
    stale = case.found
    case.put(case.found.value)
    asked = StoredRequest(case.client_id, "request-2", "digest", "{}")
    _refused(Conflict, lambda: case.put(stale.value, stale, asked))
    assert case.store.request(case.client_id, "request-2") is None


def a_session_is_taken_when_the_lease_of_another_is_out(trial: GroupTrial) -> None:
    """The same boot goes on at once, another one waits for the lease; without a lease it is free."""
    case = Case(trial)
    take = case.store.take_session
    case.renew(case.beat())
    left_s = take(case.subject, "i-1", "s-clone", "boot-2")
    assert 0 < left_s <= trial.term.kept_s
    assert take(case.subject, "i-1", "s-restarted", "boot-1") == 0
    assert take(case.subject, "i-1", "s-restarted", "boot-1") == 0
    assert case.row("i-1").session == "s-restarted"
    trial.wait(trial.term.kept_s + 0.01)
    assert take(case.subject, "i-1", "s-clone", "boot-2") == 0


def a_group_is_due_when_its_time_has_come_or_its_lease_is_out(trial: GroupTrial) -> None:
    """A commit makes it due; with a lease and a later time it is left alone, without a primary never."""
    case, other = Case(trial), Case(trial)
    assert {case.subject, other.subject} <= set(case.store.due(100_000))
    case.renew(case.beat())
    case.store.set_due(case.subject, case.found.version, 3_600)
    assert case.subject not in case.store.due(100_000)
    assert other.subject in case.store.due(100_000)
    assert len(case.store.due(1)) == 1
    trial.wait(trial.term.kept_s + 0.01)
    assert case.subject in case.store.due(100_000), "its lease is out"
    case.renew(case.beat())
    case.put(case.found.value)
    case.store.set_due(case.subject, case.found.version - 1, 3_600)
    assert case.subject in case.store.due(100_000), "it has changed since that version"


def a_claim_keeps_others_away_for_a_while(trial: GroupTrial) -> None:
    """One driver at a time; the same one extends its claim; it ends by itself."""
    case = Case(trial)
    claim, for_s = case.store.claim, trial.term.granted_s
    assert claim(case.subject, "server-1", for_s)
    assert not claim(case.subject, "server-2", for_s)
    assert claim(case.subject, "server-1", for_s)
    trial.wait(for_s + 0.01)
    assert claim(case.subject, "server-2", for_s)


def changes_are_told_in_order(trial: GroupTrial) -> None:
    """Every commit raises the change number; what came after a number is told, newest last."""
    case, other = Case(trial), Case(trial)
    (_, start) = case.store.changed(0)[-1]
    case.put(case.found.value)
    other.put(other.found.value)
    told = [subject for subject, _ in case.store.changed(start) if subject in (case.subject, other.subject)]
    assert told == [case.subject, other.subject]
    numbers = [n for _, n in case.store.changed(0)]
    assert numbers == sorted(set(numbers))
    case.renew(case.beat())
    assert case.store.changed(numbers[-1]) == []


def launches_are_charged_to_the_client(trial: GroupTrial) -> None:
    """A new intent takes one from the client's budget; without one left it is refused."""
    case = Case(trial)
    left = case.store.look(case.subject).launches_left
    group = case.found.value
    for n in range(left):
        intent = Replica(replica_id=f"r-{n}", token=f"token-{n}", pool="m6i.large.eu-west-1a", attempt=n + 1)
        group = replace(group, replicas=(intent,))
        case.put(group)
    case.put(group)
    assert case.store.look(case.subject).launches_left == 0
    again = replace(group, replicas=(Replica(replica_id="r-more", token="one more", pool="p"),))
    _refused(Conflict, lambda: case.put(again))
    other = Case(trial)
    other.put(replace(other.found.value, replicas=again.replicas))


def pools_remember_how_long_they_took(trial: GroupTrial) -> None:
    """From the launch to ready, on average, by pool."""
    case = Case(trial)
    for n, took_s in enumerate((40.0, 60.0)):
        intent = Replica(
            replica_id=f"r-{n}",
            token=f"t-{n}",
            pool="m6i.large.eu-west-1a",
            created_s=AT_S - took_s,
        )
        case.put(replace(case.found.value, replicas=(intent,)))
        ready = replace(case.found.value, replicas=(replace(intent, status=ReplicaStatus.READY),))
        case.put(ready, told=Event("standbyReady", AT_S, reason=intent.pool, numbers={"ready_s": took_s}))
        case.put(case.found.value)
    assert case.store.look(case.subject).ready_s == {"m6i.large.eu-west-1a": 50.0}


def a_paused_group_gets_one_long_lease(trial: GroupTrial) -> None:
    """Until the end of the pause, for the agent and for those who wait."""
    case = Case(trial)
    now_s = case.store.look(case.subject).now_s
    case.put(replace(case.found.value, paused_until_s=now_s + 600))
    (grant,) = case.renew(case.beat())
    assert 500 < grant.lease_s <= 600
    assert grant.lease_s <= case.left_s("i-1") <= 610
    case.put(replace(case.found.value, paused_until_s=0.0))
    (grant,) = case.renew(case.beat())
    assert grant.lease_s <= trial.term.granted_s
    assert case.left_s("i-1") > 500, "the agent counts the long one, whatever was granted after it"


def ids_that_are_alike_are_different(trial: GroupTrial) -> None:
    """Upper and lower case are two groups."""
    client_id = f"client-{trial.new_id()[:8]}"
    lower, upper = Case(trial, "agent-a", client_id), Case(trial, "Agent-A", client_id.upper())
    same_client = Group(client_id=client_id, agent_id="Agent-A", epoch=7)
    write = Write(same_client, (Event("changed", 1.0),))
    found = lower.store.read(f"{client_id}/Agent-A")
    assert found.version == 0
    lower.store.commit(f"{client_id}/Agent-A", found, write, trial.new_id())
    assert lower.store.read(lower.subject).value.epoch == upper.store.read(upper.subject).value.epoch == 1


def an_instance_id_belongs_to_its_client(trial: GroupTrial) -> None:
    """Another tenant's `i-1` is another instance: neither is granted, revoked or seen for the other."""
    ours, theirs = Case(trial), Case(trial)
    ours.renew(ours.beat())
    theirs.revoke()
    (grant,) = ours.renew(ours.beat())
    assert grant.lease_s == trial.term.granted_s
    assert theirs.left_s("i-1") <= 0


def ids_that_databases_take_for_each_other_are_refused(trial: GroupTrial) -> None:
    """Trailing blanks, other letters and long ids are no ids: nothing is cut, nothing is folded."""
    store = trial.open()
    for bad in ("agent-a ", "agent ü", "", "a" * 65, "a/b"):
        _refused(Invalid, partial(store.read, f"client/{bad}"))


def an_instance_has_one_agent_for_all_its_life(trial: GroupTrial) -> None:
    """Another group of the same client cannot name it, and is told so."""
    ours = Case(trial)
    within = Group(client_id=ours.client_id, agent_id="another", members=ours.found.value.members[1:])
    subject = f"{ours.client_id}/another"
    found, write = ours.store.read(subject), Write(within, (Event("changed", AT_S),))
    _refused(Invalid, partial(ours.store.commit, subject, found, write, trial.new_id()))
    (grant,) = ours.renew(replace(ours.beat(), agent_id="another"))
    assert not grant.known, "nor does a heartbeat for it count there"
    assert ours.left_s("i-1") <= 0


def an_unknown_instance_has_no_session(trial: GroupTrial) -> None:
    """It must be registered first; a session that is too long is refused by name."""
    case = Case(trial)
    _refused(Conflict, partial(case.store.take_session, case.subject, "i-9", "s", "boot"))
    _refused(Invalid, partial(case.store.take_session, case.subject, "i-1", "s" * 129, "boot"))


def only_a_standby_is_promoted(trial: GroupTrial) -> None:
    """The body of the procedure refuses what the rules would never ask for."""
    case = Case(trial)
    promoting = case.revoke()
    old, new = case.found.value.members
    case.put(replace(case.found.value, members=(old, replace(new, status=Status.ZOMBIE))))
    _refused(Conflict, partial(case.put, promoting))
    assert case.store.read(case.subject).value.members[1].status is Status.ZOMBIE


def every_attempt_is_charged(trial: GroupTrial) -> None:
    """A new token under an old intent is another launch, and a terminated one stays known."""
    case = Case(trial)
    left = case.store.look(case.subject).launches_left
    for n in range(3):
        intent = Replica(replica_id="r-1", token=f"token-{n}", pool="m6i.large.eu-west-1a", attempt=n + 1)
        case.put(replace(case.found.value, replicas=(intent,)))
    assert case.store.look(case.subject).launches_left == left - 3


def _refused(kind: type[HoldfastError], call: Callable[[], object]) -> None:
    try:
        answer = call()
    except kind:
        return
    raise AssertionError(f"{kind.__name__} was expected, got {answer}")


GROUP_PROMISES: tuple[Callable[[GroupTrial], None], ...] = (
    a_lease_is_granted_to_the_holder_of_the_epoch_alone,
    the_newest_heartbeat_of_all_is_known,
    a_stale_epoch_is_not_renewed,
    another_session_gets_nothing_and_stores_nothing,
    no_lease_without_a_watchdog,
    *REPORT_PROMISES,
    a_revoked_primary_gets_nothing_and_its_lease_is_still_seen,
    no_promotion_while_the_lease_of_another_runs,
    a_fenced_primary_is_not_waited_for,
    a_reinstated_primary_keeps_its_new_lease,
    a_renewal_does_not_disturb_a_commit,
    a_member_that_left_the_record_never_comes_back,
    a_request_is_answered_once,
    a_refused_commit_answers_no_request,
    a_session_is_taken_when_the_lease_of_another_is_out,
    a_group_is_due_when_its_time_has_come_or_its_lease_is_out,
    a_claim_keeps_others_away_for_a_while,
    changes_are_told_in_order,
    launches_are_charged_to_the_client,
    pools_remember_how_long_they_took,
    a_paused_group_gets_one_long_lease,
    ids_that_are_alike_are_different,
    an_instance_id_belongs_to_its_client,
)

DATABASE_PROMISES: tuple[Callable[[GroupTrial], None], ...] = (
    ids_that_databases_take_for_each_other_are_refused,
    an_instance_has_one_agent_for_all_its_life,
    an_unknown_instance_has_no_session,
    only_a_standby_is_promoted,
    every_attempt_is_charged,
)
"""Beside the others, what only a store with a schema of its own can get wrong."""
