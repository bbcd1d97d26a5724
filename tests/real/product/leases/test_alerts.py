"""The alerts that are shipped with the leases, judged by promtool."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.real.presence import present
from tests.tidy.repository import ROOT
from tools.parts.catalog.prometheus import PART as PROMETHEUS

RULES = ROOT / "deploy" / "prometheus" / "leases.yaml"
LABELS = 'app="shop",stream="orders",worker="worker-{n}"'


def series(name: str, *values: str) -> list[dict[str, str]]:
    """One minute a value; one text a worker."""
    return [
        {"series": f"holdfast_leases_{name}{{{LABELS.format(n=n)}}}", "values": told}
        for n, told in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("given", "alert", "fires"),
    [
        (series("unread", "0 0 4 4 4 4", "0 0 0 4 4 4"), "HoldfastShardsUnread", True),
        (series("unread", "0 0 4 0 0 0", "0 0 4 0 0 0"), "HoldfastShardsUnread", False),
        (series("unread", "0 0 0 0 0 4"), "HoldfastShardsUnread", False),
        (
            series("living_workers", "2 2 2 2 2 2 2") + series("workers", "3 3 3 3 3 3 3"),
            "HoldfastWorkersMissing",
            True,
        ),
        (
            series("living_workers", "3 3 3 3 3 3 3") + series("workers", "3 3 3 3 3 3 3"),
            "HoldfastWorkersMissing",
            False,
        ),
    ],
)
def test_an_alert_fires_when_it_should_and_only_then(
    tmp_path: Path, given: list[dict[str, str]], alert: str, fires: bool
) -> None:
    rule = next(
        each for each in yaml.safe_load(RULES.read_text())["groups"][0]["rules"] if each["alert"] == alert
    )
    expected = [{"exp_labels": {"app": "shop", "stream": "orders", **rule["labels"]}}] if fires else []
    asked = {"eval_time": "6m", "alertname": alert, "exp_alerts": [_told(rule, each) for each in expected]}
    case = {"interval": "1m", "input_series": given, "alert_rule_test": [asked]}
    test = tmp_path / "test.yml"
    test.write_text(json.dumps({"rule_files": [str(RULES)], "tests": [case]}))
    done = present(PROMETHEUS).run_promtool("test", "rules", test)
    assert done.returncode == 0, done.stdout + done.stderr


def _told(rule: Any, expected: dict[str, Any]) -> dict[str, Any]:
    """The annotations as they read for the app and stream above, with four unread."""
    filled = {
        name: text.replace("{{ $value }}", "4")
        .replace("{{ $labels.stream }}", "orders")
        .replace("{{ $labels.app }}", "shop")
        for name, text in rule["annotations"].items()
    }
    return {**expected, "exp_annotations": filled}
