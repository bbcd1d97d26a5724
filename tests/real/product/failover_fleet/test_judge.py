"""The judge of the campaigns is shown machines that break the one promise, and says so."""

import shutil
from pathlib import Path

import pytest

import holdfast
from tests.proof import prove
from tests.real.product.failover_fleet import account
from tests.real.product.failover_fleet.campaign import MEMBERS, Campaign
from tests.real.product.failover_fleet.faults import agent_killed, cut_off
from tests.real.product.failover_fleet.fleet import Fleet, eventually
from tests.real.product.failover_fleet.ledger import Write, accidents, unrecorded
from tests.real.product.failover_fleet.network import Network

pytestmark = pytest.mark.waiting

WITHOUT_WATCHDOG = {"agent/watchdog.py": {"killed = self.protected.kill()": "killed = 0"}}
LATE = {
    "agent/loop.py": {"self.page.arm(until_s, epoch)": "self.page.arm(until_s + 1000, epoch)"},
    "failover/agent/lease.py": {"until_s = sent_s + lease_s": "until_s = sent_s + lease_s + 1000"},
}


def variant(folder: Path, changes: dict[str, dict[str, str]]) -> dict[str, str]:
    """An agent with a guard taken out: what its environment must say."""
    shutil.copytree(Path(holdfast.__file__).parent, folder / "holdfast")
    for name, guards in changes.items():
        path = folder / "holdfast" / name
        source = path.read_text()
        for guard, without in guards.items():
            assert source.count(guard) == 1, f"{name} holds this guard {source.count(guard)} times: {guard}"
            source = source.replace(guard, without)
        path.write_text(source)
    return {"PYTHONPATH": str(folder)}


def test_machines_that_serve_for_too_long_are_caught(network: Network, tmp_path: Path) -> None:
    fleet = Fleet(tmp_path, network, f"sqlite:{tmp_path}/failover.db", servers=1)
    campaign = Campaign(fleet)
    cases = {
        "watched-by-none": (variant(tmp_path / "dogless", WITHOUT_WATCHDOG), agent_killed),
        "late": (variant(tmp_path / "leaseless", LATE), cut_off),
    }
    try:
        groups = {name: fleet.group(name) for name in cases}
        for name, (environ, _) in cases.items():
            for _ in range(MEMBERS):  # a promotion that fails on a busy machine leaves one more candidate
                fleet.launch(groups[name], blind=True, environ=environ)
        for name, (_, strike) in cases.items():
            strike(fleet, campaign.standing(groups[name]))
        for name, group in groups.items():
            both = lambda group=group: accidents(group.probe.acknowledged)  # noqa: E731
            eventually(both, f"two of {name} take writes")
        for name in cases:  # a client sees it before the ledgers' own times leave no doubt
            eventually(
                lambda name=name: any(f"{name}-" in found for found in account.two_served(fleet)),  # type: ignore[misc]
                f"the ledgers of {name} tell of two",
            )
    finally:
        fleet.close()
    prove("variant", "S-F1: a watchdog that kills nothing", caught_by="the ledgers of real services")
    prove(
        "variant", "S-F1: an agent that counts its lease too long", caught_by="the ledgers of real services"
    )


def test_what_counts_as_two_at_a_time() -> None:
    first, second = Write("a", 1, 1, 0.0, 1.0), Write("b", 2, 1, 2.0, 3.0)
    assert accidents([first, second]) == []
    assert accidents([first, Write("b", 1, 2, 2.0, 3.0)]), "one epoch, two instances"
    assert accidents([first, second, Write("a", 1, 2, 4.0, 5.0)]), "the old one goes on"
    assert accidents([Write("a", 1, 1, 0.0, 2.5), second]), "both at one moment"
    assert unrecorded([first], [second])
