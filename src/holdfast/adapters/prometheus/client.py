"""CPU and its history from Prometheus, and readiness from kube-state-metrics.

A worker's load is `1 - avg(rate(idle))` over its CPUs: the mean over the busy modes would read a
seventh of it.  The rate is a share of the rate of all modes together, which is 1 once the window is
full: before that, a machine that has just joined would read as busy for the time it did not exist.
Only the workers' own series count, found by the label `node` where the scrape sets
one, else by `instance` without its port, which is a name or an address of the node.  No data is
not zero: whatever is missing, old or absurd is a problem in words, and no number.
"""

import json
import math
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from holdfast.adapters.prometheus.promql import TIMEOUT_S, NoAnswer, PromQl
from holdfast.autoscaler.ports import Load
from holdfast.cloud.kubernetes import KubeNode, Pod
from holdfast.kernel import Busy

SOURCE: Final = "prometheus"
RATE_S: Final = 120
STEP_S: Final = 30
MAX_AGE_S: Final = 180
SLACK: Final = 0.05
"""A rate is extrapolated to the ends of its window, so that an idle CPU may idle a little more than
all the time.  Beyond this it is no rounding any more."""
SECONDS: Final = "node_cpu_seconds_total"
IDLE: Final = f'{SECONDS}{{mode="idle"}}'
READY: Final = 'kube_node_status_condition{condition="Ready",status="true"}==1'
PORT: Final = re.compile(r":\d+$")
SPECIAL: Final = re.compile(r"([.+*?()|\[\]{}^$\\])")


@dataclass(slots=True)
class _Machine:
    """What Prometheus knows of one set of labels."""

    numbers: dict[str, float] = field(default_factory=dict)
    seen_s: float = 0.0


