"""The whole autoscaler as one step: every concern says what it wants, and none starves.

A write of any concern comes first, in the order below; each changes the record for good, so
there is always an end of them.  If no concern has anything to write, all effects that are due are
performed side by side: an effect that fails again and again holds up no other.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from holdfast.autoscaler import interruption, sweep
from holdfast.autoscaler.decide import (
    AddWorkers,
    Decision,
    Hold,
    RemoveWorkers,
    below_floor,
    book,
    decide,
    decision_event,
    stamp,
)
from holdfast.autoscaler.fleet import serving
from holdfast.autoscaler.ports import Drain, Effect, ForgetNotices, LaunchInstances, PrepareTemplate
from holdfast.autoscaler.reasons import Reason
from holdfast.autoscaler.record import Cluster, Status
from holdfast.autoscaler.scale_down import action as scale_down
from holdfast.autoscaler.scale_up import action as scale_up
from holdfast.autoscaler.scale_up import launch_result
from holdfast.autoscaler.scale_up.launch_plan import HOUR_S
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.kernel import Do, Done, Outcome, Wait, Workflow, Write

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
            _recalled(cluster, settings, now_s), snapshot, settings, now_s
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
        lambda: sweep.lost(cluster, snapshot, settings, now_s),
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
    if not waiting or now_s < cluster.back_off_until_s:
        return
    if cluster.scale_down is not None:
        yield _cut_short(cluster, "the cloud takes workers back", settings, now_s)
        return
    wanted, spare = interruption.needed(cluster, snapshot, waiting, settings)
    if spare:
        yield interruption.unneeded(cluster, spare, now_s)
    if wanted:
        needs = interruption.needs_for(wanted, snapshot, settings)
        begun = scale_up.begin(cluster, snapshot, needs, "replaces interrupted workers", settings, now_s)
        if isinstance(begun, Do):
            yield begun.effects
        elif isinstance(begun, Write) and begun.value.scale_up is not None:
            up = begun.value.scale_up
            before = len(cluster.scale_up.launches) if cluster.scale_up else 0
            covered = interruption.covered(wanted, up.launches[before:], snapshot, settings)
            yield Write(interruption.answered(begun.value, covered, up.action_id), begun.events)


def _acting(
    cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float
) -> Iterator[Write[Cluster] | tuple[Effect, ...]]:
    """Go on with the open action, or decide."""
    decision = decide(cluster, snapshot, settings, now_s)
    ahead: Ahead | None
    if cluster.scale_up is not None:
        below = isinstance(decision, AddWorkers) and below_floor(cluster, snapshot, settings)
        if isinstance(decision, AddWorkers) and below and scale_up.goes_well(cluster.scale_up):
            # The floor waits for no open scale-up: what is missing becomes part of it.  A scale-up in
            # which something failed ends first, so that the next one backs off.
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
        return _observed(decision)
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
        planned = scale_down.begin(cluster, snapshot, settings, now_s)
        if planned is not None:
            return decision, planned
        return Hold(Reason.NO_WORKER_MAY_LEAVE, "idle: no worker may leave now"), None
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
    decision = _observed(decide(cluster, snapshot, settings, now_s))
    return book(cluster, snapshot, decision, settings, now_s) or Done()


def _observed(decision: Decision) -> Decision:
    if isinstance(decision, AddWorkers):
        wanted = ", ".join(f"{need.count} of {need.pool}" for need in decision.needs)
        return Hold(Reason.OBSERVING, f"observing: would scale up by {wanted}, because {decision.why}")
    if isinstance(decision, RemoveWorkers):
        return Hold(Reason.OBSERVING, f"observing: would scale down, because {decision.why}")
    return decision


def _recalled(cluster: Cluster, settings: Settings, now_s: float) -> Cluster:
    """The record without what need not be remembered any longer; the next write drops it for good.

    Before a step, not after it: what has run out must not be waited for until the next write.
    """
    return replace(
        cluster,
        gone=tuple(stone for stone in cluster.gone if now_s - stone.at_s < settings.remember_s),
        recent=tuple(one for one in cluster.recent if now_s - one.at_s < settings.remember_s),
        skipped=tuple(skip for skip in cluster.skipped if now_s < skip.until_s),
        unavailable=tuple(one for one in cluster.unavailable if now_s < one.until_s),
        spent=tuple(one for one in cluster.spent if now_s - one.at_s < HOUR_S),
    )


def _waiting_for(cluster: Cluster) -> str:
    if cluster.scale_up is not None:
        coming = cluster.scale_up.on_its_way
        return "1 worker is on its way" if coming == 1 else f"{coming} workers are on their way"
    if cluster.scale_down is not None:
        going = cluster.scale_down.having(Status.PLANNED, Status.DRAINED, Status.CONDEMNED)
        return f"{' '.join(going)} on the way out"
    return "machines are leaving"
