"""MariaDB renews a batch by statements of its own: each of their guards is taken out once."""

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from holdfast.adapters.sql.groups import SqlGroupStore
from holdfast.failover.ports import Term
from holdfast.kernel import HoldfastError
from holdfast.testing import group_contract as contract
from holdfast.testing.group_case import GroupTrial
from tests.adapters.contract.sql_trials import SqlStoreTrial
from tests.proof import prove
from tests.real.product.databases.groups_there import TERM, Groups
from tests.real.product.databases.servers import ON_MARIADB, Server

GUARDS: list[tuple[str, str, str, str, Callable[[GroupTrial], None]]] = [
    (
        "H2: a lease is renewed in an ended epoch",
        "renew_rows",
        "AND i.epoch = b.epoch ",
        "",
        contract.a_stale_epoch_is_not_renewed,
    ),
    (
        "H2: a lease is renewed for what is no primary",
        "renew_rows",
        "IF(i.is_primary AND ",
        "IF(",
        contract.a_lease_is_granted_to_the_holder_of_the_epoch_alone,
    ),
    (
        "H40: any session writes",
        "renew_rows",
        " AND i.session = b.session",
        "",
        contract.another_session_gets_nothing_and_stores_nothing,
    ),
    (
        "H40: any session is answered",
        "lock_beats",
        " AND i.session = b.session",
        "",
        contract.another_session_gets_nothing_and_stores_nothing,
    ),
    (
        "H43: a lease without a watchdog",
        "renew_rows",
        " AND b.watchdog",
        "",
        contract.no_lease_without_a_watchdog,
    ),
    (
        "H41: a sibling's heartbeat is written",
        "renew_rows",
        " AND i.agent_id = b.agent_id",
        "",
        contract.an_instance_has_one_agent_for_all_its_life,
    ),
    (
        "H41: a sibling's heartbeat is answered",
        "lock_beats",
        "i.agent_id = b.agent_id AND ",
        "",
        contract.an_instance_has_one_agent_for_all_its_life,
    ),
    (
        "H41: an instance id belongs to every tenant",
        "renew_rows",
        "i.client_id = b.client_id AND i.id = b.id AND i.agent_id = b.agent_id",
        "i.id = b.id",
        contract.an_instance_id_belongs_to_its_client,
    ),
    (
        "H46: a short lease ends the long one of a pause",
        "renew_rows",
        "greatest(i.lease_until_s, ",
        "greatest(0, ",
        contract.a_paused_group_gets_one_long_lease,
    ),
]


@ON_MARIADB
@pytest.mark.parametrize(
    ("name", "statement", "guard", "without", "promise"), GUARDS, ids=[each[0] for each in GUARDS]
)
def test_a_batch_without_its_guard_is_caught(
    server: Server,
    url: str,
    name: str,
    statement: str,
    guard: str,
    without: str,
    promise: Callable[[GroupTrial], None],
) -> None:
    class Changed(SqlStoreTrial):
        def open(self) -> SqlGroupStore:
            opened = super().open()
            texts = opened.database._texts
            assert texts[statement].count(guard) == 1, f"{statement} does not hold this guard once:\n{guard}"
            texts[statement] = texts[statement].replace(guard, without)
            return opened

    trial = Changed(lambda: server.dialect(url), time.sleep, Term(0.4))
    with pytest.raises((AssertionError, HoldfastError)):
        promise(trial)
    trial.close()
    prove("variant", f"{name}, {server.name}", caught_by=f"contract: {promise.__name__}")


@ON_MARIADB
def test_h46_what_is_left_of_a_pause_is_told_as_of_after_the_update(server: Server, url: str) -> None:
    """An update that took long has stored less of it than there was when its row was locked."""
    groups = Groups(server, url)
    texts = groups.database._texts
    texts["renew_rows"] = texts["renew_rows"].replace("= b.report", "= IF(SLEEP(0.5), '', b.report)")
    paused_until_s = groups.store.look(groups.subject()).now_s + 600
    groups.put(replace(groups.store.read(groups.subject()).value, paused_until_s=paused_until_s))

    asked_s = groups.store.look(groups.subject()).now_s
    (grant,) = groups.store.renew(groups.beats(), TERM)

    assert 500 < grant.lease_s <= paused_until_s - asked_s - 0.5
    assert grant.lease_s < groups.lease_s()
    groups.close()