class Prometheus:
    """`Metrics` over the HTTP API of a Prometheus."""

    def __init__(
        self,
        url: str,
        *,
        max_age_s: float = MAX_AGE_S,
        label: str = "",
        rate_s: int = RATE_S,
        timeout_s: float = TIMEOUT_S,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        """`label`: the one that holds a node's name or address, where neither `node` nor `instance`
        does.  `rate_s`: the window of the rate, at least two scrapes long."""
        self._promql = PromQl(url, timeout_s=timeout_s)
        self._max_age_s, self._rate_s, self._now_s = max_age_s, rate_s, now_s
        self._labels = (label,) if label else ("node", "instance")

    def load(self, nodes: Sequence[KubeNode], pods: Sequence[Pod], window_s: int) -> Load:
        ready = [node for node in nodes if node.is_ready]
        try:
            if not ready:
                raise NoAnswer("no worker is Ready: there is nothing to measure")
            mine = self._reporting(ready)
            idle = sum(each.numbers["idle"] * each.numbers["cpus"] for each in mine.values())
            cpu = _busy(1 - idle / sum(each.numbers["cpus"] for each in mine.values()), "the fleet")
            return Load(cpu, self._peak(mine, cpu, window_s), source=SOURCE)
        except NoAnswer as problem:
            return Load(None, problem=f"{self._promql.url}: {problem}", source=SOURCE)

    def ready_nodes(self) -> frozenset[str]:
        """The names of all nodes that kube-state-metrics calls Ready.  Repeatable.

        Raises Busy where that cannot be said: no answer does not make a node unready.
        """
        try:
            found = self._promql.query(READY)
            if not found:
                raise NoAnswer(f"no series for {READY}: check that kube-state-metrics runs and is scraped")
            return frozenset(each.metric.get("node", "") for each in found) - {""}
        except NoAnswer as problem:
            raise Busy(f"{self._promql.url}: {problem}") from problem

    def _reporting(self, ready: Sequence[KubeNode]) -> Mapping[tuple[str, str], _Machine]:
        """The ready workers with fresh numbers, by the label that told them apart, and its value."""
        called = {name: node for node in ready for name in _names(node)}
        found: dict[tuple[str, str], _Machine] = {}
        known: set[str] = set()
        old: list[str] = []
        for labels, machine in self._machines().items():
            own = next(((label, value) for label, value in labels if _bare(label, value) in called), None)
            if own is None:
                continue
            name = called[_bare(*own)].metadata.name
            if machine.seen_s - machine.numbers.get("at", 0.0) > self._max_age_s:
                old.append(name)
            elif machine.numbers.get("cpus", 0) >= 1 and name not in known:
                _busy(1 - machine.numbers.get("idle", math.nan), name)
                found[own] = machine
                known.add(name)
        if 2 * len(known) < len(ready):
            raise NoAnswer(self._too_few(known, ready, old))
        return found

    def _machines(self) -> dict[tuple[tuple[str, str], ...], _Machine]:
        """One look at idle share, number of CPUs and age, all as of the same moment."""
        by, rate = ", ".join(self._labels), f"rate({IDLE}[{self._rate_s}s])"
        every = f"avg by ({by}) (sum by ({by}, cpu) (rate({SECONDS}[{self._rate_s}s])))"
        # Where only the idle mode is scraped, every machine would seem idle all the time.
        others = f'count by ({by}) ({SECONDS}{{mode!="idle"}})'
        parts = {
            "idle": f"avg by ({by}) ({rate}) / {every} and {others}",
            "cpus": f"count by ({by}) ({rate})",
            "at": f"max by ({by}) (timestamp({IDLE}))",
        }
        asked = " or ".join(f'label_replace({what}, "is", "{name}", "", "")' for name, what in parts.items())
        found: dict[tuple[tuple[str, str], ...], _Machine] = {}
        for series in self._promql.query(asked):
            labels = tuple((name, series.metric.get(name, "")) for name in self._labels)
            machine = found.setdefault(labels, _Machine())
            machine.numbers[series.metric.get("is", "")] = series.number
            machine.seen_s = series.at_s
        self._check_clock(found.values())
        return found

    def _check_clock(self, machines: Iterable[_Machine]) -> None:
        apart_s = max((abs(self._now_s() - each.seen_s) for each in machines), default=0.0)
        if apart_s > self._max_age_s:
            raise NoAnswer(
                f"its answer is {apart_s:.0f} s away from our clock, {self._max_age_s:.0f} s at most: "
                "check both clocks, and that no cache answers in its place"
            )

    def _peak(self, mine: Iterable[tuple[str, str]], cpu: float, window_s: int) -> float | None:
        """The highest load of the same workers over the window, now included."""
        if window_s <= 0:
            return None
        values: dict[str, list[str]] = {}
        for label, value in mine:
            values.setdefault(label, []).append(SPECIAL.sub(r"\\\1", value))
        windows = [
            f"{label}=~{json.dumps('|'.join(sorted(ours)))}}}[{self._rate_s}s])"
            for label, ours in sorted(values.items())
        ]
        idle = " or ".join(f"rate({IDLE[:-1]}, {window}" for window in windows)
        every = " or ".join(f"rate({SECONDS}{{{window}" for window in windows)
        share = f"avg({idle}) / avg(sum by ({', '.join(self._labels)}, cpu) ({every}))"
        step_s = max(1, min(STEP_S, window_s // 20))
        found = self._promql.query(f"max_over_time((1 - {share})[{window_s}s:{step_s}s])")
        if not found:
            raise NoAnswer(f"it has no history of the last {window_s} s: check its retention")
        return max(cpu, _busy(found[0].number, f"the peak of the last {window_s} s"))

    def _too_few(self, known: Collection[str], ready: Sequence[KubeNode], old: Sequence[str]) -> str:
        told = f"{len(known)} of {len(ready)} ready workers have fresh CPU series, and half of them must"
        if old:
            age = f"is older than {self._max_age_s:.0f} s"
            return f"{told}; the newest sample of {old[0]} {age}: check its scrape"
        silent = next(node.metadata.name for node in ready if node.metadata.name not in known)
        labels = " or ".join(self._labels)
        return (
            f"{told}: check that node-exporter runs on {silent} and is scraped, and that the label "
            f"{labels} of node_cpu_seconds_total holds a node's name or address"
        )


def _names(node: KubeNode) -> Iterable[str]:
    return (node.metadata.name, *(each.address for each in node.status.addresses if each.address))


def _bare(label: str, value: str) -> str:
    """The value without the port that an `instance` has."""
    return PORT.sub("", value).strip("[]") if label != "node" else value


def _busy(value: float, what: str) -> float:
    """Between 0 and 1.  NaN is neither."""
    if not -SLACK <= value <= 1 + SLACK:
        raise NoAnswer(f"the CPU load of {what} would be {value:g}: check node-exporter and its scrape")
    return min(1.0, max(0.0, value))
