"""A shell: carries effects out on the real cluster and cloud.

What to do is decided elsewhere; here is how, one short round at a time.  A round reads the node
anew, so that it acts on what is there now.  Evictions stop by themselves when the record was
read too long ago: a process that slept must not go on draining for an action that has ended.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

import msgspec

from holdfast.autoscaler.ports import (
    Admit,
    Cloud,
    CordonNode,
    DeleteNode,
    Drain,
    Drained,
    Effect,
    ForgetNotices,
    Inbox,
    Kubernetes,
    LaunchInstances,
    PrepareTemplate,
    Terminate,
    Uncordon,
)
from holdfast.autoscaler.scale_down import drain
from holdfast.autoscaler.scale_down.action import why_not_ended
from holdfast.autoscaler.scheduling.budgets import Budgets
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.cloud.kubernetes import (
    CORDON_FOUND,
    CORDON_OWNERS,
    JOINING_TAINT,
    Budget,
    Evicted,
    Eviction,
    KubeNode,
    Pod,
    cordon_owners,
    instance_id_of,
    kept_by_annotation,
)
from holdfast.cloud.launches import NOT_ENDED, Refusal, Refused, Termination
from holdfast.kernel import Busy, Clock, Conflict, Event, Happened, HoldfastError, Invalid, Outcome, Unknown

EVICT_WITHIN_S: Final = 15.0
"""After this long the record must be read again before another pod is asked to leave.  Shorter than the
margin that a tick keeps: what was done so far is noted, however many nodes are drained at once."""
ADMIT_WITHIN_S: Final = 60.0
"""After this long a node is not opened any more: its machine may have been condemned meanwhile, and
what is condemned later than this cannot have been admitted.  See `scale_up.ADMISSION_S`."""
TURN_S: Final = 0.05
HARD_S: Final = 40.0
"""So long before the deadline an interrupted node's pods are deleted, whatever a budget says."""

PAUSE_ROUNDS_MAX: Final = 3
"""The pause between two rounds of a drain becomes so many times AFTER_CORDON_SEC at most."""

Together = Callable[[Sequence[Callable[[], Outcome]]], Sequence[Outcome]]
"""Runs calls that do not depend on each other, side by side or one after the other."""


def one_after_the_other(calls: Sequence[Callable[[], Outcome]]) -> Sequence[Outcome]:
    return [call() for call in calls]


