"""How busy the workers are, by metrics-server: what their kubelets measured a moment ago."""

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

import msgspec

from holdfast.adapters.kubernetes.calls import LIST_NODE_METRICS
from holdfast.adapters.kubernetes.client import Client
from holdfast.adapters.kubernetes.lists import decoded
from holdfast.autoscaler.ports import Load
from holdfast.cloud.kubernetes import KubeNode, Meta, Pod, Value
from holdfast.cloud.quantity import cpu_m
from holdfast.kernel import HoldfastError

PATH = "/apis/metrics.k8s.io/v1beta1/nodes"
SOURCE = "metrics-server"
ABSURD = 1.5
"""Beyond so many times what the machine has, a figure is no measurement."""


class Usage(Value, frozen=True):
    cpu: str = ""


class NodeMetrics(Value, frozen=True):
    metadata: Meta
    timestamp: str = ""
    usage: Usage = Usage()


class NodeMetricsList(Value, frozen=True):
    items: list[NodeMetrics] | None = None


class _Unusable(Exception):
    """Why the figures say nothing."""


_metrics = msgspec.json.Decoder(NodeMetricsList)


class MetricsServer:
    """See `holdfast.autoscaler.ports.Metrics`.  It knows no history: `window_s` is not asked."""

    def __init__(self, client: Client, *, max_age_s: float, now_s: Callable[[], float] = time.time) -> None:
        self._client, self._max_age_s, self._now_s = client, max_age_s, now_s

    def load(self, nodes: Sequence[KubeNode], pods: Sequence[Pod], window_s: int) -> Load:
        try:
            body = self._client.read(LIST_NODE_METRICS, PATH)
            measured = decoded(LIST_NODE_METRICS, _metrics, body).items or []
            cpu = _used_part(nodes, measured, now_s=self._now_s(), max_age_s=self._max_age_s)
        except (HoldfastError, _Unusable) as error:
            return Load(None, problem=f"{SOURCE}: {error}", source=SOURCE)
        return Load(cpu, source=SOURCE)


def _used_part(
    nodes: Sequence[KubeNode], measured: Sequence[NodeMetrics], *, now_s: float, max_age_s: float
) -> float:
    """CPU in use by these workers, as a part of what pods may use there."""
    if not nodes:
        raise _Unusable("there is no worker to measure")
    figures = {each.metadata.name: each for each in measured}
    if missing := sorted(node.metadata.name for node in nodes if node.metadata.name not in figures):
        raise _Unusable(f"no figures of {len(missing)} of {len(nodes)} workers, such as {missing[0]}")
    used_m = room_m = 0
    for node in nodes:
        figure = figures[node.metadata.name]
        _check_age(figure, now_s, max_age_s)
        used_m += _used_m(node, figure)
        room_m += _cpu_m(node, "allocatable", node.status.allocatable)
    return used_m / room_m


def _check_age(figure: NodeMetrics, now_s: float, max_age_s: float) -> None:
    name = figure.metadata.name
    try:
        at = datetime.fromisoformat(figure.timestamp)
        age_s = now_s - at.timestamp() if at.tzinfo else None
    except ValueError:
        age_s = None
    if age_s is None:
        raise _Unusable(f"{name} was measured at {figure.timestamp!r}, which is no time")
    if age_s > max_age_s:
        raise _Unusable(f"{name} was measured {age_s:.0f} s ago, more than metrics_max_age_s={max_age_s:g}")
    if age_s < -max_age_s:
        raise _Unusable(f"{name} was measured {-age_s:.0f} s from now: the clocks disagree")


def _used_m(node: KubeNode, figure: NodeMetrics) -> int:
    name = node.metadata.name
    try:
        used_m = cpu_m(figure.usage.cpu)
    except ValueError as error:
        raise _Unusable(f"{name} uses cpu {error}") from error
    has_m = _cpu_m(node, "capacity", node.status.capacity or node.status.allocatable)
    if used_m < 0 or used_m > ABSURD * has_m:
        raise _Unusable(f"{name} uses cpu {figure.usage.cpu!r} and has {has_m}m: absurd")
    return used_m


def _cpu_m(node: KubeNode, field: str, amounts: Mapping[str, str]) -> int:
    try:
        has_m = cpu_m(amounts.get("cpu", "0"))
    except ValueError as error:
        raise _Unusable(f"{node.metadata.name} says in status.{field}: cpu {error}") from error
    if has_m <= 0:
        raise _Unusable(f"{node.metadata.name} says in status.{field} that it has no cpu")
    return has_m
