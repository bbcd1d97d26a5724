"""The simulated cluster does what drains and scale-ups meet in a real one."""

import msgspec
import pytest

from holdfast.cloud import Market, Offering, State
from holdfast.cloud.kubernetes import JOINING_TAINT, Eviction, KubeNode, Taint, instance_id_of
from holdfast.kernel import Conflict
from holdfast.sim.ec2.machine import Ending, Machine
from holdfast.sim.kubernetes.cluster import GIVEN_UP_S, SILENT_S, SimKubernetes
from holdfast.sim.kubernetes.pods import BudgetRule, Owned, SimNode, Workload
from holdfast.sim.world import World


class Here:
    """A cluster with some nodes that take pods."""

    def __init__(self, nodes: int = 2) -> None:
        self.world = World(1)
        self.api = SimKubernetes(self.world)
        self.nodes = [self.api.add_node(f"n{n}", zone="a", ready=True) for n in range(nodes)]

    def wait(self, seconds: float) -> None:
        self.world.run(self.world.now + seconds)

    def machine(self, address: str = "ip-10-0-1") -> Machine:
        machine = Machine(
            f"i-{address}", Offering("a", Market.SPOT, "t3.medium"), "default", 0.0, address=address
        )
        machine.enter(State.RUNNING, self.world.now)
        return machine

    def end(self, machine: Machine) -> None:
        machine.ended_by = Ending.RECLAIMED
        machine.enter(State.SHUTTING_DOWN, self.world.now)
        self.api.stop(machine)

    def cordon(self, node: SimNode) -> KubeNode:
        before = node.value()
        spec = msgspec.structs.replace(before.spec, unschedulable=True)
        return self.api.change_node(before, msgspec.structs.replace(before, spec=spec))


def where(workload: Workload) -> dict[str, str]:
    return {name: pod.node.name if pod.node else "" for name, pod in workload.pods.items()}


def test_pods_are_placed_first_fit_and_those_that_fit_nowhere_say_so() -> None:
    here = Here()
    web = here.api.deploy(Workload(name="web", replicas=7, cpu_m=600))
    here.wait(60)

    assert sorted(where(web).values()) == ["", "n0", "n0", "n0", "n1", "n1", "n1"]
    stuck = next(pod.value() for pod in web.pods.values() if pod.node is None)
    (condition,) = stuck.status.conditions
    assert (condition.type, condition.status, condition.reason) == ("PodScheduled", "False", "Unschedulable")
    running = next(pod.value() for pod in web.pods.values() if pod.node is not None)
    assert running.status.phase == "Running"


def test_a_pod_waits_until_there_is_room_and_then_runs() -> None:
    here = Here(nodes=1)
    web = here.api.deploy(Workload(name="web", replicas=4, cpu_m=600))
    here.wait(10)
    here.api.add_node("new", zone="b", ready=True)
    here.wait(20)

    assert sorted(where(web).values()) == ["n0", "n0", "n0", "new"]


@pytest.mark.parametrize("obstacle", ["cordon", "taint", "selector", "not ready"])
def test_a_pod_goes_only_where_it_may(obstacle: str) -> None:
    here = Here(nodes=1)
    node = here.nodes[0]
    wanted = {"disk": "fast"} if obstacle == "selector" else {}
    if obstacle == "cordon":
        here.cordon(node)
    if obstacle == "taint":
        node.taints = (Taint(key="gpu"),)
    if obstacle == "not ready":
        node.ready = False
    web = here.api.deploy(Workload(name="web", node_selector=wanted))
    here.wait(30)

    assert list(where(web).values()) == [""]


def test_a_tolerated_taint_does_not_keep_a_pod_away() -> None:
    here = Here(nodes=1)
    here.nodes[0].taints = (Taint(key="gpu"),)
    web = here.api.deploy(Workload(name="web", tolerates=frozenset({"gpu"})))
    here.wait(30)

    assert list(where(web).values()) == ["n0"]


def test_an_evicted_pod_ends_within_its_grace_and_is_replaced_elsewhere() -> None:
    here = Here()
    web = here.api.deploy(Workload(name="web", replicas=1, grace_s=30))
    here.wait(30)
    here.cordon(here.nodes[0])
    (pod,) = here.api.pods("n0")

    assert here.api.evict(pod, dry_run=True).outcome is Eviction.ACCEPTED
    assert not here.api.pods("n0")[0].metadata.deletion_timestamp
    assert here.api.evict(pod).outcome is Eviction.ACCEPTED
    assert here.api.evict(pod).outcome is Eviction.ACCEPTED, "again is the same"
    assert len(web.pods) == 2, "the replacement comes at once"
    assert here.api.pods("n0")[0].metadata.deletion_timestamp
    here.wait(31)
    assert list(where(web).values()) == ["n1"]
    assert here.api.evict(pod).outcome is Eviction.GONE


def test_a_stateful_pod_comes_back_under_its_name_with_another_uid() -> None:
    here = Here()
    db = here.api.deploy(Workload(name="db", kind=Owned.STATEFUL_SET, replicas=2))
    here.wait(30)
    before = {name: pod.uid for name, pod in db.pods.items()}
    old = db.pods["db-0"].value()
    here.api.evict(old)
    assert db.pods["db-0"].uid == before["db-0"], "not before the old one is gone"
    here.wait(60)

    assert set(db.pods) == {"db-0", "db-1"}
    assert db.pods["db-0"].uid != before["db-0"]
    assert here.api.evict(old).outcome is Eviction.GONE


