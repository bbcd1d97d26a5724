"""The cloud of failover: machines that boot after a while, pools without capacity, lists that lag."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from holdfast.cloud.machines import ALIVE, Instance, State
from holdfast.failover.ports import Launch, Launched, NotLaunched, Terminate
from holdfast.sim.world import World

LISTED_S = 3_600.0
"""How long a terminated machine is still shown."""


@dataclass
class SimMachines:
    world: World
    started: Callable[[Instance], None]
    """A machine begins to boot."""
    ended: Callable[[str], None]
    """A machine is gone, with all that ran on it."""
    lag_s: float = 20.0
    """How far a list may be behind what is true."""
    full: set[str] = field(default_factory=set)
    """Pools that have no spot capacity."""
    launches: int = 0

    def __post_init__(self) -> None:
        self.all: dict[str, Instance] = {}
        self._by_token: dict[str, str] = {}
        self._listed: list[tuple[float, dict[str, Instance]]] = []

    def launch(self, effect: Launch) -> Launched | NotLaunched:
        instance_type, _, zone = effect.pool.rpartition(".")
        known = self._by_token.get(effect.token)
        if known is not None:
            return Launched(known, instance_type, zone)
        if effect.pool in self.full and effect.market == "spot":
            return NotLaunched("InsufficientInstanceCapacity", f"{effect.pool}: no spot capacity")
        self.launches += 1
        one = Instance(
            f"m-{self.launches:04d}", State.RUNNING, zone, instance_type, launched_s=int(self.world.now),
            token=effect.token, action_id=effect.replica_id,
        )  # fmt: skip
        self._by_token[effect.token] = one.instance_id
        self._put(one)
        self.started(one)
        return Launched(one.instance_id, instance_type, zone)

    def terminate(self, effect: Terminate) -> None:
        one = self.all.get(effect.instance_id)
        if one is not None and one.state in ALIVE:
            self._put(replace(one, state=State.SHUTTING_DOWN))
            self.world.after(self.world.random.uniform(10, 200), self.gone, effect.instance_id)

    def gone(self, instance_id: str) -> None:
        one = self.all.get(instance_id)
        if one is None or one.state is State.TERMINATED:
            return
        self._put(replace(one, state=State.TERMINATED))
        self.ended(instance_id)
        self.world.after(LISTED_S, self._forget, instance_id)

    def adopt(self, instance_id: str, pool: str) -> None:
        """A machine that an operator started, with the group's tag."""
        instance_type, _, zone = pool.rpartition(".")
        self._put(Instance(instance_id, State.RUNNING, zone, instance_type))

    def instances(self, subject: str) -> Sequence[Instance]:
        """As they were a little while ago."""
        at_s = self.world.now - self.world.random.random() * self.lag_s
        listed: dict[str, Instance] = {}
        for changed_s, listing in self._listed:
            if changed_s > at_s:
                break
            listed = listing
        return tuple(listed.values())

    def _put(self, one: Instance) -> None:
        self.all[one.instance_id] = one
        self._note()

    def _forget(self, instance_id: str) -> None:
        self.all.pop(instance_id, None)
        self._note()

    def _note(self) -> None:
        old_s = self.world.now - self.lag_s
        while len(self._listed) > 1 and self._listed[1][0] <= old_s:
            del self._listed[0]
        self._listed.append((self.world.now, dict(self.all)))
