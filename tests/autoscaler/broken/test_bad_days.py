"""Days on which the listings are wrong altogether: nothing that serves is ended because of them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from holdfast.autoscaler import decide, interruption, record, sweep, workflow
from holdfast.autoscaler.ports import DeleteNode, Terminate
from holdfast.autoscaler.reasons import Reason
from holdfast.autoscaler.record import (
    Cluster,
    Condemned,
    Interrupted,
    Launch,
    LaunchStatus,
    Missing,
    ScaleUp,
    Tombstone,
)
from holdfast.autoscaler.scale_down import action as scale_down
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Need
from holdfast.autoscaler.snapshot import build as shipped
from holdfast.cloud import Instance, Market, NoticeKind, State, machines
from holdfast.cloud.kubernetes import KubeNode
from holdfast.cloud.launches import NOT_ENDED, Termination
from holdfast.kernel import Do, Happened, Write
from tests.autoscaler.unit.snapshots import snapshot, worker
from tests.proof import prove
from tests.variants import autoscaler_without, broken
from tests.workloads import instance, node

NOW_S = 100_000.0
LONG_AGO_S = 1_000
MINUTES = 90
"""So long each bad day is watched, a tick a minute."""
SETTINGS = Settings(min_workers=2, max_workers=40)
MACHINES = [instance(f"i-{n}", zone="abc"[n % 3], launched_s=int(NOW_S) - 900) for n in range(30)]
NODES = [node(f"n-{n}", zone="abc"[n % 3]) for n in range(30)]
JOINED = Cluster(cluster_uid="ours", joined=tuple(f"i-{n}" for n in range(30)), joined_since_s=LONG_AGO_S)
STEPS_MAX = 50


def a_day(
    machines: Sequence[Instance],
    nodes: Sequence[KubeNode],
    cluster: Cluster = JOINED,
    *,
    uid: str = "ours",
    minutes: int = MINUTES,
    built: Any = shipped,
    whole: Any = workflow,
) -> list[str]:
    """What is ended or deleted if every look of so many minutes shows the same."""
    ended: dict[str, None] = {}
    for minute in range(minutes):
        now_s = NOW_S + 60 * minute
        for _ in range(STEPS_MAX):
            seen = built.build(
                built.Listings(
                    instances=machines,
                    nodes=nodes,
                    settings=SETTINGS,
                    at_s=now_s,
                    cluster=cluster,
                    cluster_uid=uid,
                )
            )
            ahead = whole.workflow(SETTINGS).step(cluster, seen, now_s)
            if not isinstance(ahead, Write):
                break
            cluster = ahead.value
        if isinstance(ahead, Do):
            taken = [each for each in ahead.effects if isinstance(each, Terminate | DeleteNode)]
            ended |= dict.fromkeys(each.instance_id for each in taken)
            dead = [each.instance_id for each in taken if isinstance(each, Terminate)]
            cluster = _noted(cluster, dead, now_s)
    return sorted({*ended, *(one.instance_id for one in cluster.condemned)})


def _noted(cluster: Cluster, ended: Sequence[str], now_s: float) -> Cluster:
    """The cloud has ended them, and that is in the record; listings still show them."""
    left = tuple(one for one in cluster.condemned if one.instance_id not in ended)
    stones = tuple(Tombstone(instance_id, int(now_s)) for instance_id in ended)
    return replace(cluster, condemned=left, gone=(*cluster.gone, *stones))


def no_machine_ends_for_missing_nodes(built: Any) -> None:
    """The kubeconfig points at another cluster, or the API answers with empty lists."""
    assert a_day(MACHINES, [], built=built) == []
    assert a_day(MACHINES, NODES[:15], built=built) == []
    assert a_day(MACHINES, NODES[:26], built=built) == [], "four of thirty are more than a small share"
    assert a_day(MACHINES[:2], [], built=built) == []
    assert a_day(MACHINES, [], Cluster(), built=built) == [], "a record that knows nothing"


def what_never_joined_waits_while_lists_are_wrong(built: Any) -> None:
    """A scale-up is open, and the API answers with empty lists: its machines may have joined long ago."""
    row = Launch(1, 1, "default", "a", "s-a", Market.SPOT, "t3.medium", "lt-1", 1, 1, at_s=int(NOW_S) - 900)
    answered = replace(row, status=LaunchStatus.ANSWERED, instance_ids=("i-new",))
    young = instance("i-new", launched_s=int(NOW_S) - 800, action_id="1-up")
    up = ScaleUp("1-up", int(NOW_S) - 900, 1, (answered,))
    one = replace(JOINED, joined=("i-0",), scale_up=up)
    assert a_day([MACHINES[0], young], [], one, built=built, minutes=30) == []
    assert a_day([MACHINES[0], young], NODES[:1], one, built=built, minutes=5) == ["i-new"]


def no_node_goes_for_missing_machines(built: Any) -> None:
    """Another region, or tags that were changed: the nodes are Ready, and the machines are not listed."""
    missing = tuple(Missing(f"i-{n}", LONG_AGO_S) for n in range(30))
    assert a_day([], NODES, replace(JOINED, missing=missing), built=built) == []


def what_joined_is_no_surplus(whole: Any) -> None:
    """A node is deleted by hand: its machine took pods a moment ago, and may come back."""
    assert a_day(MACHINES, NODES[1:], minutes=4, whole=whole) == []
    assert a_day(MACHINES, NODES[1:], whole=whole) == ["i-0"], "it does not come back"


def the_sweep_has_an_hour_of_patience(whole: Any) -> None:
    """Whatever made so many look forgotten, no more than a few are ended within an hour."""
    surplus = [instance(f"i-late-{n}", launched_s=int(NOW_S) - 900) for n in range(60)]
    assert 0 < len(a_day([*MACHINES, *surplus], NODES, minutes=59, whole=whole)) <= SETTINGS.sweep_per_hour


def another_cluster_is_left_alone(whole: Any) -> None:
    """Two clusters of one name: the nodes there look right, and even one of our machines has none."""
    late = instance("i-late", launched_s=int(NOW_S) - 9_000)
    assert a_day([*MACHINES, late], NODES, whole=whole) == ["i-late"], "it is a surplus here"
    assert a_day([*MACHINES, late], NODES, uid="another", whole=whole) == []


def a_forged_tag_ends_nothing(module: Any) -> None:
    """A machine of another team that was given our tags, and one whose action was rewritten."""
    forged = instance("i-database", token="", launched_s=1)
    copied = instance("i-copied", action_id="1-other", token=forged.token, launched_s=1)
    borrowed = instance("i-borrowed", action_id="2000-req-9", token=MACHINES[0].token, launched_s=1)
    for each in (forged, copied, borrowed):
        assert not module.Instance(**{name: getattr(each, name) for name in each.__slots__}).is_ours
    assert module.Instance(**{name: getattr(MACHINES[0], name) for name in MACHINES[0].__slots__}).is_ours


def a_machine_lives_while_a_node_bears_its_name(built: Any) -> None:
    """An own launch template, a plain k3s agent: the node says k3s://…, and never who it is."""
    machine = instance(
        "i-own",
        launched_s=int(NOW_S) - 9_000,
        private_ip="10.0.1.5",
        private_dns="ip-10-0-1-5.eu-central-1.compute.internal",
    )
    for called in ("ip-10-0-1-5", "ip-10-0-1-5.eu-central-1.compute.internal"):
        assert a_day([*MACHINES, machine], [*NODES, node(called, instance_id="-")], built=built) == []
    assert a_day([*MACHINES, machine], NODES, built=built) == ["i-own"]


