"""Agents as small as can be: they do at once what their goal says, and count their lease from sending."""

from dataclasses import dataclass, field, replace

from holdfast.failover.goals import Do, goal_of
from holdfast.failover.group import Group
from holdfast.failover.ports import Beat, Report, Term
from holdfast.kernel import Versioned
from holdfast.sim.failover.store import MemoryGroups
from tests.failover.model.bench import AGENT, CLIENT, SUBJECT


@dataclass
class Puppet:
    instance_id: str
    highest: int = 0
    epoch: int = 0
    """Under which it serves, while its lease lasts."""
    until_s: float = 0.0
    fails: bool = False
    deaf: bool = False
    """Its heartbeats arrive, and it hears no answer."""
    dead: bool = False
    report: Report = field(default_factory=lambda: Report(healthy=True, lag_s=0.0, sync_age_s=0.0))

    def serves(self, now_s: float) -> bool:
        return not self.dead and self.epoch == self.highest and now_s < self.until_s

    def beat(self, store: MemoryGroups, term: Term, now_s: float) -> None:
        if self.dead:
            return
        beat = Beat(CLIENT, AGENT, self.instance_id, f"s-{self.instance_id}", self.highest, self.report)
        (grant,) = store.renew([beat], term)
        if self.deaf or not grant.session_ok:
            return
        self.highest = max(self.highest, grant.epoch)
        self._obey(store.read(SUBJECT), now_s)
        if grant.lease_s and grant.epoch == self.highest == self.epoch:
            self.until_s = max(self.until_s, now_s + grant.lease_s)

    def _obey(self, found: Versioned[Group], now_s: float) -> None:
        goal = goal_of(found.value, self.instance_id, found.version, now_s)
        self.highest = max(self.highest, goal.epoch)
        if goal.epoch < self.highest:
            return
        match goal.do:
            case Do.PROMOTE | Do.SERVE:
                if self.epoch != goal.epoch:
                    self.epoch, self.until_s = goal.epoch, 0.0
                state = "failed" if self.fails else "done"
                if self.fails:
                    self.epoch = 0
                self._say("promote", goal.epoch, state)
                self.report = replace(self.report, served_epoch=goal.epoch)
            case Do.DEMOTE | Do.STOP:
                self.epoch = 0
                self._say("demote", goal.epoch, "done")
            case Do.FOLLOW if goal.primary:
                self.report = replace(self.report, sync_epoch=goal.epoch)
        self.report = replace(self.report, highest_epoch=self.highest)

    def _say(self, goal: str, epoch: int, state: str) -> None:
        self.report = replace(self.report, hook_goal=goal, hook_epoch=epoch, hook_state=state)
