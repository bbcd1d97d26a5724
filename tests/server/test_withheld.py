"""H30: while the database is behind, a heartbeat is stored and no lease is granted; and broken variants."""

import asyncio
from types import ModuleType
from typing import Any

import pytest

from holdfast.failover import ports
from holdfast.failover.api import wire
from holdfast.failover.api.codes import Code, Refusal
from holdfast.failover.api.operations import HEARTBEAT
from holdfast.failover.tenants import TokenKind
from holdfast.server import beats
from holdfast.server.calls import Call
from holdfast.server.figures.metrics import Figures
from holdfast.server.groups import Groups
from holdfast.server.tokens import Principal, issue
from tests.failover.model.bench import AGENT, CLIENT, SUBJECT, TERM, Bench, standing
from tests.proof import prove
from tests.variants import broken


class AtOnce:
    """Stores each heartbeat as it comes."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    async def beat(self, beat: Any) -> ports.Grant:
        (grant,) = self._bench.store.renew([beat], TERM)
        return grant


def heartbeat(bench: Bench, module: ModuleType, withheld: str) -> None:
    _, token = issue(
        TokenKind.AGENT,
        now_s=bench.now,
        expires_in_s=60.0,
        client_id=CLIENT,
        agent_id=AGENT,
        instance_id="i-1",
    )
    report = wire.Report(watchdog_ok=True, healthy=True, position="late news")
    body = wire.Heartbeat(instance_id="i-1", session="s-i-1", epoch=1, report=report)
    handler = module.Beats(
        heartbeats=AtOnce(bench), changes=None, groups=Groups(bench.store), read=None, figures=Figures(),
        now_s=lambda: bench.now, withheld=lambda: withheld,
    )  # fmt: skip
    handler._groups.read(SUBJECT)
    call = Call(HEARTBEAT, Principal(token), path={"agent_id": AGENT}, body=body)
    asyncio.run(handler.heartbeat(call))


def nothing_is_granted_while_leases_are_withheld(module: ModuleType) -> None:
    bench = standing()
    bench.now += 100
    with pytest.raises(Refusal) as refused:
        heartbeat(bench, module, "the database was restored")
    assert refused.value.code is Code.RECOVERING
    row = next(row for row in bench.store.look(SUBJECT).rows if row.instance_id == "i-1")
    assert row.lease_until_s <= bench.now, "no answer told of a lease, and the database holds one"
    assert row.report.position == "late news", "what it reports says who served last"


def test_nothing_is_granted_while_leases_are_withheld() -> None:
    nothing_is_granted_while_leases_are_withheld(beats)
    bench = standing()
    bench.now += 100
    heartbeat(bench, beats, "")
    assert bench.store.look(SUBJECT).rows[0].lease_until_s > bench.now, "and else it is"


VARIANTS = {
    "H30: a server that withholds leases lets the database grant them": (
        "holdfast.server.beats", {"            beat = replace(beat, withheld=True)\n": "            pass\n"}
    ),
    "H30: a heartbeat from which leases are withheld is granted one": (
        "holdfast.failover.ports", {"watchdog_ok and not self.withheld": "watchdog_ok"}
    ),
}  # fmt: skip


@pytest.mark.parametrize("title", VARIANTS)
def test_the_story_notices(title: str) -> None:
    name, changes = VARIANTS[title]
    variant = broken(name, changes)
    also = {} if name == beats.__name__ else {name: variant}
    module = variant if name == beats.__name__ else broken(beats.__name__, {}, also=also)

    with pytest.raises(AssertionError, match="the database holds one"):
        nothing_is_granted_while_leases_are_withheld(module)

    prove("variant", title, caught_by="nothing is granted while leases are withheld")