def a_ready_node_stays(deletes: Any) -> None:
    """One machine is not listed any more, and its node is Ready: the listing is wrong, not the node."""
    snapshot = shipped.build(
        shipped.Listings(instances=MACHINES[1:], nodes=NODES, settings=SETTINGS, at_s=NOW_S)
    )
    cluster = Cluster(missing=(Missing("i-0", LONG_AGO_S),))
    assert deletes.effects(cluster, snapshot, SETTINGS, NOW_S) == ()
    gone = [instance("i-0", state=State.TERMINATED), *MACHINES[1:]]
    listed = shipped.build(shipped.Listings(instances=gone, nodes=NODES, settings=SETTINGS, at_s=NOW_S))
    assert deletes.effects(cluster, listed, SETTINGS, NOW_S) == ()


def a_loss_is_made_good_once(module: Any) -> None:
    """A machine died, a new one was asked for, and only then its notice came: the fleet is full already."""
    gone = Interrupted("i-9", NoticeKind.GONE, int(NOW_S) - 60, int(NOW_S) - 60)
    full = Settings(min_workers=1, max_workers=3)
    crowded = snapshot(*(worker(f"i-{n}") for n in (1, 2, 3)), fits_without=lambda *_: "no room")
    cluster = Cluster(interrupted=(gone,))
    assert module.needed(cluster, crowded, cluster.interrupted, full) == ([], [gone])
    roomy = replace(full, max_workers=4)
    assert module.needed(cluster, crowded, cluster.interrupted, roomy) == ([gone], [])


