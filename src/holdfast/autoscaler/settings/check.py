"""What must hold of each setting, and among them.

A fault names the settings that it is about, so that one which could not even be read is not
complained about twice.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from holdfast.autoscaler.settings import Pool, Settings

DAY_S = 86_400
YEAR_S = 365 * DAY_S
MANY = 100_000


@dataclass(frozen=True, slots=True)
class Range:
    low: float
    high: float = math.inf
    low_itself: bool = True

    def holds(self, value: float) -> bool:
        return (self.low <= value if self.low_itself else self.low < value) and value <= self.high

    def __str__(self) -> str:
        low = f"{'at least' if self.low_itself else 'more than'} {self.low:.15g}"
        return low if self.high == math.inf else f"{low} and at most {self.high:.15g}"


SECONDS, COUNT, SOME, SHARE = Range(0, YEAR_S), Range(0, MANY), Range(1, MANY), Range(0, 1)
SOME_SECONDS, PART = Range(1, YEAR_S), Range(0, 1, low_itself=False)

RANGES: Mapping[str, Range] = {
    "cpu_up": PART,
    "cpu_down": PART,
    "pending_up_s": SECONDS,
    "idle_down_s": SECONDS,
    "cooldown_up_s": SECONDS,
    "cooldown_down_s": SECONDS,
    "min_workers": COUNT,
    "max_workers": COUNT,
    "max_batch_up": SOME,
    "max_batch_down": SOME,
    "join_timeout_s": SOME_SECONDS,
    "on_demand_max_fraction": SHARE,
    "usd_per_hour_max": Range(0),
    "launches_per_hour_max": COUNT,
    "unavailable_s": SECONDS,
    "back_off_first_s": SOME_SECONDS,
    "back_off_max_s": SOME_SECONDS,
    "drain_timeout_s": SOME_SECONDS,
    "scale_down_stuck_s": SOME_SECONDS,
    "skip_s": SECONDS,
    "after_cordon_s": SECONDS,
    "lock_ttl_s": Range(1, DAY_S),
    "remember_s": Range(300, DAY_S),
    "absent_s": Range(60, DAY_S),
    "sweep_batch": SOME,
    "sweep_after_s": SECONDS,
    "brake_not_ready_fraction": PART,
    "prom_nodeport": Range(1, 65_535),
    "metrics_max_age_s": SOME_SECONDS,
    "pods_per_node": Range(1, 1_000),
}

TABLE = (r"(?a:[\w.-]{3,255})", "a table name of 3 to 255 letters, digits, dots, dashes or underscores")
TAG_KEY = (r"(?!aws:).{1,128}", "a tag key of 1 to 128 characters that does not begin with aws:")
TAG_VALUE = (r".{1,256}", "a tag value of 1 to 256 characters")
PARAMETER = (
    # Not the token itself, which begins with eyJ or has colons in it.
    r"(?a:((?!eyJ)/?[\w.-]+(/[\w.-]+)*)?)",
    "the name of an SSM parameter, such as /k3s-autoscaler/token",
)
URL_REST = r"[^\s/?#@]+(:\d+)?(/\S*)?"

SHAPES: Mapping[str, tuple[str, str]] = {
    "cluster_name": (r"[\w .:/=+@-]{1,128}", "a name of 1 to 128 letters, digits or . : / = + @ - _"),
    "state_table": TABLE,
    "logs_table": TABLE,
    "cluster_tag_key": TAG_KEY,
    "worker_tag_key": TAG_KEY,
    "master_tag_key": TAG_KEY,
    "worker_tag_value": TAG_VALUE,
    "master_tag_value": TAG_VALUE,
    "region": (r"([a-z]{2,}(-[a-z]+)+-\d+)?", "a region such as eu-central-1"),
    "metrics": (r"prometheus|metrics-server|requests", "prometheus, metrics-server or requests"),
    "join_check": (r"kubernetes|prometheus", "kubernetes or prometheus"),
    "prometheus_url": (rf"(https?://{URL_REST})?", "an address such as http://10.0.0.5:30900"),
    "k8s_api_url": (
        # Unprotected only on this very machine, as by `kubectl proxy`.
        rf"((https://|http://(?=127\.|localhost|\[::1\])){URL_REST})?",
        "an address such as https://10.0.0.5:6443",
    ),
    "k3s_url": (rf"(https://{URL_REST})?", "an address such as https://10.0.0.5:6443"),
    "k3s_version": (r"v\d+\.\d+\.\d+\+k3s\d+", "a release such as v1.33.5+k3s1"),
    "k3s_ca_hash": (r"([0-9a-f]{64})?", "the SHA-256 of the server's CA, 64 hexadecimal digits"),
    "k8s_ca": (r"(-----BEGIN |LS0tLS1CRUdJTi)[\s\S]+|", "a certificate as PEM, or as base64 of PEM"),
    "k8s_api_token_param": PARAMETER,
    "k3s_cluster_token_param": PARAMETER,
}

POOL_RANGES: Mapping[str, Range] = {
    "min_workers": COUNT,
    "max_workers": COUNT,
    "launch_template_version": COUNT,
    "disk_gib": Range(0, 16_384),
}

POOL_SHAPES: Mapping[str, tuple[str, str]] = {
    "name": (
        r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?",
        "a name of at most 63 small letters, digits and dashes between them",
    ),
    "instance_types": (r"[a-z0-9-]+\.[a-z0-9-]+", "an instance type such as t3.medium"),
    "architecture": (r"amd64|arm64", "amd64 or arm64"),
    "subnet_ids": (r"subnet-[0-9a-z]+", "a subnet such as subnet-0a1b2c3d"),
    "ami_id": (r"(ami-[0-9a-z]+)?", "an image such as ami-0a1b2c3d"),
    "security_group_ids": (r"sg-[0-9a-z]+", "a security group such as sg-0a1b2c3d"),
    "launch_template_id": (r"(lt-[0-9a-z]+)?", "a launch template such as lt-0a1b2c3d"),
    "disk_device": (r"/dev/\w+", "a device such as /dev/xvda"),
    "market": (r"spot|on-demand", "spot or on-demand"),
}
EFFECTS = frozenset({"NoSchedule", "PreferNoSchedule", "NoExecute"})


@dataclass(frozen=True, slots=True)
class Fault:
    about: tuple[str, ...]
    """Settings by their own names: `cpu_up`, `drain.…`, `pools.gpu.min_workers`."""
    text: str


Said = Callable[[str], str]
"""How a person would recognise a setting: its name as it was spelled, and its value."""


def faults(settings: Settings, said: Said) -> Iterator[Fault]:
    """Everything that is wrong, each with its fix."""
    yield from _alone(settings, RANGES, SHAPES, "", said)
    for kind, usd in settings.usd_per_hour.items():
        if usd <= 0:
            yield Fault(("usd_per_hour",), f"{said('usd_per_hour')}: the price of {kind} must be more than 0")
    yield from _crossed(settings, said)
    yield from _places(settings, said)
    for pool in settings.pools:
        yield from _pool(pool, said)
    yield from _pools(settings, said)


def _alone(
    of: object,
    ranges: Mapping[str, Range],
    shapes: Mapping[str, tuple[str, str]],
    prefix: str,
    said: Said,
) -> Iterator[Fault]:
    for name, allowed in ranges.items():
        if not allowed.holds(getattr(of, name)):
            yield Fault((prefix + name,), f"{said(prefix + name)}: must be {allowed}")
    for name, (shape, what) in shapes.items():
        value = getattr(of, name)
        for each in (value,) if isinstance(value, str) else value:
            if not re.fullmatch(shape, each):
                yield Fault((prefix + name,), f"{said(prefix + name)}: must be {what}")


def _crossed(s: Settings, said: Said) -> Iterator[Fault]:
    """Settings that are fine alone and cannot work together."""

    def crossed(one: str, other: str, why: str) -> Fault:
        return Fault((one, other), f"{said(one)} against {said(other)}: {why}")

    if s.cpu_down >= s.cpu_up:
        yield crossed("cpu_down", "cpu_up", "must be lower, or the fleet would grow and shrink at once")
    if s.min_workers > s.max_workers:
        yield crossed("min_workers", "max_workers", "must not be higher; lower the one or raise the other")
    if s.drain_timeout_s >= s.scale_down_stuck_s:
        why = "must be shorter, or every slow drain would be abandoned as stuck"
        yield crossed("drain_timeout_s", "scale_down_stuck_s", why)
    if s.after_cordon_s >= s.drain_timeout_s:
        yield crossed("after_cordon_s", "drain_timeout_s", "must be shorter, or no time is left to evict")
    if s.back_off_first_s > s.back_off_max_s:
        yield crossed("back_off_first_s", "back_off_max_s", "must not be longer")
    if s.absent_s > s.remember_s:
        why = "must not be longer, or a removed machine is forgotten before it is known to be gone"
        yield crossed("absent_s", "remember_s", why)


def _places(s: Settings, said: Said) -> Iterator[Fault]:
    if (s.worker_tag_key, s.worker_tag_value) == (s.master_tag_key, s.master_tag_value):
        about = ("worker_tag_key", "worker_tag_value", "master_tag_key", "master_tag_value")
        text = (
            f"{said('worker_tag_key')} and {said('worker_tag_value')} are also the control plane's tag: "
            "give workers another one, or the control plane would be taken for a worker"
        )
        yield Fault(about, text)
    if s.cluster_tag_key in (s.worker_tag_key, s.master_tag_key):
        text = (
            f"{said('cluster_tag_key')} is also the key of a role: a machine has one value for each key, "
            "so give the cluster a key of its own"
        )
        yield Fault(("cluster_tag_key", "worker_tag_key", "master_tag_key"), text)
    if s.k8s_ca and s.k8s_ca_file:
        yield Fault(
            ("k8s_ca", "k8s_ca_file"), f"{said('k8s_ca_file')}: k8s_ca is given too; give one of them"
        )
    if s.state_table == s.logs_table and not s.database:
        text = f"{said('state_table')} and {said('logs_table')}: must be two tables"
        yield Fault(("state_table", "logs_table"), text)


def _pool(pool: Pool, said: Said) -> Iterator[Fault]:
    prefix = f"pools.{pool.name}."
    yield from _alone(pool, POOL_RANGES, POOL_SHAPES, prefix, said)
    if pool.min_workers > pool.max_workers:
        about = (f"{prefix}min_workers", f"{prefix}max_workers")
        yield Fault(about, f"{said(about[0])} against {said(about[1])}: must not be higher")
    if not pool.instance_types:
        yield Fault((f"{prefix}instance_types",), f"{said(f'{prefix}instance_types')}: name at least one")
    if pool.launch_template_version and not pool.launch_template_id:
        about = (f"{prefix}launch_template_version", f"{prefix}launch_template_id")
        yield Fault(about, f"{said(about[0])}: give launch_template_id too")
    for taint in pool.taints:
        if taint.effect not in EFFECTS:
            text = f"the effect of {taint.key} must be one of {', '.join(sorted(EFFECTS))}"
            yield Fault((f"{prefix}taints",), f"{said(f'{prefix}taints')}: {text}")


def _pools(s: Settings, said: Said) -> Iterator[Fault]:
    for name, times in Counter(pool.name for pool in s.pools).items():
        if times > 1:
            yield Fault(("pools",), f"{times} pools are called {name!r}: give each a name of its own")
    if not s.pools:
        yield Fault(("pools",), "pools: name at least one, or leave the setting out")
    least, most = (sum(getattr(p, name) for p in s.pools) for name in ("min_workers", "max_workers"))
    mins = ", ".join(f"{p.name} {p.min_workers}" for p in s.pools if p.min_workers)
    every = tuple(f"pools.{p.name}.{name}" for p in s.pools for name in ("min_workers", "max_workers"))
    if least > s.max_workers:
        text = f"the pools' min_workers ({mins}) are {least} together, more than {said('max_workers')}"
        yield Fault(("pools", "max_workers", *every), f"{text}: lower them, or raise it")
    if s.pools and most < s.min_workers:
        text = f"the pools' max_workers are {most} together, fewer than {said('min_workers')}"
        yield Fault(("pools", "min_workers", *every), f"{text}: the floor could never be reached")
