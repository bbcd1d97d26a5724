"""Scheduled ticks: a cluster scales up to its floor, then rests, and the function tells what it did."""

import re

from holdfast.cloud.kubernetes import INSTANCE_LABEL, JOINING_TAINT
from tests.real.product.lambda_handler.lab import SCHEDULED, Lab, lines


def test_the_floor_is_launched_boots_joins_and_is_admitted(lab: Lab) -> None:
    with lab.function(MIN_WORKERS="1") as function:
        rested = lab.tick_until_idle(function)
        (launch,) = lab.launches()
        (instance_id,) = launch["instances"]
        node = lab.site.cluster.request("GET", f"/api/v1/nodes/{instance_id}").ok()
        assert node["metadata"]["labels"][INSTANCE_LABEL] == instance_id
        assert JOINING_TAINT not in {taint["key"] for taint in node["spec"].get("taints", [])}
        assert rested["problems"] == []
        record = lab.record()
        assert not record.scaling_in_progress
        assert record.worker_count <= 1

        version = lab.version()
        assert function.invoke(SCHEDULED)["outcome"] == "idle"
        assert lab.version() == version, "a tick with nothing to do writes nothing"

        told = lines(function)
    requests = {line["requestId"] for line in told if "level" in line}
    kinds = [logged.event.kind for logged in lab.store.events("cluster")]
    assert {"beginScaleUp", "recordScaleUpInstances", "completeScaleUp"} <= set(kinds)
    (begun,) = (one.event for one in lab.store.events("cluster") if one.event.kind == "beginScaleUp")
    found = re.search(r"\d{10}-([0-9a-f-]{36})", f"{begun.about} {begun.reason}")
    assert found, begun
    assert found[1] in requests, "an action is named after the invocation that began it"
    figures = [line for line in told if "holdfast_fleet_size" in line]
    assert figures[-1]["holdfast_fleet_size"] == 1
    assert figures[-1]["cluster"] == lab.name


def test_a_cluster_without_anything_rests_at_once(lab: Lab) -> None:
    with lab.function() as function:
        answer = function.invoke(SCHEDULED)
        assert answer["outcome"] == "idle", answer
    assert lab.launches() == []


def test_in_observe_mode_the_wish_is_written_down_and_nothing_is_touched(lab: Lab) -> None:
    with lab.function(MIN_WORKERS="2", OBSERVE="true") as function:
        assert function.invoke(SCHEDULED)["outcome"] == "idle"
    assert lab.launches() == []
    assert "observing: would scale up by 2" in lab.record().hold_reason


def test_a_function_with_little_time_ends_by_itself(lab: Lab) -> None:
    with lab.function(MIN_WORKERS="1", timeout_s=12) as function:
        answer = function.invoke(SCHEDULED)
        assert "errorType" not in answer, "it was not ended by Lambda"
        assert answer["outcome"] in ("waiting", "out of time", "idle"), answer