def pods_get_no_more_than_the_maximum_while_a_listing_is_in_doubt(module: Any) -> None:
    """No machine is listed, their nodes are Ready, and one kubelet is late at this very look."""
    late = [node(f"n-{n}", ready=n > 0) for n in range(4)]
    full = Settings(min_workers=1, max_workers=4)
    seen = shipped.build(shipped.Listings(nodes=late, settings=full, at_s=NOW_S, cluster=JOINED))
    wanted = replace(seen, pending=1, needs=lambda _: (Need("default", 1),))
    waits = replace(JOINED, pending_since_s=LONG_AGO_S)
    assert module.decide(waits, wanted, full, NOW_S).code == Reason.AT_MAXIMUM


def two_actions_have_two_ids(module: Any) -> None:
    """A tick ends one action and begins the next within a second, on one look."""
    first = module.Cluster().next_action_id("req-1", NOW_S)
    assert module.Cluster(last_action_id=first).next_action_id("req-1", NOW_S) != first


def a_protected_machine_is_asked_for_ever_more_rarely(module: Any) -> None:
    """Termination protection, or tags that were changed so that the role may not: EC2 refuses each time."""
    for said in NOT_ENDED:
        _asked_ever_more_rarely(module, said)


def _asked_ever_more_rarely(module: Any, said: Termination) -> None:
    cluster, asked_s = Cluster(condemned=(Condemned("i-1", "1-a", "scale-down", int(NOW_S)),)), list[float]()
    seen = snapshot(worker("i-1", cordoned=True), worker("i-2"), worker("i-3"))
    for second in range(0, 3_600, 5):
        now_s = NOW_S + second
        due = [each for each in sweep.effects(cluster, seen, SETTINGS, now_s) if isinstance(each, Terminate)]
        for each in due:
            asked_s.append(now_s)
            noted = module.settle(cluster, each, Happened(said), SETTINGS, now_s)
            cluster = noted.value if noted is not None else cluster
    assert 3 <= len(asked_s) <= 10, f"{len(asked_s)} calls an hour"
    assert cluster.condemned[0].refused == len(asked_s)


