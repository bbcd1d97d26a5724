"""What would be done now, if this were not only a question."""

from dataclasses import dataclass

from holdfast.autoscaler import identity
from holdfast.autoscaler.decide import Decision
from holdfast.autoscaler.ports import Effect, LaunchInstances
from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.report.machines import Bill, bill
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot
from holdfast.autoscaler.workflow import Ahead, conclude, workflow
from holdfast.kernel import Do, Wait, Write


@dataclass(frozen=True, slots=True)
class Preview:
    """A decision, and the first step that it leads to."""

    decision: Decision
    ahead: Ahead
    bill: Bill
    """What the machines cost that it asks for."""

    @property
    def steps(self) -> tuple[str, ...]:
        return in_words(self.ahead)


def preview(cluster: Cluster, snapshot: Snapshot, settings: Settings, now_s: float) -> Preview:
    known = identity.know(cluster, snapshot, now_s)
    if known is not None and not identity.refusal(cluster, snapshot.cluster_uid):
        cluster = known.value  # written down first, and no step that a person asks about
    """The decision as `status` tells it: a Hold where what is wanted cannot be begun."""
    decision = conclude(cluster, snapshot, settings, now_s)
    ahead = workflow(settings).step(cluster, snapshot, now_s)
    return Preview(decision, ahead, bill(cluster, snapshot, settings, decision, ahead, now_s))


def in_words(ahead: Ahead) -> tuple[str, ...]:
    match ahead:
        case Write(events=events):
            return tuple(" ".join(filter(None, (e.kind, e.about, e.reason))) for e in events)
        case Do(effects):
            return tuple(_effect_in_words(effect) for effect in effects)
        case Wait(why=why):
            return (f"wait: {why}",)
    return ()


def _effect_in_words(effect: Effect) -> str:
    if isinstance(effect, LaunchInstances):
        return f"launch {effect.launch.count} x {effect.launch.offering}"
    name = "".join(f" {c.lower()}" if c.isupper() else c for c in type(effect).__name__).strip()
    about = getattr(effect, "instance_id", "") or getattr(effect, "pool", "") or ""
    return f"{name} {about}".strip()
