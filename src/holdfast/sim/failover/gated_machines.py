"""The cloud as one process of the simulated world reaches it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from holdfast.cloud.machines import Instance
from holdfast.failover.ports import Launch, Launched, NotLaunched, Terminate
from holdfast.sim.failover.server import SUBJECT
from holdfast.sim.gate import Kind
from holdfast.sim.world import Process

if TYPE_CHECKING:
    from holdfast.sim.scenarios.taking_over import TakingOver


class GatedMachines:
    """The cloud behind a process's gate; every end of a machine is judged."""

    def __init__(self, scenario: "TakingOver", process: Process) -> None:
        self._scenario, self._process = scenario, process

    def launch(self, effect: Launch) -> Launched | NotLaunched:
        machines = self._scenario.machines
        return self._process.call("launch", Kind.CHANGE, lambda: machines.launch(effect))

    def terminate(self, effect: Terminate) -> None:
        def run() -> None:
            scenario = self._scenario
            group = scenario.groups.read(SUBJECT).value
            scenario.judge.ends(effect, group, list(scenario.hosts.values()))
            scenario.machines.terminate(effect)

        self._process.call(f"terminate {effect.instance_id}", Kind.CHANGE, run)

    def instances(self, subject: str) -> Sequence[Instance]:
        machines = self._scenario.machines
        return self._process.call("list machines", Kind.READ, lambda: machines.instances(subject))
