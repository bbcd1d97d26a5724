"""What it is doing, why, and what it costs: summed up from one record and one look."""

from dataclasses import replace

from holdfast.autoscaler.record import (
    Cluster,
    Condemned,
    Interrupted,
    Launch,
    LaunchStatus,
    Missing,
    PoolFailure,
    Recent,
    ScaleDown,
    ScaleUp,
    Skip,
    Status,
    Target,
    Unavailable,
)
from holdfast.autoscaler.report.account import account
from holdfast.autoscaler.report.status import status
from holdfast.autoscaler.snapshot.build import build
from holdfast.cloud import Market, NoticeKind, State
from tests.workloads import instance, listings, node, pending, settings

NOW = 100_000.0
THREE = tuple(node(f"n-{n}", zone=zone) for n, zone in enumerate("abc"))


def test_an_open_scale_up_says_how_far_it_is() -> None:
    answered = Launch(1, 1, "default", "a", "subnet-a", Market.SPOT, "t3.medium", "lt-1", 1, 2)
    up = ScaleUp(
        "99940-req", int(NOW) - 60, 2, reason="pods are pending", joined=("i-9",),
        launches=(replace(answered, status=LaunchStatus.ANSWERED, instance_ids=("i-8", "i-9")),),
    )  # fmt: skip

    found = status(Cluster(scale_up=up), build(listings(*THREE)), settings(), NOW)

    assert found.doing == "scaling up: 2 requested, 2 launched, 1 joined"
    assert found.why == "pods are pending"
    assert found.action is not None
    assert (found.action.action_id, found.action.lasted_s) == ("99940-req", 60)


def test_an_open_scale_down_names_its_targets() -> None:
    down = ScaleDown("99940-req", int(NOW) - 60, (Target("i-0", Status.DRAINED), Target("i-1")))

    found = status(Cluster(scale_down=down), build(listings(*THREE)), settings(), NOW)

    assert found.doing == "scaling down: DRAINING, i-0 drained, i-1 planned"
    assert [(w.instance_id, w.state) for w in found.workers][:2] == [("i-0", "draining"), ("i-1", "draining")]


def test_what_is_wanted_and_cannot_be_begun_is_a_hold_with_the_reason() -> None:
    spent = settings(launches_per_hour_max=1, max_workers=50)
    look = listings(*THREE, pods=[pending(f"web-{n}", cpu="1900m") for n in range(9)], settings=spent)
    snapshot = replace(build(look), digests={"default": "d"})
    waiting = Cluster(
        pending_since_s=1, pool_failures=(PoolFailure("default", 3, int(NOW) + 60, "no image"),)
    )

    found = status(waiting, snapshot, spent, NOW)

    assert found.decision == "hold"
    assert "backing off after failed scale-ups" in found.why
    assert [(each.in_s, each.what, each.why) for each in found.soon] == [
        (60, "pool default is tried again", "no image")
    ]


def test_what_comes_by_itself_is_told_soonest_first() -> None:
    cluster = Cluster(
        paused_until_s=int(NOW) + 500, paused_why="load test",
        interrupted=(Interrupted("i-0", NoticeKind.INTERRUPTION, 0, int(NOW) + 90),),
        skipped=(Skip("i-1", "shop/db", int(NOW) + 300), Skip("i-2", "old", int(NOW) - 1)),
        unavailable=(Unavailable("spot/t3.medium/a", int(NOW) + 100, "no capacity"),),
        last_scale_s=int(NOW) - 400, last_up_s=int(NOW) - 100,
    )  # fmt: skip

    found = status(cluster, build(listings(*THREE)), settings(), NOW)

    assert [(each.in_s, each.what) for each in found.soon] == [
        (90, "i-0 is taken back"),
        (100, "spot/t3.medium/a may be asked for again"),
        (200, "it may scale down again"),
        (200, "it may scale up again"),
        (300, "i-1 may be tried again"),
        (500, "the pause ends"),
    ]
    assert found.mode == "paused"
    assert found.doing == "1 spot interruption: 1 undecided; draining"


def test_a_machine_that_is_over_is_no_worker_however_long_it_is_listed() -> None:
    machines = [instance("i-0", zone="a"), instance("i-over", state=State.TERMINATED)]

    found = status(Cluster(), build(listings(THREE[0], instances=machines)), settings(), NOW)

    assert [worker.instance_id for worker in found.workers] == ["i-0"]


def test_json_can_be_written() -> None:
    import json

    found = status(Cluster(), build(listings(*THREE)), settings(observe=True), NOW)

    assert json.loads(json.dumps(found.as_json()))["mode"] == "observe"


def test_everything_is_accounted_for() -> None:
    machines = [
        *(instance(f"i-{n}", zone=zone) for n, zone in enumerate("abc")),
        instance("i-new", launched_s=int(NOW) - 100),
        instance("i-named", launched_s=int(NOW) - 100),
        instance("i-dying"),
        instance("i-stopped", state=State.STOPPED),
        instance("i-foreign", action_id=""),
        instance("i-over", state=State.TERMINATED),
    ]
    look = listings(
        *THREE,
        node("n-over", ready=False),
        node("n-lost", ready=False),
        node("n-5", instance_id="i-foreign", cordon_owners=["90-old"]),
        instances=machines,
    )
    cluster = Cluster(
        recent=(Recent("i-named", "default", "a", 0),),
        condemned=(Condemned("i-dying", "90-old-2", "surplus", 0),),
        missing=(Missing("i-lost", int(NOW) - 200),),
    )

    found = account(cluster, build(look), settings(sweep_after_s=900), NOW)

    assert (found.owned, found.foreign) == (4, 1)
    assert {(each.what, each.name): each.fate for each in found.found} == {
        ("machine", "i-new"): "is adopted if it is needed, else ended, in 13m20s at the latest",
        ("machine", "i-dying"): "is ended again and again until that is confirmed",
        ("machine", "i-stopped"): "is ended now",
        ("node", "n-over"): "is deleted",
        ("node", "n-lost"): "is deleted if it is still missing in 1m40s",
        ("cordon", "i-foreign"): "is lifted",
    }


def test_a_machine_whose_node_is_gone_or_never_came_is_not_starting() -> None:
    young = instance("i-8", launched_s=int(NOW) - 20, state=State.PENDING)
    phantoms = [instance(f"i-{n}", launched_s=int(NOW) - 9_000) for n in (6, 7)]
    three = [instance(f"i-{n}", zone=zone) for n, zone in enumerate("abc")]
    seen = build(listings(*THREE, instances=(*three, young, *phantoms), at_s=NOW))

    found = status(Cluster(joined=("i-6",)), seen, settings(), NOW)

    assert (found.serving, found.starting, found.without_node) == (3, 1, 2)
    states = {member.instance_id: member.state for member in found.workers}
    assert (states["i-6"], states["i-7"], states["i-8"]) == ("not-ready", "not-ready", "joining")
