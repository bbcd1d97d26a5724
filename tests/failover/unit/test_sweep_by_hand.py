"""An operator's sweep: what is due now is named, and driven on; a dry run only names it."""

from types import SimpleNamespace
from typing import Any

from holdfast.failover.group import GroupSettings
from holdfast.failover.roles import Status
from holdfast.failover.rules.rule import Situation
from holdfast.failover.workflow import workflow
from holdfast.server.desk.sweeping import sweep
from tests.failover.model.bench import AGENT, CLIENT, SUBJECT, Bench
from tests.failover.model.machine_promises import CLOUD, machines
from tests.failover.model.promises import take

KEPT_S = 3_600.0


def with_a_zombie() -> Bench:
    settings = GroupSettings(standbys=0, auto_terminate=False, zombie_retention_s=KEPT_S)
    made = machines(workflow, settings=settings)
    take(made)
    made.live(5)
    assert made.status("i-1") is Status.ZOMBIE
    return made


def swept(made: Bench, *, dry_run: bool = False) -> tuple[Any, list[str]]:
    """The answer, and the groups that were driven on."""
    driven: list[str] = []
    context: Any = SimpleNamespace(
        tenants=SimpleNamespace(agents=lambda client_id: [AGENT] if client_id == CLIENT else []),
        read=lambda client_id, agent_id: made.store.read(SUBJECT),
        situation=lambda group: Situation(group, made.seen(), made.now, CLOUD),
        changed=lambda subject, found: driven.append(subject),
    )
    call: Any = SimpleNamespace(client_id=CLIENT, body=SimpleNamespace(dry_run=dry_run))
    return sweep(context, call), driven


def test_a_zombie_is_counted_and_not_due_before_its_retention_is_over() -> None:
    made = with_a_zombie()
    assert swept(made) == ({"due": [], "zombies": 1, "terminating": 0, "dry_run": False}, [])


def test_what_is_due_is_named_and_driven_on_and_a_dry_run_only_names_it() -> None:
    made = with_a_zombie()
    made.now = made.member("i-1").demoted_at_s + KEPT_S
    due = [{"agent_id": AGENT, "instance_id": "i-1", "reason": f"kept for {KEPT_S / 86_400:g} days"}]
    assert swept(made, dry_run=True) == (
        {"due": due, "zombies": 1, "terminating": 0, "dry_run": True},
        [],
    )
    answer, driven = swept(made)
    assert (answer["due"], driven) == (due, [SUBJECT])


def test_another_clients_groups_are_not_swept() -> None:
    made = with_a_zombie()
    call: Any = SimpleNamespace(client_id="other", body=SimpleNamespace(dry_run=False))
    context: Any = SimpleNamespace(tenants=SimpleNamespace(agents=lambda client_id: []))
    assert sweep(context, call) == {"due": [], "zombies": 0, "terminating": 0, "dry_run": False}
    assert made.status("i-1") is Status.ZOMBIE
