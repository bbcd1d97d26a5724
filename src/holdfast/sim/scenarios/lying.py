"""Lies of the listings, told for hours at a time: what is seen is not what there is.

Another cluster answers, or the API answers with empty lists; nodes or machines are missing from a listing;
tags are rewritten, or forged on machines of others; a node is deleted by hand, or half of them are; the state
table is restored from hours ago.
"""

from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from holdfast.autoscaler.codec import SUBJECT
from holdfast.autoscaler.record import Cluster
from holdfast.sim.ec2.machine import Machine
from holdfast.sim.gated import LAG_MAX_S
from holdfast.sim.kubernetes.pods import SimNode
from holdfast.sim.memory import MemoryItems
from holdfast.sim.scenarios.scaling_judge import Judge
from holdfast.sim.scenarios.untrue import SeenCloud, SeenCluster, Untrue

Undo = Callable[[], None]
HOUR_S: Final = 3_600.0
LASTS_S: Final = (0.2 * HOUR_S, 3 * HOUR_S)
BACKUPS: Final = 8
"""So many hourly copies of the table are kept."""
ECHO_S: Final = 300.0 + LAG_MAX_S
"""A tick that looked before a lie ended may act on it until its time is up; so may one by an old listing."""


class Lying:
    """What is shown of a fleet, and how it comes to differ from what there is."""

    def __init__(self, judge: Judge, store: MemoryItems[Cluster], foreign: Sequence[Machine]) -> None:
        self.judge, self._items, self._foreign = judge, store, foreign
        self.cloud, self.cluster, self.world = judge.cloud, judge.cluster, judge.cloud.world
        self.untrue = Untrue()
        self.seen_cluster = cast("Any", SeenCluster(self.cluster, self.untrue, judge.accuse))
        self.seen_cloud = cast("Any", SeenCloud(self.cloud, self.untrue))
        self._backups = deque[Any](maxlen=BACKUPS)
        self._hides: Counter[str] = Counter()
        """How many lies at once hide each node or machine;"""
        self._echoes: Counter[str] = Counter()
        """and how many did not long ago."""
        self._blind_until_s = 0.0
        judge.shown.blind, judge.shown.retagged = self._is_blind, self.untrue.retagged
        judge.lied = lambda: self.untrue.hides_nodes or bool(self.cluster.elsewhere)

    def begin(self) -> None:
        self.world.every(HOUR_S, self._back_up)

    def lies(self) -> tuple[Callable[[], Undo | None], ...]:
        return (
            self.another_cluster,
            self.empty_lists,
            self.nodes_missing,
            self.machines_missing,
            self.tags_rewritten,
            self.tags_forged,
            self.node_deleted,
            self.nodes_deleted,
            self.table_restored,
        )

    def lasts_s(self) -> float:
        return self.world.random.uniform(*LASTS_S)

    def _some(self, names: Sequence[str]) -> list[str]:
        """One, some or all."""
        random = self.world.random
        return random.sample(names, min(len(names), random.choice((1, 2, len(names)))))

    def another_cluster(self) -> Undo:
        self.untrue.another, self.untrue.another_since_s = "another", self.world.now

        def undo() -> None:
            self.untrue.another, self._blind_until_s = "", self.world.now + ECHO_S

        return undo

    def empty_lists(self) -> Undo:
        self.untrue.empty = True

        def undo() -> None:
            self.untrue.empty, self._blind_until_s = False, self.world.now + ECHO_S

        return undo

    def _is_blind(self) -> bool:
        untrue = self.untrue
        return bool(untrue.another or untrue.empty) or self.world.now < self._blind_until_s

    def nodes_missing(self) -> Undo:
        hidden = self._some([node.name for node in self.cluster.by_name.values() if node.machine])
        return self._hide(self.untrue.nodes, hidden)

    def machines_missing(self) -> Undo:
        hidden = self._some([machine.instance_id for machine in self.cloud.alive()])
        return self._hide(self.untrue.machines, hidden)

    def _hide(self, where: set[str], hidden: Sequence[str]) -> Undo:
        """What one lie shows again, another may still hide."""
        where.update(hidden)
        self._hides.update(hidden)
        self._echoes.update(hidden)
        self.judge.hidden.update(hidden)
        running = [True]

        def undo() -> None:
            if running[0]:
                running[0] = False
                self.world.after(ECHO_S, self._forget, hidden)
                self._hides.subtract(hidden)
                where.difference_update(name for name in hidden if not self._hides[name])

        return undo

    def _forget(self, hidden: Sequence[str]) -> None:
        self._echoes.subtract(hidden)
        self.judge.hidden.difference_update(name for name in hidden if not self._echoes[name])

    def tags_rewritten(self) -> Undo:
        hidden = self._some([machine.instance_id for machine in self.cloud.alive()])
        self.untrue.retagged.update(hidden)
        return lambda: self.untrue.retagged.difference_update(hidden)

    def tags_forged(self) -> Undo:
        forged = [machine.instance_id for machine in self._foreign if machine.alive]
        self.untrue.forged.update(forged)
        return lambda: self.untrue.forged.difference_update(forged)

    def node_deleted(self) -> None:
        """By hand, and its kubelet does not register again.  One at a time: more are for a person to mend."""
        named = {node.machine.instance_id for node in self._nodes_of_ours() if node.machine}
        nodes = self._nodes_of_ours()
        if nodes and all(m.instance_id in named for m in self.cloud.alive() if m.action_id):
            self._delete(self.world.random.choice(nodes))

    def nodes_deleted(self) -> Undo:
        """Half of them at once, by hand; when the lie ends, a person has their kubelets started anew."""
        nodes = self._nodes_of_ours()
        gone = self.world.random.sample(nodes, len(nodes) // 2)
        for node in gone:
            self._delete(node)
        machines = [node.machine for node in gone if node.machine]

        def undo() -> None:
            named = {node.machine.instance_id for node in self._nodes_of_ours() if node.machine}
            for machine in machines:
                if machine.instance_id not in named:
                    self.cluster.join(machine)

        return undo

    def _nodes_of_ours(self) -> list[SimNode]:
        return [node for node in self.cluster.by_name.values() if node.machine and node.machine.action_id]

    def _delete(self, node: SimNode) -> None:
        self.judge.by_hand.discard(node.name)
        self.cluster.remove_node(node)

    def _back_up(self) -> None:
        if SUBJECT in self._items.items:
            self._backups.append(self._items.items[SUBJECT])

    def table_restored(self) -> None:
        if self._backups:
            self._items.items[SUBJECT] = self.world.random.choice(tuple(self._backups))
            self.judge.restored()