@dataclass
class Executor:
    """Performs effects on one cluster and its cloud, during one tick."""

    settings: Settings
    cloud: Cloud
    kubernetes: Kubernetes
    inbox: Inbox
    clock: Clock
    together: Together = one_after_the_other
    names: dict[str, str] = field(default_factory=dict)
    """The node of each instance, as last looked at."""
    budgets: Sequence[Budget] = ()
    read_s: float = 0.0
    """When the record was last read."""
    problems: list[str] = field(default_factory=list)
    """What was refused for good: shown to people, and tried again next time."""
    _covering: Budgets = field(default_factory=lambda: Budgets(()))
    _turns: dict[tuple[str, str], Lock] = field(default_factory=dict)
    """One for each budget: see `_ask_to_leave`."""
    _used_up: dict[tuple[str, str], Evicted] = field(default_factory=dict)
    """Budgets that have refused a healthy pod in this round, with what they said."""

    def perform(self, effects: Sequence[Effect]) -> list[Outcome]:
        self._covering = Budgets(self.budgets)
        self._turns = {_called(budget): Lock() for budget in self.budgets}
        self._used_up = {}
        interrupted = [effect.instance_id for effect in effects if isinstance(effect, Terminate)]
        others = [effect for effect in effects if not isinstance(effect, Terminate)]
        calls: list[Callable[[], Outcome]] = [lambda e=e: self._attempt(self._one, e) for e in others]  # type: ignore[misc]
        consoles = {e.instance_id: self._console(e) for e in effects if isinstance(e, Terminate)}
        if interrupted:
            calls.append(lambda: self._attempt(self.cloud.terminate, interrupted))
        answers = list(self.together(calls))
        ended = answers.pop() if interrupted else None
        self._complain(ended)
        by_effect = dict(zip(map(id, others), answers, strict=True))
        return [
            _ended(ended, effect.instance_id, consoles[effect.instance_id])
            if isinstance(effect, Terminate)
            else by_effect[id(effect)]
            for effect in effects
        ]

    def announce(self, events: Sequence[Event], snapshot: Snapshot) -> None:
        """On the pods and nodes themselves.  Best effort: the log has it all, and nothing waits for this."""
        from holdfast.autoscaler.report.announcements import announced  # an idle tick announces nothing

        for each in announced(events, snapshot):
            try:
                self.kubernetes.announce(each, self.clock.now_s())
            except HoldfastError:
                return  # not allowed, or no answer: `doctor` says which

    def _attempt(self, act: Callable[[Any], object], on: Any) -> Outcome:
        try:
            return Happened(act(on))
        except (Conflict, Busy, Unknown) as outcome:
            return outcome
        except HoldfastError as refusal:
            # Not allowed, or makes no sense: the other effects go on, and the operator is told.
            self.problems.append(str(refusal))
            return Busy(str(refusal))

    def _complain(self, ended: Outcome | None) -> None:
        """Of machines that the cloud refuses to end, with what would let it."""
        answer = ended.answer if isinstance(ended, Happened) else None
        for instance_id, said in answer.items() if isinstance(answer, dict) else ():
            if said in NOT_ENDED:
                self.problems.append(f"EC2 refuses to end {instance_id}: {why_not_ended(instance_id, said)}")

    def _console(self, effect: Terminate) -> str | None:
        """Before it is gone.  That it cannot be read keeps no machine alive."""
        if not effect.keep_console:
            return None
        try:
            return self.cloud.console(effect.instance_id)
        except HoldfastError as error:
            return f"(its console cannot be read: {error})"

    def _one(self, effect: Effect) -> object:
        match effect:
            case Drain():
                return self._drain(effect)
            case CordonNode(instance_id, action_id):
                return self._with_node(instance_id, lambda node: self._cordon(node, action_id))
            case Uncordon(instance_id, action_id):
                return self._with_node(instance_id, lambda node: self._uncordon(node, action_id))
            case Admit(instance_id):
                return self._with_node(instance_id, self._admit)
            case LaunchInstances(action_id, launch):
                return self.cloud.launch(action_id, launch)
            case DeleteNode(_, name, uid):
                self.kubernetes.delete_node(name, uid)
            case ForgetNotices(keys):
                self.inbox.forget(keys)
            case PrepareTemplate(name):
                return self._prepare(name)
        return None

    def _prepare(self, name: str) -> Refused | None:
        """A template that is refused is the pool's own trouble, and noted as such."""
        pool = self.settings.pool(name)
        try:
            if pool is not None:
                self.cloud.prepare(pool)
        except Invalid as refusal:
            self.problems.append(f"pool {name}: {refusal}")
            return Refused(Refusal.REFUSED, str(refusal))
        return None

    def _node(self, instance_id: str) -> KubeNode | None:
        """As it is now; None if there is none, or if another machine has taken its name."""
        name = self.names.get(instance_id)
        node = self.kubernetes.node(name) if name else None
        return node if node is not None and instance_id_of(node) == instance_id else None

    def _with_node(self, instance_id: str, act: Callable[[KubeNode], object]) -> object:
        node = self._node(instance_id)
        return act(node) if node is not None else None

    def _cordon(self, node: KubeNode, action_id: str) -> bool:
        """Whether it had to be changed.  A cordon that is there already has another owner, and stays."""
        owners = cordon_owners(node)
        if action_id in owners and node.spec.unschedulable:
            return False
        notes = {**node.metadata.annotations, CORDON_OWNERS: ",".join(sorted({*owners, action_id}))}
        if node.spec.unschedulable and not owners:
            notes[CORDON_FOUND] = "true"
        self.kubernetes.change_node(node, _changed(node, annotations=notes, unschedulable=True))
        return True

    def _uncordon(self, node: KubeNode, action_id: str) -> None:
        owners = cordon_owners(node) - {action_id}
        if owners == cordon_owners(node):
            return
        notes = dict(node.metadata.annotations)
        if owners:
            notes[CORDON_OWNERS] = ",".join(sorted(owners))
            self.kubernetes.change_node(node, _changed(node, annotations=notes))
            return
        notes.pop(CORDON_OWNERS, None)
        found = notes.pop(CORDON_FOUND, "")
        still = node.spec.unschedulable if found else False
        self.kubernetes.change_node(node, _changed(node, annotations=notes, unschedulable=still))

    def _admit(self, node: KubeNode) -> None:
        taints = tuple(taint for taint in node.spec.taints if taint.key != JOINING_TAINT)
        if taints != node.spec.taints:
            self._still_fresh(ADMIT_WITHIN_S, "admit")
            self.kubernetes.change_node(node, _changed(node, taints=taints))

    def _drain(self, effect: Drain) -> Drained:
        node = self._node(effect.instance_id)
        if node is None:  # a listing that lacks it is no proof that nothing runs there
            return Drained(blocked_by="its node is not listed")
        pods = self.kubernetes.pods(node.metadata.name)
        if effect.deadline_s:
            return self._move(node, pods, effect)
        begun = effect.action_id in cordon_owners(node)
        blocked_by = _called_off(node, begun=begun) or self._blocker(pods, begun=begun)
        if blocked_by:
            return Drained(blocked_by=blocked_by)
        if self._cordon(node, effect.action_id):
            return Drained(
                left=len(drain.remaining(pods)) or 1, waiting_for="the scheduler to see the cordon"
            )
        return self._evict(pods)

    def _blocker(self, pods: Sequence[Pod], *, begun: bool) -> str:
        """What keeps this node, before it is touched; or what turned up while it was being emptied."""
        for blocker in drain.blockers(pods, self._covering, self.settings.drain):
            # Our own evictions use a budget up: from then on one waits for it.
            if not (begun and blocker.rule is drain.Rule.BUDGET):
                return str(blocker)
        if begun or not self.settings.drain.budgets_are_asked_first:
            return ""
        for pod in drain.to_evict(pods):
            answer = self.kubernetes.evict(pod, dry_run=True)
            if answer.outcome in (Eviction.REFUSED, Eviction.IMPOSSIBLE):
                return f"{pod.called} may not be evicted: {answer.message}"
        return ""

    def _evict(self, pods: Sequence[Pod]) -> Drained:
        waiting_for = ""
        for pod in drain.to_evict(pods):
            answer = self._ask_to_leave(pod)
            if answer.outcome is Eviction.IMPOSSIBLE:
                return Drained(blocked_by=f"{pod.called} can never be evicted: {answer.message}")
            if answer.outcome is Eviction.REFUSED:
                waiting_for = waiting_for or f"{pod.called}: {answer.message}"
        return _left(pods, waiting_for)

    def _move(self, node: KubeNode, pods: Sequence[Pod], effect: Drain) -> Drained:
        """The machine dies at the deadline: ask kindly while there is time, then do not ask."""
        self._cordon(node, effect.action_id)
        movable = drain.to_move(pods, self.settings.interruption_moves_critical)
        for pod in movable:
            now_s = self.clock.now_s()
            grace_s = drain.grace_s(pod, now_s, effect.deadline_s)
            if effect.deadline_s - now_s > HARD_S:
                self._ask_to_leave(pod, grace_s)
            else:
                self._still_fresh()
                self.kubernetes.delete_pod(pod, grace_s=grace_s)
        stay = {pod.metadata.uid for pod in drain.to_evict(pods)} - {pod.metadata.uid for pod in movable}
        return _left([pod for pod in pods if pod.metadata.uid not in stay], "")

    def _ask_to_leave(self, pod: Pod, grace_s: int | None = None) -> Evicted:
        """One after the other under one budget, however many nodes are drained side by side.

        An eviction changes the budget.  Those that collide there are held by the API server for half
        a second each time, up to ten: with a dozen at once most of them are, and deadlines pass.
        A budget that refuses one healthy pod would refuse the next: until the next round it is not asked.
        """
        covering = [_called(budget) for budget in self._covering.covering(pod)]
        healthy = drain.is_healthy(pod)
        with ExitStack() as turns:
            for called in covering:
                turns.enter_context(self._turn(called))
                if healthy and called in self._used_up:
                    return self._used_up[called]
            self._still_fresh()
            answer = self.kubernetes.evict(pod, grace_s=grace_s)
            if healthy and answer.outcome is Eviction.REFUSED:
                self._used_up |= dict.fromkeys(covering, answer)
            return answer

    @contextmanager
    def _turn(self, called: tuple[str, str]) -> Iterator[None]:
        """By asking again, not by blocking: threads wait for each other by the clock that they were given."""
        lock = self._turns[called]
        while not lock.acquire(blocking=False):
            self._still_fresh()
            self.clock.sleep(TURN_S)
        try:
            yield
        finally:
            lock.release()

    def _still_fresh(self, within_s: float = EVICT_WITHIN_S, what: str = "evict") -> None:
        if self.clock.now_s() - self.read_s > within_s:
            raise Busy(f"the record was read too long ago to {what} by it")


