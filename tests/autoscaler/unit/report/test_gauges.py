"""Every figure that a monitor watches is there, and says what is so."""

from holdfast.autoscaler.ports import Load
from holdfast.autoscaler.record import (
    Cluster,
    Condemned,
    Interrupted,
    ScaleDown,
    Spent,
    Target,
    Tombstone,
)
from holdfast.autoscaler.report.gauges import STATES, counted, gauges, state_of
from holdfast.autoscaler.settings import Settings
from holdfast.autoscaler.snapshot import Snapshot, Worker
from holdfast.cloud import Instance, Market, NoticeKind, Offering, Prices, State
from holdfast.kernel import Event, Lock, Logged

NOW = 10_000.0


def worker(
    n: int,
    zone: str = "a",
    *,
    state: State = State.RUNNING,
    node: bool = True,
    ready: bool = True,
    joining: bool = False,
    cordoned: bool = False,
) -> Worker:
    return Worker(
        instance=Instance(f"i-{n}", state, zone, "t3.medium", Market.SPOT),
        node_name=f"node-{n}" if node else "",
        ready=ready and node,
        joining=joining,
        cordoned=cordoned,
    )


def one(name: str, cluster: Cluster, snapshot: Snapshot, **labels: str) -> float | None:
    found = [
        value
        for each, own, value, _ in gauges(cluster, snapshot, Settings(), NOW)
        if each == name and labels.items() <= own.items()
    ]
    return sum(found) if found else None


def test_workers_are_counted_by_pool_zone_and_state() -> None:
    snapshot = Snapshot(owner="me", workers=(worker(1), worker(2), worker(3, "b", node=False)))

    assert one("holdfast_workers", Cluster(), snapshot, zone="a", state="serving", pool="default") == 2
    assert one("holdfast_workers", Cluster(), snapshot, zone="b", state="joining") == 1
    assert one("holdfast_workers", Cluster(), snapshot) == 3


def test_each_worker_has_the_state_that_matters_most() -> None:
    cluster = Cluster(
        condemned=(Condemned("i-1", "a", "", 0),),
        interrupted=(
            Interrupted("i-1", NoticeKind.INTERRUPTION, 0, 0),
            Interrupted("i-2", NoticeKind.INTERRUPTION, 0, 0),
        ),
        scale_down=ScaleDown("a", 0, (Target("i-3"),)),
        gone=(Tombstone("i-8", 0),),
    )
    words = {
        worker(1): "terminating",
        worker(2): "interrupted",
        worker(3): "draining",
        worker(4, cordoned=True): "cordoned",
        worker(5, ready=False): "not-ready",
        worker(6, joining=True): "joining",
        worker(7, state=State.SHUTTING_DOWN): "leaving",
        worker(8): "leaving",
        worker(9): "serving",
    }

    assert {each: state_of(cluster, each) for each in words} == words
    assert set(words.values()) == set(STATES)


def test_the_rest_of_the_record_and_of_the_look_becomes_figures() -> None:
    cluster = Cluster(
        lock=Lock("req-1", NOW + 60),
        last_scale_s=int(NOW) - 90,
        spent=(Spent("a", int(NOW) - 10, 3), Spent("b", int(NOW) - 3_601, 5)),
        hold_code="LoadUnknown",
        hold_reason="the load is not known: no answer from 10.0.0.1",
        paused_until_s=int(NOW) + 5,
        scale_down=ScaleDown("a", int(NOW) - 30, (Target("i-1"),)),
    )
    prices = Prices({Offering("a", Market.SPOT, "t3.medium"): 0.0125})
    snapshot = Snapshot(owner="me", workers=(worker(1), worker(2)), pending=4, load=Load(0.5), prices=prices)

    assert one("holdfast_lock_held", cluster, snapshot) == 1
    assert one("holdfast_paused", cluster, snapshot) == 1
    assert one("holdfast_seconds_since_last_scale", cluster, snapshot) == 90
    assert one("holdfast_launches_last_hour", cluster, snapshot) == 3
    assert one("holdfast_hold", cluster, snapshot, reason="LoadUnknown") == 1
    assert one("holdfast_scaling_in_progress", cluster, snapshot, direction="down") == 1
    assert one("holdfast_scaling_in_progress", cluster, snapshot, direction="up") == 0
    assert one("holdfast_action_seconds", cluster, snapshot, direction="down") == 30
    assert one("holdfast_pending_pods", cluster, snapshot) == 4
    assert one("holdfast_cpu", cluster, snapshot) == 0.5
    assert one("holdfast_usd_per_hour", cluster, snapshot) == 0.025


def test_what_is_not_known_is_left_out_and_not_zero() -> None:
    snapshot = Snapshot(owner="me", workers=(worker(1),))

    assert one("holdfast_cpu", Cluster(), snapshot) is None
    assert one("holdfast_usd_per_hour", Cluster(), snapshot) is None
    assert one("holdfast_seconds_since_last_scale", Cluster(), snapshot) is None
    assert one("holdfast_lock_held", Cluster(lock=Lock("old", NOW - 1)), snapshot) == 0


def test_names_have_one_meaning_and_one_set_of_labels() -> None:
    cluster = Cluster(hold_code="AtMinimum", last_scale_s=1)
    snapshot = Snapshot(owner="me", workers=(worker(1), worker(2, "b")), load=Load(0.1))
    means: dict[str, tuple[str, frozenset[str]]] = {}

    for name, labels, _, help_text in gauges(cluster, snapshot, Settings(), NOW):
        assert name.startswith("holdfast_")
        assert labels["cluster"] == "k3s-autoscaler"
        assert means.setdefault(name, (help_text, frozenset(labels))) == (help_text, frozenset(labels))


def test_events_are_counted_by_kind() -> None:
    events = [
        Logged("cluster", n, 0, "c", Event(kind, 1.0))
        for n, kind in enumerate(["drainSkipped", "drained", "drainSkipped"])
    ]

    assert counted(events) == {"drainSkipped": 2, "drained": 1}


def test_what_an_operator_must_mend_is_counted() -> None:
    protected = Condemned("i-1", "1-a", "scale-down", 1, refused=1, retry_s=2)
    asked_once = Condemned("i-2", "1-a", "scale-down", 1)
    cluster = Cluster(condemned=(protected, asked_once), refused_uid="another")
    seen = Snapshot(owner="me", pool_problems={"gpu": "no image"}, troubles=("the budgets cannot be listed",))

    assert one("holdfast_problems", cluster, seen) == 2
    assert one("holdfast_troubles", cluster, seen) == 2
