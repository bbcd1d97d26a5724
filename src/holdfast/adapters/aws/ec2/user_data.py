"""The first script of a machine: it joins the k3s cluster as a worker, and keeps trying until it has.

Plain sh, for the images' dash.  It holds no secret: the cluster's token is read from the
Parameter Store by the machine itself, anew for every try, so that a rotation is survived.
Nothing is sent to a server before its certificate authority was compared.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from holdfast.cloud.kubernetes import CAPACITY_LABEL, INSTANCE_LABEL, JOINING_TAINT, POOL_LABEL, Taint
from holdfast.kernel import Invalid

PATIENCE_S: Final = 120
"""How long an agent may take to be ready before it is started again with a freshly read token."""

KUBELET_LABELS: Final = frozenset(
    {
        "kubernetes.io/hostname",
        "kubernetes.io/arch",
        "kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    }
)
"""Of the domains that Kubernetes keeps for itself, a kubelet may set these about itself,"""
KUBELET_DOMAINS: Final = ("kubelet.kubernetes.io", "node.kubernetes.io")
"""and everything under these."""
RESERVED: Final = ("kubernetes.io", "k8s.io")
ZONE_LABEL: Final = "topology.kubernetes.io/zone"
REGION_LABEL: Final = "topology.kubernetes.io/region"
TYPE_LABEL: Final = "node.kubernetes.io/instance-type"
"""A plain k3s agent says `k3s` here."""
OURS: Final = frozenset({INSTANCE_LABEL, POOL_LABEL, CAPACITY_LABEL, ZONE_LABEL, REGION_LABEL, TYPE_LABEL})
LABEL_VALUE: Final = re.compile(r"([A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?)?", re.ASCII)
LABEL_KEY: Final = re.compile(r"([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?", re.ASCII)

SCRIPT: Final = Path(__file__).with_name("join_k3s.sh")
"""With `@name@` for what the agent says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class K3sAgent:
    """How the machines of one pool join a k3s cluster.  The fields have the names of the settings,
    because messages name them."""

    pool: str
    k3s_url: str
    k3s_version: str
    k3s_cluster_token_param: str
    k3s_ca_hash: str = ""
    """SHA-256 of the server's certificate authority."""
    pods_per_node: int = 110
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()


def join_script(agent: K3sAgent, *, patience_s: int = PATIENCE_S) -> str:
    """The user data of this pool's machines; equal agents give equal text.

    Raises Invalid for what the cluster, or a kubelet, would refuse.
    """
    for name in ("k3s_url", "k3s_version", "k3s_cluster_token_param"):
        if not getattr(agent, name):
            raise Invalid(
                f"{name} is empty: without it no machine can join "
                f"(set it, or give pool {agent.pool} a launch_template_id of your own)"
            )
    words = {
        "url": agent.k3s_url.rstrip("/"),
        "version": agent.k3s_version,
        "parameter": agent.k3s_cluster_token_param,
        "ca_hash": agent.k3s_ca_hash,
        "patience_s": str(patience_s),
    }
    script = SCRIPT.read_text().replace("@flags@", " \\\n".join(f"        {flag}" for flag in _flags(agent)))
    for name, value in words.items():
        script = script.replace(f"@{name}@", shlex.quote(value))
    return script


def _flags(agent: K3sAgent) -> Iterator[str]:
    """Already quoted: `$id` and `$zone` are the machine's own."""
    yield '--node-name "$id"'
    yield '--kubelet-arg="provider-id=aws:///$zone/$id"'
    yield f"--kubelet-arg=max-pods={agent.pods_per_node}"
    yield f'--node-label="{INSTANCE_LABEL}=$id"'
    yield f"--node-label={shlex.quote(f'{POOL_LABEL}={agent.pool}')}"
    yield f'--node-label="{ZONE_LABEL}=$zone"'
    yield f'--node-label="{REGION_LABEL}=$region"'
    yield f'--node-label="{TYPE_LABEL}=$type"'
    yield f'--node-label="{CAPACITY_LABEL}=$capacity"'
    for key, value in sorted(agent.labels.items()):
        yield f"--node-label={shlex.quote(_label(key, value))}"
    yield f"--node-taint={JOINING_TAINT}=true:NoSchedule"
    for taint in agent.taints:
        yield f"--node-taint={shlex.quote(_taint(taint))}"


def _label(key: str, value: str) -> str:
    if not LABEL_KEY.fullmatch(key) or not LABEL_VALUE.fullmatch(value):
        raise Invalid(f"labels: {key}={value} is no label that Kubernetes would take")
    if key in OURS:
        raise Invalid(f"labels: {key} is about the machine, and is set by itself: leave it out")
    if not may_be_set_by_kubelet(key):
        raise Invalid(
            f"labels: {key} is in a domain that Kubernetes keeps for itself, and a "
            "kubelet that sets it does not start (use a domain of your own, or node.kubernetes.io/…)"
        )
    return f"{key}={value}"


def may_be_set_by_kubelet(key: str) -> bool:
    domain, slash, _ = key.partition("/")
    if not slash or not _is_within(domain, RESERVED):
        return True
    return key in KUBELET_LABELS or _is_within(domain, KUBELET_DOMAINS)


def _is_within(domain: str, parents: tuple[str, ...]) -> bool:
    return any(domain == parent or domain.endswith(f".{parent}") for parent in parents)


def _taint(taint: Taint) -> str:
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"
