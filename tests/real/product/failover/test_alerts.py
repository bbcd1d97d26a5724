"""The alerts of failover fire exactly when they should: judged by promtool."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.real.presence import present
from tools.parts.catalog.prometheus import PART

RULES = Path(__file__).parents[4] / "deploy" / "prometheus" / "failover.rules.yml"
ALWAYS_UP = {"series": "failover_database_up", "values": "1x30"}

CASES: list[tuple[str, dict[str, str], list[dict[str, str]]]] = [
    (
        "FailoverMultiplePrimaries",
        {"failover_groups_with_several_primaries": "0 1x9"},
        [{"severity": "critical"}],
    ),
    ("FailoverMultiplePrimaries", {"failover_groups_with_several_primaries": "0x9"}, []),
    (
        "FailoverDegraded",
        {'failover_groups_degraded{client="shop", instance="a"}': "1x9"},
        [{"severity": "critical", "client": "shop"}],
    ),
    ("FailoverDegraded", {'failover_groups_degraded{client="shop"}': "0 0 1 0 0 1 0 0 1 0"}, []),
    (
        "FailoverPromotionSlow",
        {
            'instance_promotion_duration_seconds_bucket{kind="emergency", le="10"}': "0+0x9",
            'instance_promotion_duration_seconds_bucket{kind="emergency", le="30"}': "0+10x9",
            'instance_promotion_duration_seconds_bucket{kind="emergency", le="+Inf"}': "0+10x9",
        },
        [{"severity": "warning", "kind": "emergency"}],
    ),
    (
        "FailoverPromotionSlow",
        {
            'instance_promotion_duration_seconds_bucket{kind="emergency", le="5"}': "0+10x9",
            'instance_promotion_duration_seconds_bucket{kind="emergency", le="+Inf"}': "0+10x9",
        },
        [],
    ),
    (
        "FailoverZombies",
        {
            'instance_status{client="shop", status="zombie"}': "101x9",
            'instance_status{client="bank", status="zombie"}': "100x9",
        },
        [{"severity": "warning", "client": "shop"}],
    ),
    (
        "FailoverPromotionsFail",
        {'instance_promotion_failures_total{client="shop", kind="failover"}': "0 0 0 1 1 1 1 1 1 1"},
        [{"severity": "warning", "client": "shop"}],
    ),
    (
        "FailoverHeartbeatsMissed",
        {
            'failover_instances_silent{client="shop"}': "6x9",
            'failover_instances_expected{client="shop"}': "100x9",
            'failover_instances_silent{client="bank"}': "5x9",
            'failover_instances_expected{client="bank"}': "100x9",
        },
        [{"severity": "warning", "client": "shop"}],
    ),
    ("FailoverEndingStuck", {'failover_instances_terminating_long{client="shop"}': "1x9"}, []),
    ("FailoverServersGone", {"failover_database_up": "0x9"}, [{"severity": "critical"}]),
]


def _annotations(alert: str, labels: dict[str, str]) -> dict[str, str]:
    rules = [rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]
    (rule,) = [rule for rule in rules if rule.get("alert") == alert]
    filled = {}
    for name, text in rule["annotations"].items():
        for label, value in labels.items():
            text = text.replace(f"{{{{ $labels.{label} }}}}", value)
        filled[name] = text
    return filled


def _test_file(folder: Path, alert: str, series: dict[str, str], firing: list[dict[str, str]]) -> Path:
    expected = [{"exp_labels": labels, "exp_annotations": _annotations(alert, labels)} for labels in firing]
    rows: list[dict[str, Any]] = [{"series": name, "values": values} for name, values in series.items()]
    if "failover_database_up" not in series:
        rows.append(ALWAYS_UP)
    case = {
        "interval": "1m",
        "input_series": rows,
        "alert_rule_test": [{"eval_time": "9m", "alertname": alert, "exp_alerts": expected}],
    }
    path = folder / "test.yml"
    path.write_text(json.dumps({"rule_files": [str(RULES)], "evaluation_interval": "30s", "tests": [case]}))
    return path


@pytest.mark.parametrize(("alert", "series", "firing"), CASES)
def test_the_alert_fires_exactly_when_it_should(
    tmp_path: Path, alert: str, series: dict[str, str], firing: list[dict[str, str]]
) -> None:
    done = present(PART).run_promtool("test", "rules", _test_file(tmp_path, alert, series, firing))
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_rule_is_well_formed_and_says_what_to_do() -> None:
    done = present(PART).run_promtool("check", "rules", RULES)
    assert done.returncode == 0, done.stdout + done.stderr
    for group in yaml.safe_load(RULES.read_text())["groups"]:
        for rule in group["rules"]:
            if "alert" in rule:
                assert rule["labels"]["severity"] in ("warning", "critical")
                assert rule["annotations"]["summary"]
                assert rule["annotations"]["action"]
