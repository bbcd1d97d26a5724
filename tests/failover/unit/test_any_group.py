"""Every shape of a small group, under every look: each write is a legal move, and none is for ever."""

from itertools import product

import pytest

from holdfast.cloud.machines import Instance, State
from holdfast.failover.group import (
    Degraded,
    Group,
    GroupSettings,
    Member,
    NoticeKind,
    Recovering,
    Switch,
    Takeover,
)
from holdfast.failover.ports import InstanceSeen, Report, Seen, Term
from holdfast.failover.roles import Status
from holdfast.failover.rules.rule import Policy
from holdfast.failover.workflow import workflow
from holdfast.kernel import Do, Write
from holdfast.testing.legal.group import illegal
from tests.deep import DEEP
from tests.proof import prove

NOW_S, WRITES_MAX = 10_000.0, 12
FIRST = (Status.REPLICA, Status.PROMOTING, Status.PRIMARY, Status.DEMOTING, Status.ZOMBIE, Status.TERMINATING)
SECOND = (Status.LAUNCHING, Status.REPLICA, Status.PROMOTING, Status.ZOMBIE)
SAID = (("", 0, "none"), ("promote", 4, "done"), ("promote", 4, "failed"), ("demote", 4, "done"))
STATES = (None, State.RUNNING, State.SHUTTING_DOWN, State.TERMINATED)


def groups() -> list[Group]:
    """Every pair of statuses that can be written down, noticed or not, with what was asked."""
    found = []
    for first, second, noticed, age_s, extra in product(
        FIRST, SECOND, (False, True), (1.0, 5_000.0), ("", "switch", "recovering", "paused")
    ):
        members = (
            Member(
                instance_id="i-1", status=first, since_s=NOW_S - age_s, replica_id="r-1",
                notice=NoticeKind.TERMINATION if noticed else NoticeKind.NONE, demoted_at_s=1.0,
                terminate_at_s=NOW_S - 1,
            ),
            Member(instance_id="i-2", status=second, since_s=NOW_S - age_s),
        )  # fmt: skip
        candidate = next((m.instance_id for m in members if m.status is Status.PROMOTING), "")
        takeover = Takeover(old="i-1", reason="x", code="X", candidate=candidate, started_s=NOW_S - age_s)
        no_primary = first is not Status.PRIMARY
        try:
            found.append(
                Group(
                    client_id="c", agent_id="a", epoch=4, served_epoch=4 if first is Status.PRIMARY else 3,
                    members=members, created_s=1.0, settings=GroupSettings(zombie_retention_s=100.0),
                    takeover=takeover if no_primary else None,
                    degraded=Degraded(NOW_S - age_s, "X", "x") if no_primary else None,
                    switch=Switch("", "ada", NOW_S - 9, NOW_S - 1) if extra == "switch" else None,
                    recovering=Recovering(NOW_S - age_s, 4) if extra == "recovering" and no_primary else None,
                    paused_until_s=NOW_S + 60 if extra == "paused" else 0.0,
                )
            )  # fmt: skip
        except ValueError:
            continue  # it cannot be written down
    return found


def looks() -> list[Seen]:
    found = []
    for said, left_s, silent_s, state, well in product(SAID, (0.0, 5.0), (1.0, 400.0), STATES, (True, False)):
        one = InstanceSeen(
            lease_left_s=left_s, silent_s=silent_s,
            report=Report(hook_goal=said[0], hook_epoch=said[1], hook_state=said[2], healthy=well),
        )  # fmt: skip
        two = InstanceSeen(
            silent_s=1.0,
            report=Report(
                hook_goal=said[0], hook_epoch=said[1], hook_state=said[2], healthy=True, sync_epoch=3,
                lag_s=0.0, sync_age_s=0.0, highest_epoch=9 if not well else 0,
            ),
        )  # fmt: skip
        cloud = None if state is None else (Instance("i-1", state, "a", token="t"),)
        found.append(Seen(instances={"i-1": one, "i-2": two}, cloud=cloud, launches_left=1))
    return found


@pytest.mark.parametrize("every", [19, pytest.param(1, marks=DEEP)])
@pytest.mark.parametrize("machines", [False, True])
def test_every_step_is_legal_and_none_is_for_ever(machines: bool, every: int) -> None:
    """Before each commit one pair of group and look in `every` is tried."""
    policy = Policy(term=Term(10.0), machines=machines, pools=("m.a", "m.b"))
    flow, steps = workflow(policy), 0
    pairs = list(product(groups(), looks()))[::every]
    for start, seen in pairs:
        group = start
        for _ in range(WRITES_MAX):
            ahead = flow.step(group, seen, NOW_S)
            steps += 1
            if not isinstance(ahead, Write):
                break
            problems = illegal(group, ahead.value, ahead.events)
            assert not problems, f"{problems}\n{group}\n{seen}"
            group = ahead.value
        else:
            raise AssertionError(f"it writes for ever: {ahead}\n{start}\n{seen}")
        if isinstance(ahead, Do):
            assert machines, "without machines nothing is launched or ended"
    assert len(pairs) * every > 20_000
    prove("explore", "groups", machines=machines, states=steps, edges=steps)
