"""What must hold among the settings of the autoscaler, and of its pools."""

from collections import Counter
from collections.abc import Iterator

from holdfast.autoscaler.disruption.cron import BadCron
from holdfast.autoscaler.disruption.windows import zone_named
from holdfast.autoscaler.settings import Pool, Settings
from holdfast.autoscaler.settings.tables import POOL
from holdfast.settings.check import Fault, Said, each_alone

EFFECTS = frozenset({"NoSchedule", "PreferNoSchedule", "NoExecute"})


def faults(settings: Settings, said: Said) -> Iterator[Fault]:
    """What is wrong beside single values, each with its fix."""
    for kind, usd in settings.usd_per_hour.items():
        if usd <= 0:
            yield Fault(("usd_per_hour",), f"{said('usd_per_hour')}: the price of {kind} must be more than 0")
    yield from _crossed(settings, said)
    yield from _disruption(settings, said)
    yield from _places(settings, said)
    for pool in settings.pools:
        yield from _pool(pool, said)
    yield from _pools(settings, said)


def _crossed(s: Settings, said: Said) -> Iterator[Fault]:
    """Settings that are fine alone and cannot work together."""

    def crossed(one: str, other: str, why: str) -> Fault:
        return Fault((one, other), f"{said(one)} against {said(other)}: {why}")

    if s.cpu_down >= s.cpu_up:
        yield crossed("cpu_down", "cpu_up", "must be lower, or the fleet would scale up and down at once")
    if s.min_workers > s.max_workers:
        yield crossed("min_workers", "max_workers", "must not be higher; lower the one or raise the other")
    if s.drain_timeout_s >= s.scale_down_stuck_s:
        why = "must be shorter, or every slow drain would be abandoned as stuck"
        yield crossed("drain_timeout_s", "scale_down_stuck_s", why)
    if s.after_cordon_s >= s.drain_timeout_s:
        yield crossed("after_cordon_s", "drain_timeout_s", "must be shorter, or no time is left to evict")
    if s.back_off_first_s > s.back_off_max_s:
        yield crossed("back_off_first_s", "back_off_max_s", "must not be longer")
    if s.unavailable_s > s.unavailable_max_s:
        yield crossed("unavailable_s", "unavailable_max_s", "must not be longer")
    if s.absent_s > s.remember_s:
        why = "must not be longer, or a removed machine is forgotten before it is known to be gone"
        yield crossed("absent_s", "remember_s", why)


def _disruption(s: Settings, said: Said) -> Iterator[Fault]:
    try:
        zone_named(s.disruption.time_zone)
    except BadCron as bad:
        yield Fault(("disruption.time_zone",), f"{said('disruption.time_zone')}: {bad}")


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
    if s.notify_webhook_secret and not s.notify_webhook_url:
        text = f"{said('notify_webhook_secret')}: give notify_webhook_url too"
        yield Fault(("notify_webhook_secret", "notify_webhook_url"), text)
    if s.state_table == s.logs_table and not s.database:
        text = f"{said('state_table')} and {said('logs_table')}: must be two tables"
        yield Fault(("state_table", "logs_table"), text)


def _pool(pool: Pool, said: Said) -> Iterator[Fault]:
    prefix = f"pools.{pool.name}."
    yield from each_alone(POOL, pool, said, prefix)
    if pool.min_workers > pool.max_workers:
        about = (f"{prefix}min_workers", f"{prefix}max_workers")
        yield Fault(about, f"{said(about[0])} against {said(about[1])}: must not be higher")
    if not pool.instance_types and pool.requirements is None:
        yield Fault(
            (f"{prefix}instance_types",),
            f"{said(f'{prefix}instance_types')}: name at least one, or give requirements",
        )
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