def _called_off(node: KubeNode, *, begun: bool) -> str:
    """What a person did to the node meanwhile that means: leave it."""
    for annotation in kept_by_annotation(node):
        return f'{node.metadata.name} carries the annotation {annotation}: "true"'
    if begun and not node.spec.unschedulable:
        return f"{node.metadata.name} was uncordoned by a person"
    return ""


def pause_s(effects: Sequence[Effect], after_cordon_s: float, rounds: int) -> float:
    """Pods need time to leave, and a scheduler to see a cordon.  Longer with each round that changed nothing,
    because every round looks at everything; but not while a deadline runs."""
    hurried = any(isinstance(effect, Drain) and effect.deadline_s for effect in effects)
    return after_cordon_s * (1 if hurried else min(rounds, PAUSE_ROUNDS_MAX))


def drains(effects: Sequence[Effect]) -> bool:
    return any(isinstance(effect, Drain) for effect in effects)


def _called(budget: Budget) -> tuple[str, str]:
    return budget.metadata.namespace, budget.metadata.name


def _left(pods: Sequence[Pod], waiting_for: str) -> Drained:
    left = drain.remaining(pods)
    if not left:
        return Drained()
    return Drained(left=len(left), waiting_for=waiting_for or f"{left[0].called} to be gone")


def _ended(outcome: Outcome | None, instance_id: str, console: str | None) -> Outcome:
    """The part of one TerminateInstances that concerns this machine."""
    if not isinstance(outcome, Happened):
        return outcome or Busy("nothing was asked")
    said = outcome.answer.get(instance_id) if isinstance(outcome.answer, dict) else None
    if said in NOT_ENDED:
        return Happened(said)
    accepted = said is Termination.ACCEPTED
    return Happened(console) if accepted else Busy(f"the cloud does not know {instance_id} now")


def _changed(
    node: KubeNode,
    *,
    annotations: dict[str, str] | None = None,
    unschedulable: bool | None = None,
    taints: tuple[Any, ...] | None = None,
) -> KubeNode:
    metadata, spec = node.metadata, node.spec
    if annotations is not None:
        metadata = msgspec.structs.replace(metadata, annotations=annotations)
    if unschedulable is not None:
        spec = msgspec.structs.replace(spec, unschedulable=unschedulable)
    if taints is not None:
        spec = msgspec.structs.replace(spec, taints=taints)
    return msgspec.structs.replace(node, metadata=metadata, spec=spec)
