"""Prometheus and promtool, out of Debian's package but not installed on the system.

It scrapes what it is told to, keeps little, and answers PromQL for a test.
"""

import json
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.parts.packages.debian import unpack
from tools.parts.part import CannotInstall, Part, Say
from tools.parts.ports import free_port
from tools.parts.running import Running, answers_http


@dataclass(frozen=True)
class Target:
    """One thing to scrape.  Its own `instance` and `node` labels are kept as they are."""

    job: str
    address: str
    path: str = "/metrics"


@dataclass(frozen=True)
class Prometheus:
    """A started Prometheus."""

    running: Running
    endpoint: str

    def query(self, promql: str) -> list[dict[str, Any]]:
        """The instant vector that PromQL gives now: `metric` and `value` of each series."""
        answer = self._get("query", query=promql)
        if answer["resultType"] != "vector":
            raise ValueError(f"{promql} gives a {answer['resultType']}, not a vector")
        series: list[dict[str, Any]] = answer["result"]
        return series

    def value(self, promql: str) -> float | None:
        """The one number that PromQL gives now, None if it gives no series."""
        series = self.query(promql)
        if len(series) > 1:
            raise ValueError(f"{promql} gives {len(series)} series, not one: aggregate it")
        return float(series[0]["value"][1]) if series else None

    def alerts(self) -> list[dict[str, Any]]:
        """Every alert that is pending or firing now."""
        found: list[dict[str, Any]] = self._get("alerts")["alerts"]
        return found

    def _get(self, path: str, **asked: str) -> Any:
        url = f"{self.endpoint}/api/v1/{path}?{urllib.parse.urlencode(asked)}"
        with urllib.request.urlopen(url, timeout=120) as answer:
            return json.load(answer)["data"]

    def stop(self) -> None:
        self.running.stop()


class PrometheusPart(Part):
    name = "prometheus"
    version = "2.42.0"
    licence = "Apache-2.0"
    purpose = "PromQL over scraped samples, alert rules"

    @property
    def program(self) -> Path:
        return self.home / "usr/bin/prometheus"

    @property
    def promtool(self) -> Path:
        return self.home / "usr/bin/promtool"

    def build(self, say: Say) -> None:
        unpack(["prometheus"], self.home, say)
        said = subprocess.run([self.program, "--version"], capture_output=True, text=True)
        if f"version {self.version}" not in said.stdout:
            raise CannotInstall(
                f"the tests were written against the {self.version} of Debian 12, and this system's says: "
                f"{(said.stdout or said.stderr)[:200]}\nrun on Debian 12, or pin that version in the catalog"
            )

    def run_promtool(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """Run promtool to its end, whatever it answers."""
        self.require()
        return subprocess.run([self.promtool, *words], capture_output=True, text=True)

    def start(
        self, targets: Sequence[Target] = (), rules: Sequence[Path] = (), *, interval_s: float = 1
    ) -> Prometheus:
        """Scrape the targets and evaluate the rule files every `interval_s`."""
        self.require()
        running, port = Running(self.name), free_port()
        try:
            config = running.folder / "prometheus.yml"
            # JSON is YAML, so there is nothing to quote.
            config.write_text(json.dumps(configuration(targets, rules, interval_s), indent=2))
            running.start(self.name, self._argv(running.folder, config, port))
            endpoint = f"http://127.0.0.1:{port}"
            running.wait_until(self.name, lambda: answers_http(f"{endpoint}/-/ready", below_status=300))
        except BaseException:
            running.stop()
            raise
        return Prometheus(running, endpoint)

    def _argv(self, folder: Path, config: Path, port: int) -> list[str | Path]:
        return [
            self.program,
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'samples'}",
            "--storage.tsdb.retention.time=2h",
            "--storage.tsdb.retention.size=64MB",
            f"--web.listen-address=127.0.0.1:{port}",
            f"--web.local-assets={self.home / 'usr/share/prometheus/web'}",
        ]


def configuration(targets: Sequence[Target], rules: Sequence[Path], interval_s: float) -> dict[str, Any]:
    """The configuration file, as data."""
    every = f"{round(interval_s * 1000)}ms"
    return {
        "global": {"scrape_interval": every, "scrape_timeout": every, "evaluation_interval": every},
        "rule_files": [str(rule.resolve()) for rule in rules],
        "scrape_configs": [
            {
                "job_name": target.job,
                "metrics_path": target.path,
                "honor_labels": True,
                "static_configs": [{"targets": [target.address]}],
            }
            for target in targets
        ],
    }


PART = PrometheusPart()