CLAIMS = {
    a_protected_machine_is_asked_for_ever_more_rarely: scale_down,
    what_joined_is_no_surplus: workflow,
    the_sweep_has_an_hour_of_patience: workflow,
    another_cluster_is_left_alone: workflow,
    a_forged_tag_ends_nothing: machines,
    a_machine_lives_while_a_node_bears_its_name: shipped,
    two_actions_have_two_ids: record,
    pods_get_no_more_than_the_maximum_while_a_listing_is_in_doubt: decide,
    a_loss_is_made_good_once: interruption,
    no_machine_ends_for_missing_nodes: shipped,
    what_never_joined_waits_while_lists_are_wrong: shipped,
    no_node_goes_for_missing_machines: shipped,
    a_ready_node_stays: sweep,
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_shipped_one_ends_nothing(claim: Any) -> None:
    assert claim(CLAIMS[claim]) is None


def test_a_single_surplus_is_still_swept() -> None:
    late = instance("i-late", launched_s=int(NOW_S) - 900)
    assert a_day([*MACHINES, late], NODES, minutes=1) == ["i-late"]


def test_what_it_looks_like_is_said() -> None:
    seen = shipped.build(shipped.Listings(instances=MACHINES, settings=SETTINGS, at_s=NOW_S, cluster=JOINED))
    assert seen.troubles == (
        "the API lists no node at all: another cluster behind the kubeconfig, or lost data",
        "30 of 30 machines have no node at once: another cluster behind the kubeconfig, nodes that were "
        "deleted, or machines that were stopped",
    )
    foreign = shipped.build(shipped.Listings(nodes=NODES, settings=SETTINGS, at_s=NOW_S))
    assert foreign.troubles == (
        "30 Ready nodes have no listed machine at once: another region, or tags that were changed",
    )


VARIANTS = {
    "S-A1: two actions of one second share an id": (
        "holdfast.autoscaler.record",
        {'            return f"{first}.2"\n': "            return first\n"},
        two_actions_have_two_ids,
    ),
    "H4: a kubelet that is late while no machine is listed makes room for another": (
        "holdfast.autoscaler.decide",
        {"settings.max_workers - possible_size(": "settings.max_workers - size("},
        pods_get_no_more_than_the_maximum_while_a_listing_is_in_doubt,
    ),
    "bad day: a loss is made good again when its notice comes late": (
        "holdfast.autoscaler.interruption",
        {"        if full or (above_floor": "        if (above_floor"},
        a_loss_is_made_good_once,
    ),
    "S-A9: a Ready node is deleted because its machine is not listed": (
        "holdfast.autoscaler.sweep",
        {"        if ghost.ready:\n": "        if False:\n"},
        a_ready_node_stays,
    ),
    "S-A9: a machine is ended because its tags name an action of ours": (
        "holdfast.cloud.machines",
        {"bool(self.action_id) and is_token_of(self.token, self.action_id)": "bool(self.action_id)"},
        a_forged_tag_ends_nothing,
    ),
    "S-A9: a machine is ended though a node bears its name": (
        "holdfast.autoscaler.snapshot.build",
        {"namesake=namesake)": ")"},
        a_machine_lives_while_a_node_bears_its_name,
    ),
    "bad day: a protected machine is asked to end without a pause": (
        "holdfast.autoscaler.scale_down.action",
        {"            one = replace(one, refused=refused, retry_s=int(now_s) + wait_s)\n": ""},
        a_protected_machine_is_asked_for_ever_more_rarely,
    ),
}

BRAKES = {
    "S-A9: all machines without a node are swept as surplus": (
        {"    if _many(without_node, len(settled), settings.brake_absent_fraction):": "    if False:"},
        no_machine_ends_for_missing_nodes,
    ),
    "S-A9: an empty list of nodes is believed": (
        {"    if not nodes and _some_has_joined(workers, cluster):": "    if False:"},
        what_never_joined_waits_while_lists_are_wrong,
    ),
    "S-A9: only a third of the machines without a node is a trouble": (
        {"len(settled), settings.brake_absent_fraction": "len(settled), settings.brake_not_ready_fraction"},
        no_machine_ends_for_missing_nodes,
    ),
}
"""Guards of the brake."""

STRANGER = "    if identity.refusal(cluster, snapshot.cluster_uid):\n        return Done()\n    due"
WHOLES = {
    "S-A9: a machine that joined is a surplus when its node is gone": (
        {
            "sweep": {
                "    if joined.counts_as_joined(cluster, worker):\n        return joined.lost_its_node("
                "cluster, worker.instance_id, settings, now_s)\n": ""
            }
        },
        what_joined_is_no_surplus,
    ),
    "S-A9: the sweep has no budget for the hour": (
        {"sweep": {" or not joined.budget_left(cluster, settings, now_s)": ""}},
        the_sweep_has_an_hour_of_patience,
    ),
    "S-A9: another cluster behind the kubeconfig is taken for ours": (
        {"workflow": {STRANGER: "    if False:\n        return Done()\n    due"}},
        another_cluster_is_left_alone,
    ),
}
"""Guards of the whole workflow."""


@pytest.mark.parametrize("title", VARIANTS)
def test_a_bad_day_without(title: str) -> None:
    module, changes, claim = VARIANTS[title]
    with pytest.raises(AssertionError):
        claim(broken(module, changes))
    prove("variant", title, caught_by="a bad day")


@pytest.mark.parametrize("title", BRAKES)
def test_a_bad_day_without_the_brake(title: str) -> None:
    changes, claim = BRAKES[title]
    brake = broken("holdfast.autoscaler.snapshot.brake", changes)
    built = broken(
        "holdfast.autoscaler.snapshot.build", {}, also={"holdfast.autoscaler.snapshot.brake": brake}
    )
    with pytest.raises(AssertionError):
        claim(built)
    prove("variant", title, caught_by="a bad day")


@pytest.mark.parametrize("title", WHOLES)
def test_a_bad_day_of_the_whole_without(title: str) -> None:
    changes, claim = WHOLES[title]
    with pytest.raises(AssertionError):
        claim(autoscaler_without(changes))
    prove("variant", title, caught_by="a bad day")
