"""A line of the embedded metric format says what CloudWatch needs, and nothing that it refuses."""

import json
import math
from typing import Any

from holdfast.adapters.aws.metrics import METRICS_A_LINE_MAX, Gauge, lines


def told(*gauges: Gauge, **more: Any) -> list[Any]:
    return [json.loads(line) for line in lines(gauges, at_s=1_769_860_800.25, **more)]


def test_a_line_carries_values_dimensions_and_time() -> None:
    (line,) = told(("workers", {"cluster": "a"}, 3, "Workers."), ("pending", {"cluster": "a"}, 0.5, "Pods."))
    assert line == {
        "_aws": {
            "Timestamp": 1_769_860_800_250,
            "CloudWatchMetrics": [
                {
                    "Namespace": "Holdfast",
                    "Dimensions": [["cluster"]],
                    "Metrics": [{"Name": "workers"}, {"Name": "pending"}],
                }
            ],
        },
        "cluster": "a",
        "workers": 3,
        "pending": 0.5,
    }


def test_each_set_of_labels_has_a_line_of_its_own() -> None:
    found = told(
        ("workers", {"zone": "a"}, 1, ""), ("workers", {"zone": "b"}, 2, ""), ("cost", {"zone": "a"}, 3, "")
    )
    assert [(line["zone"], line["workers"]) for line in found] == [("a", 1), ("b", 2)]
    assert found[0]["cost"] == 3
    assert "cost" not in found[1]


def test_a_value_that_is_no_number_is_left_out_and_the_others_stay() -> None:
    (line,) = told(("a", {}, math.nan, ""), ("b", {}, math.inf, ""), ("c", {}, 1, ""))
    assert line["_aws"]["CloudWatchMetrics"][0]["Metrics"] == [{"Name": "c"}]
    assert not {"a", "b"} & set(line)
    assert told(("a", {}, math.nan, "")) == []


def test_labels_without_a_value_are_no_dimension() -> None:
    (line,) = told(("a", {"pool": "", "zone": "z"}, 1, ""))
    assert line["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["zone"]]
    assert "pool" not in line


def test_a_line_holds_no_more_metrics_than_cloudwatch_takes() -> None:
    found = told(*((f"m{n}", {}, n, "") for n in range(METRICS_A_LINE_MAX + 5)))
    assert [len(line["_aws"]["CloudWatchMetrics"][0]["Metrics"]) for line in found] == [METRICS_A_LINE_MAX, 5]


def test_what_stands_beside_is_no_dimension() -> None:
    (line,) = told(("a", {"zone": "z"}, 1, ""), beside={"requestId": "r-1"}, namespace="Mine")
    assert line["requestId"] == "r-1"
    assert line["_aws"]["CloudWatchMetrics"][0]["Dimensions"] == [["zone"]]
    assert line["_aws"]["CloudWatchMetrics"][0]["Namespace"] == "Mine"


def test_a_line_is_one_line() -> None:
    assert all("\n" not in line for line in lines([("a", {"name": "x\ny"}, 1, "")], at_s=0))
