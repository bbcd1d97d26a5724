"""Alert rules: judged by promtool against made-up series, and by a running Prometheus."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.real.presence import present
from tests.real.traces import wait_until
from tools.parts.catalog.prometheus import PART, PrometheusPart

PENDING_TOO_LONG = {
    "alert": "PodsPendingTooLong",
    "expr": 'sum(kube_pod_status_phase{phase="Pending"}) > 0',
    "for": "3m",
    "labels": {"severity": "warning"},
    "annotations": {"summary": "{{ $value }} pods wait for a node"},
}


def written(folder: Path, name: str, content: Any) -> Path:
    """JSON is YAML."""
    path = folder / name
    path.write_text(json.dumps(content))
    return path


def rules(folder: Path, *alerts: dict[str, Any]) -> Path:
    return written(folder, "rules.yml", {"groups": [{"name": "fleet", "rules": list(alerts)}]})


def unit_test(folder: Path, rule_file: Path, values: str, expected: list[dict[str, Any]]) -> Path:
    """One minute a value; the question is what fires after five."""
    series = 'kube_pod_status_phase{phase="Pending", pod="web-1"}'
    asked = {"eval_time": "5m", "alertname": PENDING_TOO_LONG["alert"], "exp_alerts": expected}
    case = {
        "interval": "1m",
        "input_series": [{"series": series, "values": values}],
        "alert_rule_test": [asked],
    }
    return written(folder, "test.yml", {"rule_files": [str(rule_file)], "tests": [case]})


FIRING = [{"exp_labels": {"severity": "warning"}, "exp_annotations": {"summary": "1 pods wait for a node"}}]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param("1 1 1 1 1 1", FIRING, id="pending all the time"),
        pytest.param("1 1 1 0 1 1", [], id="pending with a break"),
        pytest.param("0 0 0 0 0 0", [], id="never pending"),
    ],
)
def test_the_alert_fires_exactly_when_it_should(
    part: PrometheusPart, tmp_path: Path, values: str, expected: list[dict[str, Any]]
) -> None:
    done = part.run_promtool(
        "test", "rules", unit_test(tmp_path, rules(tmp_path, PENDING_TOO_LONG), values, expected)
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        pytest.param("1 1 1 1 1 1", [], id="fires, silence wanted"),
        pytest.param("0 0 0 0 0 0", FIRING, id="silent"),
    ],
)
def test_promtool_refuses_a_wrong_expectation(
    part: PrometheusPart, tmp_path: Path, values: str, wrong: list[dict[str, Any]]
) -> None:
    done = part.run_promtool(
        "test", "rules", unit_test(tmp_path, rules(tmp_path, PENDING_TOO_LONG), values, wrong)
    )
    assert done.returncode == 1
    assert "FAILED" in done.stdout + done.stderr


def test_a_good_rule_file_is_accepted(part: PrometheusPart, tmp_path: Path) -> None:
    done = part.run_promtool("check", "rules", rules(tmp_path, PENDING_TOO_LONG))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 rules found" in done.stdout


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        pytest.param({"expr": "sum(kube_pod_status_phase"}, "unclosed left parenthesis", id="expression"),
        pytest.param({"for": "three minutes"}, "not a valid duration string", id="duration"),
        pytest.param({"annotations": {"summary": "{{ $nosuch }}"}}, "undefined variable", id="template"),
        pytest.param({"expression": "up"}, "field expression not found", id="unknown field"),
    ],
)
def test_a_broken_rule_file_is_refused(
    part: PrometheusPart, tmp_path: Path, broken: dict[str, Any], complaint: str
) -> None:
    done = part.run_promtool("check", "rules", rules(tmp_path, {**PENDING_TOO_LONG, **broken}))
    assert done.returncode == 1
    assert complaint in done.stdout + done.stderr


def test_a_running_prometheus_fires_what_holds_and_nothing_else(tmp_path: Path) -> None:
    always = {"alert": "Always", "expr": "vector(1) > 0", "for": "1s"}
    never = {"alert": "Never", "expr": "vector(1) > 1"}
    started = present(PART).start(rules=[rules(tmp_path, always, never)], interval_s=0.5)
    try:
        wait_until(lambda: any(a["state"] == "firing" for a in started.alerts()), "an alert fires")
        assert {alert["labels"]["alertname"] for alert in started.alerts()} == {"Always"}
    finally:
        started.stop()