def test_budgets_refuse_and_two_on_one_pod_make_it_impossible() -> None:
    here = Here()
    here.api.deploy(Workload(name="web", replicas=2))
    here.api.rules.append(BudgetRule("keep-one", "web", min_available=1))
    here.wait(30)
    first, second = here.api.pods()
    (budget,) = here.api.budgets()
    assert (budget.status.disruptions_allowed, budget.status.current_healthy) == (1, 2)

    assert here.api.evict(first).outcome is Eviction.ACCEPTED
    assert here.api.evict(second).outcome is Eviction.REFUSED
    assert here.api.evict(first).outcome is Eviction.ACCEPTED, "it is leaving already"
    here.wait(60)
    assert here.api.evict(second).outcome is Eviction.ACCEPTED, "its replacement is healthy"
    here.api.rules.append(BudgetRule("keep-all", "web", max_unavailable=0))
    third = next(pod for pod in here.api.pods() if pod.metadata.uid != second.metadata.uid)
    assert here.api.evict(third).outcome is Eviction.IMPOSSIBLE


def test_deleting_a_pod_asks_no_budget_and_hurries_one_that_is_leaving() -> None:
    here = Here()
    here.api.deploy(Workload(name="web", grace_s=600))
    here.api.rules.append(BudgetRule("keep", "web", min_available=1))
    here.wait(30)
    (pod,) = here.api.pods()
    assert here.api.evict(pod).outcome is Eviction.REFUSED
    here.api.delete_pod(pod, grace_s=2)
    here.wait(3)

    assert pod.metadata.uid not in here.api.everything
    here.api.delete_pod(pod, grace_s=2)


def test_a_machine_joins_tainted_becomes_ready_and_takes_pods_once_the_taint_is_lifted() -> None:
    here = Here(nodes=0)
    here.api.deploy(Workload(name="logs", kind=Owned.DAEMON_SET, cpu_m=100))
    web = here.api.deploy(Workload(name="web"))
    machine = here.machine()
    here.api.join(machine)
    (node,) = here.api.nodes()
    assert instance_id_of(node) == machine.instance_id
    assert not node.is_ready
    here.wait(20)
    (node,) = here.api.nodes()
    assert node.is_ready
    assert [pod.metadata.labels["app"] for pod in here.api.pods(node.metadata.name)] == ["logs"]
    assert [taint.key for taint in node.spec.taints] == [JOINING_TAINT]

    spec = msgspec.structs.replace(node.spec, taints=())
    here.api.change_node(node, msgspec.structs.replace(node, spec=spec))
    here.wait(20)
    assert list(where(web).values()) == [machine.address]


def test_a_change_from_an_old_picture_is_a_conflict() -> None:
    here = Here()
    old = here.nodes[0].value()
    here.cordon(here.nodes[0])

    with pytest.raises(Conflict):
        here.api.change_node(old, old)


def test_a_dead_machine_leaves_a_silent_node_and_its_pods_come_back_late() -> None:
    here = Here(nodes=0)
    machine = here.machine()
    here.api.join(machine)
    here.wait(20)
    node = here.api.by_name[machine.address]
    node.taints = ()
    web = here.api.deploy(Workload(name="web"))
    db = here.api.deploy(Workload(name="db", kind=Owned.STATEFUL_SET))
    here.wait(20)
    here.api.add_node("other", zone="b", ready=True)

    here.end(machine)
    here.wait(SILENT_S - 1)
    assert node.value().is_ready
    here.wait(2)
    assert not node.value().is_ready
    assert set(where(web).values()) == {machine.address}
    here.wait(GIVEN_UP_S + 10)
    assert sorted(where(web).values()) == [machine.address, "other"], "a new one, and one that cannot end"
    assert set(where(db).values()) == {machine.address}, "it is not known whether it still runs"
    here.api.delete_node(node.name, "another uid")
    assert node.name in here.api.by_name
    here.api.delete_node(node.name, node.uid)
    here.wait(10)
    assert (set(where(web).values()), set(where(db).values())) == ({"other"}, {"other"})


def test_a_name_can_be_used_again_only_once_its_dead_node_is_deleted() -> None:
    here = Here(nodes=0)
    first, second = here.machine(), here.machine()
    here.api.join(first)
    here.wait(20)
    here.end(first)
    here.api.join(second)
    here.wait(100)
    node = here.api.by_name[first.address]
    assert node.machine is first
    here.api.delete_node(node.name, node.uid)
    here.wait(60)

    assert here.api.by_name[second.address].machine is second


def test_a_hiccup_passes_and_what_was_leaving_meanwhile_is_gone_then() -> None:
    here = Here(nodes=1)
    here.api.deploy(Workload(name="web", grace_s=1))
    here.wait(20)
    (pod,) = here.api.pods()
    here.api.hiccup(here.nodes[0], 100)
    here.api.evict(pod)
    here.wait(60)
    assert [node.is_ready for node in here.api.nodes()] == [False]
    assert pod.metadata.uid in here.api.everything
    here.wait(60)

    assert [node.is_ready for node in here.api.nodes()] == [True]
    assert pod.metadata.uid not in here.api.everything


def test_scaling_down_ends_first_what_never_ran() -> None:
    here = Here(nodes=1)
    web = here.api.deploy(Workload(name="web", replicas=5, cpu_m=600))
    here.wait(20)
    here.api.scale(web, 2)

    assert sum(pod.node is None for pod in web.pods.values()) == 0
    here.wait(40)
    assert len(web.pods) == 2
    here.api.scale(web, 0)
    here.wait(40)
    assert not here.api.everything
    assert here.nodes[0].used_cpu_m == 0
