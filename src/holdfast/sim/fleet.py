"""A fleet of nodes as the autoscaler meets it, and the judge of what no schedule may do."""

from collections.abc import Callable
from dataclasses import dataclass, field

from holdfast.autoscaler.place import Node
from holdfast.autoscaler.ports import Drain, Drained, Effect, Seen, Terminate, Uncordon
from holdfast.autoscaler.record import Cluster, Cordon, Status


@dataclass
class SimFleet:
    """Nodes, their cordons, and the size that the load wants."""

    nodes: dict[str, Node]
    wanted: int
    record: Callable[[], Cluster]
    """The committed record, for the judge."""
    cordons: set[Cordon] = field(default_factory=set)
    blocked: dict[str, str] = field(default_factory=dict)
    """Nodes that cannot be drained, and why."""
    accidents: list[str] = field(default_factory=list)

    def look(self, me: str) -> Seen:
        return Seen(
            me=me, wanted=self.wanted, nodes=tuple(self.nodes.values()), cordons=frozenset(self.cordons)
        )

    def perform(self, effect: Effect) -> object:
        match effect:
            case Drain(instance_id, action_id):
                if instance_id not in self.nodes:
                    return Drained()
                self.cordons.add(Cordon(instance_id, action_id))
                return Drained(self.blocked.get(instance_id, ""))
            case Uncordon(instance_id, action_id):
                self.cordons.discard(Cordon(instance_id, action_id))
                return None
            case Terminate(instance_id):
                self.judge(instance_id)
                self.nodes.pop(instance_id, None)
                self.cordons = {c for c in self.cordons if c.instance_id != instance_id}
                return None
            case _:
                raise AssertionError(f"removing nodes does not ask for {effect}")

    def judge(self, instance_id: str) -> None:
        """S-A4: nothing is terminated in service, or without a condemnation in the record."""
        if instance_id not in self.nodes:
            return
        if not any(cordon.instance_id == instance_id for cordon in self.cordons):
            self.accidents.append(f"{instance_id} was terminated in service")
        down = self.record().scale_down
        if not down or instance_id not in down.having(Status.CONDEMNED, Status.GONE):
            self.accidents.append(f"{instance_id} was terminated without being condemned")
