"""The first script of a machine: it joins the k3s cluster as a worker, and keeps trying until it has.

Plain sh, for the images' dash.  It holds no secret: the cluster's token is read from the
Parameter Store by the machine itself, anew for every try, so that a rotation is survived.
Nothing is sent to a server before its certificate authority was compared.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from holdfast.cloud.kubernetes import INSTANCE_LABEL, JOINING_TAINT, POOL_LABEL, Taint
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
OURS: Final = frozenset({INSTANCE_LABEL, POOL_LABEL, ZONE_LABEL, REGION_LABEL})
LABEL_VALUE: Final = re.compile(r"([A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?)?", re.ASCII)
LABEL_KEY: Final = re.compile(r"([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([\w.-]{0,61}[A-Za-z0-9])?", re.ASCII)

SCRIPT: Final = r"""#!/bin/sh
# Joins this machine to a k3s cluster.  Made by Holdfast; it holds no secret.
set -u
umask 077
url=@url@
version=@version@
parameter=@parameter@
ca_hash=@ca_hash@
patience_s=@patience_s@

imds=http://169.254.169.254/latest
token_file=/etc/holdfast/k3s-token
work=$(mktemp -d)
last=

say() {
    [ "$*" = "$last" ] || echo "holdfast: $*"
    last="$*"
}

about() {
    curl -sf --max-time 5 -H "X-aws-ec2-metadata-token: $session" "$imds/meta-data/$1"
}

who_am_i() {
    ttl='X-aws-ec2-metadata-token-ttl-seconds: 300'
    session=$(curl -sf --max-time 5 -X PUT -H "$ttl" "$imds/api/token") &&
        id=$(about instance-id) &&
        zone=$(about placement/availability-zone) &&
        region=$(about placement/region) &&
        return
    say "the metadata service does not answer: waiting for it"
    return 1
}

# Any answer will do where the agent itself compares the authority with its token.
server_is_right() {
    if ! curl -sk --max-time 10 -o "$work/ca" "$url/cacerts"; then
        say "$url does not answer: waiting for it"
        return 1
    fi
    [ -n "$ca_hash" ] || return 0
    found=$(sha256sum < "$work/ca")
    found=${found%% *}
    [ "$found" = "$ca_hash" ] && return
    say "NOT JOINING: what $url/cacerts serves has the SHA-256 $found, but k3s_ca_hash is $ca_hash." \
        "Nothing was sent to that server. If its authority was renewed, set k3s_ca_hash to the new value"
    return 1
}

read_token() {
    token=$(aws ssm get-parameter --region "$region" --name "$parameter" --with-decryption \
        --query Parameter.Value --output text 2> "$work/why") &&
        [ -n "$token" ] && [ "$token" != None ] && return
    say "cannot read the parameter $parameter in $region ($(tr '\n' ' ' < "$work/why"))." \
        "The instance profile needs ssm:GetParameter on it, and kms:Decrypt on its key"
    return 1
}

# The full form of a token names the authority, so that the agent compares it too.
write_token() {
    case "$token" in
    K10*) ;;
    *)
        if [ -z "$ca_hash" ]; then
            say "WARNING: no k3s_ca_hash, and no hash in the token: the server's authority is taken on trust"
        elif [ "$(grep -c 'BEGIN CERTIFICATE' "$work/ca")" = 1 ]; then
            case "$token" in
            [a-z0-9][a-z0-9][a-z0-9][a-z0-9][a-z0-9][a-z0-9].????????????????) token="K10$ca_hash::$token" ;;
            *) token="K10$ca_hash::node:$token" ;;
            esac
        fi
        ;;
    esac
    mkdir -p "${token_file%/*}" && printf '%s\n' "$token" > "$token_file"
}

k3s_installer() {
    INSTALL_K3S_VERSION=$version K3S_URL=$url K3S_TOKEN_FILE=$token_file "$@" sh "$work/install" agent \
@flags@
}

download() {
    [ ! -e "$work/downloaded" ] || return 0
    curl -sfL --max-time 60 -o "$work/install" https://get.k3s.io &&
        k3s_installer env INSTALL_K3S_SKIP_START=true &&
        : > "$work/downloaded" && return
    say "k3s $version cannot be installed: trying again. The machine needs a way to the internet"
    return 1
}

# The unit says when it is ready, and the installer waits for that: so its success is the joining.
start_agent() {
    k3s_installer timeout "$patience_s" \
        env INSTALL_K3S_SKIP_DOWNLOAD=true INSTALL_K3S_FORCE_RESTART=true && return
    say "the agent was not ready within $patience_s s: it is started again with the token as it is then." \
        "If this goes on, the token in $parameter is wrong, or the server is not reachable on port 6443"
    return 1
}

until who_am_i; do sleep 2; done
if ! command -v aws > /dev/null && ! snap install aws-cli --classic; then
    say "NOT JOINING: this image has no aws command. Use one that has, such as Amazon Linux 2023"
    exit 1
fi
until server_is_right && read_token && write_token && download && start_agent; do sleep 5; done
rm -rf "$work"
say "joined as $id"
"""


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
    script = SCRIPT.replace("@flags@", " \\\n".join(f"        {flag}" for flag in _flags(agent)))
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
    for key, value in sorted(agent.labels.items()):
        yield f"--node-label={shlex.quote(_label(agent.pool, key, value))}"
    yield f"--node-taint={JOINING_TAINT}=true:NoSchedule"
    for taint in agent.taints:
        yield f"--node-taint={shlex.quote(_taint(taint))}"


def _label(pool: str, key: str, value: str) -> str:
    if not LABEL_KEY.fullmatch(key) or not LABEL_VALUE.fullmatch(value):
        raise Invalid(f"labels of pool {pool}: {key}={value} is no label that Kubernetes would take")
    if key in OURS:
        raise Invalid(
            f"labels of pool {pool}: {key} says where a machine is, and is set by itself: leave it out"
        )
    if not may_be_set_by_kubelet(key):
        raise Invalid(
            f"labels of pool {pool}: {key} is in a domain that Kubernetes keeps for itself, and a "
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
