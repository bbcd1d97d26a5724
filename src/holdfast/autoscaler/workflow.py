"""The whole autoscaler as one step: every concern says what it wants, and none starves.

A write of any concern comes first, in the order below; each changes the record for good, so
there is always an end of them.  If no concern has anything to write, all effects that are due are
performed side by side: an effect that fails again and again holds up no other.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from holdfast.autoscaler import identity, interruption, sweep
from holdfast.autoscaler.decide import (
    AddWorkers,
    Decision,
    Hold,
    RemoveWorkers,
    book,
    consolidating,
    decide,
    decision_event,
    stamp,
)
from holdfast.autoscaler.disruption import rotation, share, underused
from holdfast.autoscaler.fleet import serving
from holdfast.autoscaler.ports import Drain, Effect, ForgetNotices, LaunchInstances, PrepareTemplate
from holdfast.autoscaler.reasons import Reason
from holdfast.autoscaler.record import Cluster, Interrupted, Purpose, Status
from holdfast.autoscaler.scale_down import action as scale_down
from holdfast.autoscaler.scale_down import not_ready
from holdfast.autoscaler.scale_up import action as scale_up
from holdfast.autoscaler.scale_up import launch_result, unhelped
from holdfast.autoscaler.scale_up.launch_plan import HOUR_S, left_this_hour
from holdfast.autoscaler.scale_up.offering_ranks import LOSSES_KEPT_S, RECLAIMED
from holdfast.autoscaler.scale_up.pool_failures import is_sound, template_refused
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.sweep import joined
from holdfast.cloud.launches import Refused
from holdfast.kernel import Do, Done, Happened, Outcome, Wait, Workflow, Write

Ahead = Write[Cluster] | Do[Effect] | Wait | Done

NEXT_LOOK_S = 15
"""How soon to look again while something is on its way."""
REUSE_S = 15
"""For so long the steps after an own commit may rest on one look."""


def workflow(settings: Settings) -> Workflow[Cluster, Snapshot, Effect]:
    """The shipped one.  In observe mode it writes what it would do, and asks for no effect."""
    ahead = observe if settings.observe else step
    return Workflow(
        step=lambda cluster, snapshot, now_s: ahead(
            _recalled(cluster, snapshot, settings, now_s), snapshot, settings, now_s
        ),
        settle=lambda cluster, effect, outcome, now_s: settle(cluster, effect, outcome, settings, now_s),
        reuse_s=REUSE_S,
        by_record=follows_from_record,
    )


def follows_from_record(effect: Effect) -> bool:
    """What the record names whole: no look makes it right or wrong.  Whatever takes a node out of service or
    opens one is looked at anew first."""
    return isinstance(effect, LaunchInstances | PrepareTemplate | ForgetNotices)


def step(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Ahead:
    known = identity.know(cluster, snapshot, now_s)
    if known is not None:
        return known
    if identity.refusal(cluster, snapshot.cluster_uid):
        return Done()
    due: list[Effect] = []
    for wish in _wishes(cluster, snapshot, settings, now_s):
        if isinstance(wish, Write):
            return wish
        due += wish
    if due:
        # Capacity takes longest to come, so it is asked for before any drain.
        return Do(tuple(sorted(dict.fromkeys(due), key=lambda each: not isinstance(each, LaunchInstances))))
    if cluster.scaling_in_progress or cluster.interrupted or cluster.condemned:
        return Wait(now_s + NEXT_LOOK_S, _waiting_for(cluster))
    return Done()


def settle(
    cluster: Cluster, effect: Effect, outcome: Outcome, settings: Settings, now_s: float
) -> Write[Cluster] | None:
    match effect:
        case LaunchInstances():
            return launch_result.settle(cluster, effect, outcome, settings, now_s)
        case PrepareTemplate(pool):
            if isinstance(outcome, Happened) and isinstance(outcome.answer, Refused):
                return template_refused(cluster, pool, outcome.answer.message, settings, now_s)
            return None
        case Drain() if cluster.interruption_of(effect.instance_id) is not None:
            return interruption.settle(cluster, effect, outcome, now_s)
        case _:
            return scale_down.settle(cluster, effect, outcome, settings, now_s)


def _wishes(
    cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float
) -> Iterator[Write[Cluster] | tuple[Effect, ...]]:
    """What each concern wants, the most urgent first.  `None` wishes are left out."""
    writes: tuple[Callable[[], Write[Cluster] | None], ...] = (
        lambda: interruption.fold(cluster, snapshot, settings, now_s),
        lambda: interruption.end(cluster, snapshot, settings, now_s),
        lambda: not_ready.note(cluster, snapshot, settings, now_s),
        lambda: not_ready.fold(cluster, snapshot, settings, now_s),
        lambda: sweep.lost(cluster, snapshot, settings, now_s),
        lambda: unhelped.note(cluster, snapshot, now_s),
        lambda: underused.note(cluster, snapshot, settings, now_s),
        lambda: rotation.withdraw(cluster, snapshot, now_s),
        lambda: rotation.fold(cluster, snapshot, settings, now_s),
    )
    for write in writes:
        wanted = write()
        if wanted is not None:
            yield wanted
    yield interruption.forget(cluster, snapshot, settings, now_s)
    yield from _replacing(cluster, snapshot, settings, now_s)
    yield interruption.effects(cluster, snapshot, now_s)
    yield from _acting(cluster, snapshot, settings, now_s)
    yield from _sweeping(cluster, snapshot, settings, now_s)


def _replacing(
    cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float
) -> Iterator[Write[Cluster] | tuple[Effect, ...]]:
    """One replacement for each interrupted machine that the fleet still needs: decided here, once."""
    waiting = interruption.unanswered(cluster, settings)
    hints = [affected for affected in waiting if not affected.kind.is_certain]
    certain = [affected for affected in waiting if affected.kind.is_certain]
    left = max(0, left_this_hour(cluster, Purpose.HINT, settings, now_s))
    if len(hints) > left:
        yield interruption.declined(cluster, hints[left:], "this hour's launches for hints are spent", now_s)
    room = interruption.room_for_hints(cluster, snapshot, settings)
    if len(hints) > room:
        yield interruption.declined(cluster, hints[room:], "the fleet has its maximum size", now_s)
    if waiting and cluster.scale_down is not None:
        yield _cut_short(cluster, "the cloud takes workers back", settings, now_s)
        return
    # What is certain comes first: no hint takes anything from it.
    yield from _replaced(cluster, snapshot, certain, Purpose.REPAIR, settings, now_s)
    yield from _replaced(cluster, snapshot, hints, Purpose.HINT, settings, now_s)
    if not waiting:
        yield rotation.launch(cluster, snapshot, settings, now_s)


def _replaced(
    cluster: Cluster,
    snapshot: Snapshot,
    waiting: Sequence[Interrupted],
    purpose: Purpose,
    settings: Settings,
    now_s: float,
) -> Iterator[Write[Cluster] | tuple[Effect, ...]]:
    pools = interruption.pools_of(waiting, snapshot, settings)
    sound = [affected for affected in waiting if is_sound(cluster, pools[affected.instance_id], now_s)]
    wanted, spare = interruption.needed(cluster, snapshot, sound, settings) if sound else ([], [])
    if spare:
        yield interruption.unneeded(cluster, spare, now_s)
    begun: Write[Cluster] | Do[Effect] | str = "its pool backs off"
    if wanted:
        needs = interruption.needs_for(wanted, purpose, snapshot, settings)
        begun = scale_up.begin(cluster, snapshot, needs, "replaces interrupted workers", settings, now_s)
    if isinstance(begun, Do):
        yield begun.effects
    elif isinstance(begun, Write) and begun.value.scale_up is not None:
        up = begun.value.scale_up
        before = len(cluster.scale_up.launches) if cluster.scale_up else 0
        covered = interruption.covered(wanted, up.launches[before:], snapshot, settings)
        yield Write(interruption.answered(begun.value, covered, up.action_id), begun.events)
    elif isinstance(begun, str) and purpose is Purpose.HINT and waiting:
        yield interruption.declined(cluster, waiting, begun, now_s)


def _acting(
    cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float
) -> Iterator[Write[Cluster] | tuple[Effect, ...]]:
    """Go on with the open action, or decide."""
    decision = decide(cluster, snapshot, settings, now_s)
    ahead: Ahead | None
    if cluster.scale_up is not None:
        urgent = isinstance(decision, AddWorkers) and decision.code is Reason.BELOW_FLOOR
        if isinstance(decision, AddWorkers) and (urgent or cluster.scale_up.by_choice):
            # The floor waits for no open scale-up, and pods for none of our own choice: what is missing
            # becomes part of it.  A pool of which it asked in vain is left alone until it has ended, and
            # backs off then.
            begun = scale_up.begin(cluster, snapshot, decision.needs, decision.why, settings, now_s)
            if isinstance(begun, Write):
                yield begun
        ahead = scale_up.proceed(cluster, cluster.scale_up, snapshot, settings, now_s)
    elif cluster.scale_down is not None:
        if isinstance(decision, AddWorkers):
            yield _cut_short(cluster, f"more workers are wanted: {decision.why}", settings, now_s)
            return
        ahead = scale_down.proceed(cluster, cluster.scale_down, snapshot, settings, now_s)
    else:
        ahead = _begin(cluster, snapshot, decision, settings, now_s)
    if isinstance(ahead, Write):
        yield ahead
    elif isinstance(ahead, Do):
        yield ahead.effects
    if cluster.scaling_in_progress:
        changed = stamp(cluster, snapshot, settings, now_s)
        if changed is not None:
            yield changed


def _begin(
    cluster: Cluster, snapshot: Snapshot, decision: Decision, settings: Settings, now_s: float
) -> Ahead:
    """Write down what is decided, as an action or as the reason for none."""
    decision, begun = _attempted(cluster, snapshot, decision, settings, now_s)
    if isinstance(begun, Write):
        return _told(begun, cluster, snapshot, decision, now_s)
    return begun or book(cluster, snapshot, decision, settings, now_s) or Done()


def conclude(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Decision:
    """What is decided now; a Hold where what is wanted cannot be begun."""
    decision = decide(cluster, snapshot, settings, now_s)
    if settings.observe:
        return _observed(cluster, snapshot, decision, settings, now_s)
    if cluster.scaling_in_progress:
        return decision
    return _attempted(cluster, snapshot, decision, settings, now_s)[0]


def _attempted(
    cluster: Cluster, snapshot: Snapshot, decision: Decision, settings: Settings, now_s: float
) -> tuple[Decision, Write[Cluster] | Do[Effect] | None]:
    """How an action would begin; or a Hold and nothing, if it cannot."""
    if isinstance(decision, AddWorkers):
        begun = scale_up.begin(cluster, snapshot, decision.needs, decision.why, settings, now_s)
        if not isinstance(begun, str):
            return decision, begun
        return Hold(Reason.NOWHERE_TO_LAUNCH, f"more workers are wanted ({decision.why}): {begun}"), None
    if isinstance(decision, RemoveWorkers):
        none_may = Hold(Reason.NO_WORKER_MAY_LEAVE, "idle: no worker may leave now")
        beside = decision if decision.workers else consolidating(cluster, snapshot, settings, now_s, none_may)
        for wanted in dict.fromkeys((decision, beside)):
            if isinstance(wanted, RemoveWorkers) and (
                planned := scale_down.begin(
                    cluster, snapshot, settings, now_s, wanted.pools, wanted.workers, wanted.code
                )
            ):
                return wanted, planned
        return decision.otherwise or none_may, None
    return decision, None


def _told(
    write: Write[Cluster], cluster: Cluster, snapshot: Snapshot, decision: Decision, now_s: float
) -> Write[Cluster]:
    """An action begins together with what was known when it was decided."""
    count = len(serving(cluster, snapshot))
    value = replace(write.value, hold_code="", hold_reason="", worker_count=count)
    return Write(value, (decision_event(cluster, snapshot, decision, now_s), *write.events))


def _cut_short(cluster: Cluster, why: str, settings: Settings, now_s: float) -> Write[Cluster]:
    """End the scale-down: keep what is not condemned; the condemned go on dying without it."""
    given_up = scale_down.give_up(cluster, why, settings, now_s)
    return given_up or scale_down.end(cluster, now_s)


def _sweeping(
    cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float
) -> Iterator[Write[Cluster] | tuple[Effect, ...]]:
    for write in (
        joined.seen(cluster, snapshot, now_s),
        joined.nodeless(cluster, snapshot, settings, now_s),
        sweep.missing(cluster, snapshot, settings, now_s),
        sweep.claim(cluster, snapshot, settings, now_s),
    ):
        if write is not None:
            yield write
    tidying = scale_down.tidy_up(cluster, snapshot, now_s)
    if isinstance(tidying, Write):
        yield tidying
    elif tidying is not None:
        yield tidying.effects
    yield sweep.effects(cluster, snapshot, settings, now_s)


def observe(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Ahead:
    """Look, decide, and write down what would be done; touch nothing."""
    known = identity.know(cluster, snapshot, now_s)
    if known is not None:
        return known
    if identity.refusal(cluster, snapshot.cluster_uid):
        return Done()
    noted = underused.note(cluster, snapshot, settings, now_s)
    if noted is not None:  # since when a node would be free to leave: nothing is done to it
        return noted
    decision = decide(cluster, snapshot, settings, now_s)
    held = _observed(cluster, snapshot, decision, settings, now_s)
    return book(cluster, snapshot, held, settings, now_s) or Done()


def _observed(
    cluster: Cluster, snapshot: Snapshot, decision: Decision, settings: Settings, now_s: float
) -> Decision:
    if isinstance(decision, AddWorkers):
        wanted = ", ".join(f"{need.count} of {need.pool}" for need in decision.needs)
        return Hold(Reason.OBSERVING, f"observing: would scale up by {wanted}, because {decision.why}")
    if isinstance(decision, RemoveWorkers):
        return Hold(Reason.OBSERVING, f"observing: would scale down, because {decision.why}")
    replaced = rotation.fold(cluster, snapshot, settings, now_s)
    if replaced is not None:
        row = rotation.rows(replaced.value)[-1]
        return Hold(Reason.OBSERVING, f"observing: would replace {row.instance_id}, because {row.why}")
    return decision


def _recalled(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Cluster:
    """The record without what need not be remembered any longer; the next write drops it for good.

    Before a step, not after it: what has run out must not be waited for until the next write.
    """
    # A stone is kept for as long as the cloud lists the machine as ended, so that its loss is told once: its
    # node may stand there for hours, and be missing from a listing in between.
    ended = {worker.instance_id for worker in snapshot.workers if not worker.alive}
    return replace(
        cluster,
        gone=tuple(
            stone
            for stone in cluster.gone
            if now_s - stone.at_s < settings.remember_s or stone.instance_id in ended
        ),
        recent=tuple(one for one in cluster.recent if now_s - one.at_s < settings.remember_s),
        skipped=tuple(skip for skip in cluster.skipped if now_s < skip.until_s),
        # What has run out is kept a little longer: refused again, it is left alone for longer.
        # What was taken back is the last choice for a while, and counts as dearer for hours.
        unavailable=tuple(
            one
            for one in cluster.unavailable
            if now_s - one.until_s
            < (LOSSES_KEPT_S if one.reason == RECLAIMED else settings.unavailable_max_s)
        ),
        spent=tuple(one for one in cluster.spent if now_s - one.at_s < HOUR_S),
        swept=joined.this_hour(cluster, now_s),
        disrupted=share.this_hour(cluster, now_s),
        joined=joined.without_the_gone(cluster, snapshot),
    )


def _waiting_for(cluster: Cluster) -> str:
    if cluster.scale_up is not None:
        coming = cluster.scale_up.on_its_way
        return "1 worker is on its way" if coming == 1 else f"{coming} workers are on their way"
    if cluster.scale_down is not None:
        going = cluster.scale_down.having(Status.PLANNED, Status.DRAINED, Status.CONDEMNED)
        return f"{' '.join(going)} on the way out"
    return "machines are leaving"
