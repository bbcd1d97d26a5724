"""A cluster, a cloud and a clock that remember what an executor did to them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from holdfast.autoscaler.execute import Executor
from holdfast.autoscaler.ports import (
    Drain,
    Drained,
    Effect,
)
from holdfast.autoscaler.settings import Settings
from holdfast.cloud.kubernetes import (
    Evicted,
    Eviction,
    KubeNode,
    Pod,
)
from holdfast.cloud.launches import Termination
from holdfast.kernel import Busy, Conflict, Happened, Invalid, Outcome, Unknown

NOW_S = 10_000.0


@dataclass
class Cluster:
    """One node as an API server keeps it: changed by resource version, pods by UID."""

    here: KubeNode | None
    on_it: list[Pod] = field(default_factory=list)
    refuses: dict[str, Evicted] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)

    def node(self, name: str) -> KubeNode | None:
        return self.here

    def pods(self, node_name: str | None = None) -> Sequence[Pod]:
        return list(self.on_it)

    def change_node(self, node: KubeNode, changed: KubeNode) -> KubeNode:
        assert self.here is not None
        if node.metadata.resource_version != self.here.metadata.resource_version:
            raise Conflict("the node has changed")
        version = str(int(node.metadata.resource_version) + 1)
        meta = msgspec.structs.replace(changed.metadata, resource_version=version)
        self.here = msgspec.structs.replace(changed, metadata=meta)
        self.log.append("change")
        return self.here

    def evict(self, pod: Pod, *, grace_s: int | None = None, dry_run: bool = False) -> Evicted:
        answer = self.refuses.get(pod.metadata.name, Evicted(Eviction.ACCEPTED))
        if not dry_run:
            self.log.append(f"evict {pod.metadata.name}" + (f" {grace_s}" if grace_s is not None else ""))
            if answer.outcome is Eviction.ACCEPTED:
                self.on_it.remove(pod)
        return answer

    def delete_pod(self, pod: Pod, *, grace_s: int) -> None:
        self.log.append(f"delete {pod.metadata.name} {grace_s}")
        self.on_it.remove(pod)

    def delete_node(self, name: str, uid: str) -> None:
        raise Invalid("grant verb `delete` on `nodes`")


@dataclass
class Clock:
    at_s: float = NOW_S

    def now_s(self) -> float:
        return self.at_s

    def sleep(self, seconds: float) -> None:
        self.at_s += seconds


class Cloud:
    def console(self, instance_id: str) -> str:
        if instance_id == "i-mute":
            raise Busy("throttled")
        return "NOT JOINING: the token is wrong"

    def terminate(self, instance_ids: Sequence[str]) -> Mapping[str, Termination]:
        if "i-lost" in instance_ids:
            raise Unknown("the answer was lost")
        special = {"i-new": Termination.NOT_KNOWN, "i-retagged": Termination.DENIED}
        return {instance_id: special.get(instance_id, Termination.ACCEPTED) for instance_id in instance_ids}


def executor_of(
    cluster: Cluster, *, read_s: float = NOW_S, made: type[Executor] = Executor, **said: Any
) -> Executor:
    anything: Any = None
    executor = made(
        Settings(**said), cast("Any", Cloud()), cast("Any", cluster), anything, Clock(), read_s=read_s
    )
    executor.names = {"i-1": "n-1"}
    return executor


def do(executor: Executor, effect: Effect) -> Outcome:
    (outcome,) = executor.perform([effect])
    return outcome


def drained(executor: Executor, effect: Drain | None = None) -> Drained:
    outcome = do(executor, effect or Drain("i-1", "act"))
    assert isinstance(outcome, Happened)
    assert isinstance(outcome.answer, Drained)
    return outcome.answer
