"""A fleet whose listings lie, for hours at a time, while load comes and goes and calls fail: see `lying`."""

from collections.abc import Callable
from typing import Any

from holdfast.autoscaler.record import Cluster
from holdfast.autoscaler.tick import Autoscaler
from holdfast.sim.memory import MemoryItems
from holdfast.sim.scenarios.lying import HOUR_S, Lying
from holdfast.sim.scenarios.scaling import Scaling
from holdfast.sim.world import World


class Lies(Scaling):
    name = "scaling by listings that lie"

    def __init__(
        self,
        world: World,
        store: MemoryItems[Cluster],
        *,
        autoscaler: Any = Autoscaler,
        tick_s: float = 0.0,
        pace: float = 1.0,
        **said: Any,
    ) -> None:
        super().__init__(world, store, autoscaler=autoscaler, tick_s=tick_s, pace=pace, **said)
        self.lying = Lying(self.judge, store, self._foreign)
        self.seen_cluster, self.seen_cloud = self.lying.seen_cluster, self.lying.seen_cloud
        self.befell: dict[str, int] = {}
        """How often each of them came."""
        self._undo: list[Callable[[], None]] = []

    def begin(self) -> None:
        super().begin()
        self.lying.begin()
        self.world.every(1.5 * HOUR_S * self.pace, self._unless_calm(self._lie))

    def calm(self) -> None:
        for undo in self._undo:
            undo()
        super().calm()

    def _lie(self) -> None:
        happening = self.world.random.choice((*self.lying.lies(), self._machine_protected))
        called = happening.__name__.strip("_")
        self.befell[called] = self.befell.get(called, 0) + 1
        undo = happening()
        if undo is not None:
            self._undo.append(undo)
            self.world.after(self.lying.lasts_s(), undo)

    def _machine_protected(self) -> Callable[[], None] | None:
        alive = self.cloud.alive()
        if not alive:
            return None
        machine = self.world.random.choice(alive)
        machine.protected = True
        return lambda: setattr(machine, "protected", False)
