"""Rules of the designs, each taken alone: here another rule that would hide its absence is out of the way."""

from dataclasses import replace
from typing import Any

from holdfast.adapters.aws.dynamodb import DynamoItems
from holdfast.autoscaler.codec import CODEC
from holdfast.autoscaler.decide import Hold, book, decide, is_idle
from holdfast.autoscaler.reasons import Reason
from holdfast.autoscaler.record import Cluster, ScaleDown, Status, Target
from holdfast.autoscaler.scale_down.action import DRAIN_SLACK_S, proceed
from holdfast.kernel import Event, Versioned, Write
from holdfast.kernel.event import EVENTS_KEPT_S
from tests.autoscaler.unit.snapshots import NOW_S, SETTINGS, snapshot, worker

THREE = (worker("i-1"), worker("i-2", "b"), worker("i-3"))
LONG_AGO = int(NOW_S) - 5_000
LEAN = replace(SETTINGS, min_workers=1, drain_timeout_s=300, scale_down_stuck_s=900)


def test_the_fleet_is_not_idle_while_pods_wait_however_little_there_is_to_do() -> None:
    """Otherwise the idle time would run while they wait, and a scale-down begin once they have room."""
    waiting = snapshot(*THREE, cpu=0.1, pending=1)
    assert not is_idle(waiting, SETTINGS)

    noted = book(Cluster(idle_since_s=LONG_AGO), waiting, Hold(Reason.AT_MINIMUM, "x"), SETTINGS, NOW_S)

    assert noted is not None
    assert noted.value.idle_since_s == 0


def test_a_stamp_from_the_future_cools_down_from_now() -> None:
    future = int(NOW_S) + 86_400
    scaled_up = Cluster(pending_since_s=LONG_AGO, last_up_s=future)
    cooling = Cluster(idle_since_s=LONG_AGO, last_scale_s=future)

    assert "cooling down" in decide(scaled_up, snapshot(*THREE, pending=3), SETTINGS, NOW_S).why
    assert "cooling down" in decide(cooling, snapshot(*THREE, cpu=0.1), SETTINGS, NOW_S).why


def scaling_down(status: Status, for_s: int) -> Cluster:
    return Cluster(scale_down=ScaleDown("1-req-0", 10_000 - for_s, (Target("i-1", status),)))


def told(cluster: Cluster) -> list[tuple[str, str]]:
    assert cluster.scale_down is not None
    ahead = proceed(cluster, cluster.scale_down, snapshot(*THREE), LEAN, 10_000.0)
    return [(event.kind, event.reason) for event in ahead.events] if isinstance(ahead, Write) else []


def test_a_drain_that_is_never_finished_is_over_long_before_the_action_is_stuck() -> None:
    limit_s = LEAN.drain_timeout_s + DRAIN_SLACK_S

    assert told(scaling_down(Status.PLANNED, limit_s)) == []
    assert told(scaling_down(Status.PLANNED, limit_s + 1)) == [("drainSkipped", "not drained within 300 s")]


def test_a_stuck_action_condemns_no_node_any_more_not_even_a_drained_one() -> None:
    ((kind, _),) = told(scaling_down(Status.DRAINED, 899))
    assert kind == "terminating"

    assert told(scaling_down(Status.DRAINED, 901)) == [("drainSkipped", "stuck for 901 s")]


class Wire:
    """Takes what is sent to DynamoDB, and keeps it."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def transact_write_items(self, **request: Any) -> dict[str, Any]:
        self.sent += request["TransactItems"]
        return {}


def test_every_event_is_a_row_of_its_own_that_expires() -> None:
    wire: Any = Wire()
    store = DynamoItems(
        wire, CODEC, table="state", key="pk", events_table="logs", events_kept_s=EVENTS_KEPT_S
    )
    events = tuple(Event("drainSkipped", NOW_S, f"i-{n}") for n in range(3))

    store.commit(
        "cluster", Versioned(Cluster(), 0, ""), Write(replace(Cluster(), worker_count=1), events), "c-1"
    )

    rows = [each["Put"]["Item"] for each in wire.sent if "Put" in each]
    assert len({row["sk"]["S"] for row in rows}) == 3
    assert {row["expiresEpoch"]["N"] for row in rows} == {str(int(NOW_S) + EVENTS_KEPT_S)}
    (record,) = (each["Update"] for each in wire.sent if "Update" in each)
    assert record["Key"] == {"pk": {"S": "cluster"}}
